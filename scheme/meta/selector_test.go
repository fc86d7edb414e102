package meta

import (
	"strings"
	"testing"
)

const (
	wrongQName = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
		"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	wrongLabel = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
		"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
		"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

func TestParseLabels(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{" ", ""},
		{"a", "a"},
		{"!a", "!a"},
		{"a=b", "a=b"},
		{"a = b , c", "a=b,c"},
		{"c,a==b", "a==b,c"},
		{"a!=", "a!="},
		{"a=,b", "a=,b"},
		{"x.y/z in (c,b,,c)", "x.y/z in (,b,c)"},
		{"a in (,b)", "a in (,b)"},
		{"a in (b,)", "a in (,b)"},
		{"a notin ()", "a notin ()"},
		{"in in (in,notin)", "in in (in,notin)"},
		{"a>1,a<3", "a>1,a<3"},
	} {
		got, err := ParseLabels(tt.in)
		if err != nil || got.String() != tt.want {
			t.Errorf("ParseLabels(%q): got %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestParseLabelsErrors(t *testing.T) {
	const unable = "unable to parse requirement: "
	for _, tt := range []struct{ in, want string }{
		{",", "found ',', expected: !, identifier, or 'end of string'"},
		{"=v", "found '=', expected: !, identifier, or 'end of string'"},
		{"a,", "found '', expected: identifier after ','"},
		{"a=b=c", "found '=', expected: ',' or 'end of string'"},
		{"k=bad value", "found 'value', expected: ',' or 'end of string'"},
		{"!", unable + "found '', expected: identifier"},
		{"bad key=v", unable + "found 'key', expected: in, notin, =, ==, !=, gt, lt"},
		{"a=(", unable + "found '(', expected: identifier"},
		{"env in prod", unable + "found 'prod' expected: '('"},
		{"env in (prod", unable + "found '', expected: ',' or ')'"},
		{"env in (=", unable + "found '=', expected: ',', ')' or identifier"},
		{"env in (a,=", unable + "found '=', expected: ',', or identifier"},
		{"n>x", unable + `values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`},
		{"-k=v", unable + `<nil>: Invalid value: "-k": ` + wrongQName},
		{"a=b_", unable + `values[0][a]: Invalid value: "b_": ` + wrongLabel},
	} {
		if _, err := ParseLabels(tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("ParseLabels(%q):\ngot  %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

func TestLabelsMatch(t *testing.T) {
	labels := Set{"env": "prod", "tier": "", "n": "5"}
	for _, tt := range []struct {
		in   string
		want bool
	}{
		{"", true},
		{"env", true},
		{"!env", false},
		{"!x", true},
		{"env=prod", true},
		{"env==dev", false},
		{"env!=dev", true},
		{"x!=dev", true},
		{"x=", false},
		{"tier=", true},
		{"env in (dev,prod)", true},
		{"env notin (dev,prod)", false},
		{"x notin (dev)", true},
		{"env in (" + strings.Repeat("a,b,", 20) + "prod)", true},
		{"n>4,n<6", true},
		{"n>5", false},
		{"env>1", false},
		{"x<1", false},
	} {
		rs, err := ParseLabels(tt.in)
		if err != nil {
			t.Fatalf("ParseLabels(%q): %v", tt.in, err)
		}
		if got := rs.Matches(labels); got != tt.want {
			t.Errorf("%q matches %v: got %v, want %v", tt.in, labels, got, tt.want)
		}
		if got := testing.AllocsPerRun(100, func() { rs.Matches(labels) }); got > 0 {
			t.Errorf("%q: got %v allocations, want 0", tt.in, got)
		}
	}
}

func TestSelectorFrom(t *testing.T) {
	none, err := SelectorFrom(nil)
	if err != nil || none.Matches(Set{}) || none.Empty() || !none.Nothing() {
		t.Errorf("nil: got %v, %v, want a selector of nothing", none, err)
	}
	all, err := SelectorFrom(&LabelSelector{})
	if err != nil || !all.Matches(Set{}) || !all.Empty() || all.Nothing() {
		t.Errorf("empty: got %v, %v, want a selector of everything", all, err)
	}
	rs, err := SelectorFrom(&LabelSelector{
		MatchLabels:      map[string]string{"b": "2", "a": "1"},
		MatchExpressions: []LabelSelectorRequirement{{Key: "c", Operator: LabelSelectorOpIn, Values: []string{"y", "x"}}},
	})
	if got, want := rs.String(), "a=1,b=2,c in (x,y)"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if v, ok := rs.RequiresExact("b"); !ok || v != "2" {
		t.Errorf("RequiresExact: got %q, %v, want 2", v, ok)
	}
	_, err = SelectorFrom(&LabelSelector{MatchExpressions: []LabelSelectorRequirement{{Key: "c", Operator: "Like"}}})
	if err == nil || err.Error() != `"Like" is not a valid label selector operator` {
		t.Errorf("bad operator: got %v", err)
	}
	if got, want := SelectorFromSet(Set{"b": "2", "a": "1"}).String(), "a=1,b=2"; got != want {
		t.Errorf("SelectorFromSet: got %q, want %q", got, want)
	}
}

func TestParseFields(t *testing.T) {
	for _, tt := range []struct{ in, want, wantErr string }{
		{"", "", ""},
		{",", "", ""},
		{"=", "", ""},
		{"metadata.name=a", "metadata.name=a", ""},
		{"b==1,a!=2", "a!=2,b=1", ""},
		{`a=x\,y\=z\\`, `a=x\,y\=z\\`, ""},
		{"abc", "", "invalid selector: 'abc'; can't understand 'abc'"},
		{"metadata.name in (a)", "", "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"},
		{`a=\x`, "", `invalid field selector: invalid escape sequence: \x`},
		{`a=x\`, "", `invalid field selector: invalid escape sequence: \`},
		{"a=b=c", "", "invalid field selector: unescaped character in value: 61"},
	} {
		rs, err := ParseFields(tt.in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if rs.String() != tt.want || text != tt.wantErr {
			t.Errorf("ParseFields(%q): got %q, %q, want %q, %q", tt.in, rs, text, tt.want, tt.wantErr)
		}
	}
}

func TestFieldsMatch(t *testing.T) {
	fields := Set{"metadata.name": "a", "status.phase": ""}
	for _, tt := range []struct {
		in   string
		want bool
	}{
		{"", true},
		{"metadata.name=a", true},
		{"metadata.name!=a", false},
		{"metadata.name!=b,status.phase=", true},
		{"x=", true},
		{"x!=", false},
	} {
		rs, err := ParseFields(tt.in)
		if err != nil {
			t.Fatalf("ParseFields(%q): %v", tt.in, err)
		}
		if got := rs.Matches(fields); got != tt.want {
			t.Errorf("%q matches %v: got %v, want %v", tt.in, fields, got, tt.want)
		}
		if got := testing.AllocsPerRun(100, func() { rs.Matches(fields) }); got > 0 {
			t.Errorf("%q: got %v allocations, want 0", tt.in, got)
		}
	}
	rs, _ := ParseFields("a=1,b!=2,c=3")
	out, err := rs.Transform(func(label, value string) (string, string, error) {
		if label == "c" {
			return "", "", nil
		}
		return "x." + label, value, nil
	})
	if got, want := out.String(), "x.a=1,x.b!=2"; err != nil || got != want {
		t.Errorf("Transform: got %q, %v, want %q", got, err, want)
	}
	if v, ok := rs.RequiresExact("a"); !ok || v != "1" {
		t.Errorf("RequiresExact(a): got %q, %v", v, ok)
	}
	if v, ok := rs.RequiresExact("b"); ok {
		t.Errorf("RequiresExact(b): got %q, want none", v)
	}
}

func FuzzParseLabels(f *testing.F) {
	for _, s := range []string{"", "a=b", "a in (b,c),!d", "x.y/z notin (,)", "a>1", "a==,b!=c", "in in (in)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs, err := ParseLabels(s)
		if err != nil {
			return
		}
		again, err := ParseLabels(rs.String())
		if err != nil || again.String() != rs.String() {
			t.Fatalf("%q: got %q, read back %q, %v", s, rs, again, err)
		}
		for _, labels := range []Set{{}, {"a": "b"}, {"a": "5", "in": ""}} {
			if rs.Matches(labels) != again.Matches(labels) {
				t.Fatalf("%q: %v matches differently when read back", s, labels)
			}
		}
	})
}

func FuzzParseFields(f *testing.F) {
	for _, s := range []string{"", "a=b", "a!=b,c==d", `a=\,\=\\`, "=", ",", "a=é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs, err := ParseFields(s)
		if err != nil {
			return
		}
		again, err := ParseFields(rs.String())
		if err != nil {
			t.Fatalf("%q: %q is not read back: %v", s, rs, err)
		}
		for _, fields := range []Set{{}, {"a": "b"}, {"a": ",=\\"}} {
			if rs.Matches(fields) != again.Matches(fields) {
				t.Fatalf("%q: %v matches differently when read back as %q", s, fields, again)
			}
		}
	})
}

func BenchmarkMatches(b *testing.B) {
	labels := Set{"app": "web", "tier": "front", "env": "prod", "pod-template-hash": "5d4f8c7b9d"}
	for _, s := range []string{"app=web", "app in (web,api),env!=dev,!canary", "app=db"} {
		rs, err := ParseLabels(s)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("selector="+s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rs.Matches(labels)
			}
		})
	}
}
