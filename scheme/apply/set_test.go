package apply

import (
	"slices"
	"strings"
	"testing"
)

// set parses valid FieldsV1.
func set(t testing.TB, text string) *Set {
	t.Helper()
	s, err := ParseFields(nil, []byte(text))
	if err != nil {
		t.Fatalf("ParseFields(%s): %v", text, err)
	}
	return s
}

func TestSets(t *testing.T) {
	a := set(t, `{"f:a":{".":{},"f:b":{},"f:c":{}},"f:d":{}}`)
	b := set(t, `{"f:a":{},"f:d":{"f:e":{}},"v:1":{}}`)
	for _, tt := range []struct {
		name string
		got  *Set
		want string
	}{
		{"Union", a.Union(nil, b), `{"f:a":{".":{},"f:b":{},"f:c":{}},"f:d":{".":{},"f:e":{}},"v:1":{}}`},
		{"Intersect", a.Intersect(nil, b), `{"f:a":{}}`},
		{"Subtract", a.Subtract(nil, b), `{"f:a":{"f:b":{},"f:c":{}},"f:d":{}}`},
		{"SubtractAll", a.SubtractAll(nil, b), `{"f:d":{}}`},
		{"Union with nothing", (*Set)(nil).Union(nil, b), string(b.AppendFields(nil, nil))},
		{"Intersect with nothing", a.Intersect(nil, nil), `{}`},
		{"Subtract itself", a.Subtract(nil, a), `{}`},
		{"SetOf", SetOf(Path{Field("a"), Keyed(map[string]any{"n": "x", "m": int64(1)})}, Path{}, Path{Value("v")}), `{"f:a":{"k:{\"m\":1,\"n\":\"x\"}":{}},"v:\"v\"":{}}`},
		{"SubtractAll of Fields", a.SubtractAll(nil, Fields("a.b", "d")), `{"f:a":{".":{},"f:c":{}}}`},
	} {
		if got := string(tt.got.AppendFields(nil, nil)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if !a.Equal(nil, set(t, `{"f:d":{},"f:a":{"f:c":{},"f:b":{},".":{}}}`)) || a.Equal(nil, b) || !(*Set)(nil).Equal(nil, &Set{}) {
		t.Error("Equal goes by what is in the sets")
	}
}

func TestAll(t *testing.T) {
	s := set(t, `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}},"f:set":{"v:\"a\"":{},"i:3":{}}},"f:x":{}}`)
	var paths []string
	for p := range s.All() {
		paths = append(paths, p.String())
		if !s.Has(p) || s.Has(append(p, Field("more"))) {
			t.Errorf("Has does not know %s", p)
		}
	}
	want := []string{".x", `.spec.ports[port=80,protocol="TCP"]`, `.spec.ports[port=80,protocol="TCP"].name`, `.spec.set[="a"]`, ".spec.set[3]"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	for range s.All() {
		break
	}
}

func TestFieldsV1(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", `{}`, `{}`},
		{"null", `null`, `{}`},
		{"out of order", `{"i:1":{},"v:2":{},"k:{\"b\":2,\"a\":1}":{},"f:b":{},"f:a":{}}`, `{"f:a":{},"f:b":{},"k:{\"a\":1,\"b\":2}":{},"v:2":{},"i:1":{}}`},
		{"repeated", `{"f:a":{"f:b":{}},"f:a":{},"f:a":{"f:c":{}}}`, `{"f:a":{".":{},"f:c":{}}}`},
		{"of unknown sorts", `{"x:a":{"f:b":1},"f:c":{"x:d":{}}}`, `{"f:c":{}}`},
		{"null within", `{"f:a":null}`, `{"f:a":{}}`},
		{"one number spelt twice", `{"v:1":{},"v:1.0":{}}`, `{"v:1":{}}`},
		{"escapes", `{"f:\u0061<\b\u2028":{},"k:{\"a\":\"<\"}":{}}`, `{"f:a<\u0008` + "\u2028" + `":{},"k:{\"a\":\"\\u003c\"}":{}}`},
		{"numbers", `{"v:1e21":{},"v:0.0000001":{},"v:-0.5":{}}`, `{"v:-0.5":{},"v:1e-07":{},"v:1e+21":{}}`},
	} {
		if got := string(set(t, tt.text).AppendFields(nil, nil)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	deep := strings.Repeat(`{"f:a":`, 20_000) + "{}" + strings.Repeat("}", 20_000)
	for _, text := range []string{"", "1", "[]", `{"f":{}}`, `{"":{}}`, `{"fa":{}}`, `{"f:a":1}`, `{"f:a"}`, `{"f:a":{}`, `{"v:":{}}`, `{"v:x":{}}`, `{"k:1":{}}`, `{"i:x":{}}`, `{"f:a":[]}`, deep} {
		if s, err := ParseFields(nil, []byte(text)); err == nil {
			t.Errorf("ParseFields(%.40s): got %s", text, s.AppendFields(nil, nil))
		}
	}
}

// FuzzFieldsV1 parses a text, writes the fields and parses them again.
func FuzzFieldsV1(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `{"f:a":{".":{},"k:{\"name\":\"x\"}":{"f:b":{}},"v:1":{},"i:0":{}}}`, `{"k:{\"a\":[1,{\"b\":null}],\"a\":true}":{}}`, `{"f:\u2028<":{},"v:\"\ud800\"":{}}`, `{"v:-0":{},"v:0":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseFields(nil, data)
		if err != nil {
			return
		}
		text := s.AppendFields(nil, nil)
		again, err := ParseFields(nil, text)
		if err != nil || !again.Equal(nil, s) {
			t.Fatalf("%q was read as %q, and that as %q, %v", data, text, again.AppendFields(nil, nil), err)
		}
		if !s.Union(nil, s).Equal(nil, s) || !s.Intersect(nil, s).Equal(nil, s) || !s.Subtract(nil, s).Empty() {
			t.Errorf("%s and itself make something else", text)
		}
	})
}
