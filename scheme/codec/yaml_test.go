package codec

import (
	"reflect"
	"strings"
	"testing"
)

func TestYAMLToJSON(t *testing.T) {
	for _, tt := range []struct{ in, want, repeated, err string }{
		{"a: 1\nb: [x, true, 1.5, null, ~]\n", `{"a":1,"b":["x",true,1.5,null,null]}`, "", ""},
		{"name: y\nno: off\n", `{"false":false,"name":true}`, "", ""},
		{"{\"a\": \"y\"}", `{"a":"y"}`, "", ""},
		{"1: a\n2.5: b\ntrue: c\n.inf: e\n", `{".inf":"e","1":"a","2.5":"b","true":"c"}`, "", ""},
		{"a: 2001-01-01\nb: 0777\nc: 0x10\nd: 1_000\ne: 1e3\n", `{"a":"2001-01-01","b":511,"c":16,"d":1000,"e":1000}`, "", ""},
		{"a: {k: v}\na: {k: w}\n", `{"a":{"k":"w"}}`, "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map", ""},
		{"a: &x [1]\nb: *x\n", `{"a":[1],"b":[1]}`, "", ""},
		{"a: 1\n---\nb: 2\n", `{"a":1}`, "", ""},
		{"", `null`, "", ""},
		{"a: <b>\n", `{"a":"\u003cb\u003e"}`, "", ""},
		{"a: b: c\n\t-", ``, "", "yaml: mapping values are not allowed in this context"},
		{"a: [unclosed\n", ``, "", "yaml: line 1: did not find expected ',' or ']'"},
		{"18446744073709551615: d\n", ``, "", "unsupported map key of type: uint64, key: 0xffffffffffffffff, value: \"d\""},
		{"a: .nan\n", ``, "", "json: unsupported value: NaN"},
	} {
		got, repeated, err := YAMLToJSON([]byte(tt.in), true, nil)
		if string(got) != tt.want || repeated != tt.repeated || errText(err) != tt.err {
			t.Errorf("YAMLToJSON(%q): got %s, %q, %v, want %s, %q, %q", tt.in, got, repeated, err, tt.want, tt.repeated, tt.err)
		}
		if loose, repeated, _ := YAMLToJSON([]byte(tt.in), false, nil); string(loose) != tt.want || repeated != "" {
			t.Errorf("YAMLToJSON(%q), not strict: got %s, %q", tt.in, loose, repeated)
		}
	}
}

func TestDecodeYAML(t *testing.T) {
	f := newTestFactory(t)
	for _, tt := range []struct {
		body     string
		strict   []string
		warnings []string
		err      string
	}{
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yy}\nbogus: 1\ndata: {k: v}\n",
			[]string{`unknown field "bogus"`}, []string{`unknown field "bogus"`}, ""},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yz}\ndata: {k: v}\ndata: {k: v}\nx: 1\n",
			[]string{"yaml: unmarshal errors:\n  line 5: key \"data\" already set in map", `unknown field "x"`},
			[]string{`line 5: key "data" already set in map`, `unknown field "x"`}, ""},
		{"metadata: {name: y}", nil, nil,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string`},
		{"a: [unclosed\n", nil, nil,
			"the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected ',' or ']' (613a205b756e636c6f7365640a)"},
		{"", nil, nil, ""},
	} {
		out, err := f.Decode(DecodeRequest{Data: []byte(tt.body), Type: YAML, Default: configMapKind, Strict: true})
		if err != nil {
			err = BodyError(err, out.GVK, "ConfigMap", []byte(tt.body))
		}
		if errText(err) != tt.err || !reflect.DeepEqual(out.Strict, tt.strict) || !reflect.DeepEqual(Warnings(out.Strict), tt.warnings) {
			t.Errorf("Decode(%q): got %q, %v, want %q, %q", tt.body, out.Strict, err, tt.strict, tt.err)
		}
	}
	// The message lists only the first of many repeated keys.
	body := "metadata: {name: long}\ndata:\n" + strings.Repeat("  k: v\n", 50_001)
	out, err := f.Decode(DecodeRequest{Data: []byte(body), Type: YAML, Default: configMapKind, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	told := Warnings(out.Strict)
	if len(told) != maxStrict+1 || told[maxStrict] != "and 49900 more" {
		t.Errorf("50,001 times one key: got %d messages, the last %q", len(told), told[len(told)-1])
	}
	if got := errText(StrictError([]string{"a", "b"})); got != "strict decoding error: a, b" {
		t.Errorf("StrictError: got %q", got)
	}
}

func TestAppendYAML(t *testing.T) {
	in := `{"kind":"A","a10":1,"a9":2,"bool":"true","num":"5","multi":"one\ntwo\n","date":"2001-01-01","null":"null","empty":{},"list":[],` +
		`"items":[{"b":1,"a":null}],"big":9007199254740993,"float":1.5,"e":"\u2028é😀","at":"@x","long":"` + strings.Repeat("word ", 30) + `"}`
	want := "a9: 2\na10: 1\nat: '@x'\nbig: 9007199254740993\nbool: \"true\"\ndate: \"2001-01-01\"\ne: \"\\L\u00e9\\U0001F600\"\nempty: {}\nfloat: 1.5\n" +
		"items:\n- a: null\n  b: 1\nkind: A\nlist: []\nlong: '" + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n  " +
		strings.Repeat("word ", 15) + "'\n" +
		"multi: |\n  one\n  two\n\"null\": \"null\"\nnum: \"5\"\n"
	got, err := AppendYAML(nil, []byte(in))
	if err != nil || string(got) != want {
		t.Errorf("AppendYAML: %v\n got %s\nwant %s", err, got, want)
	}
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, y]\n", "a: &x [1]\nb: *x", "? [a]\n: b", "a: !!binary aGk=", "- - - x", "a: |\n  b\n", "<<: {a: 1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		json, _, err := YAMLToJSON(data, true, nil)
		if err != nil {
			return
		}
		want, _, err := DecodeTree(json, false, nil)
		if err != nil {
			t.Fatalf("YAMLToJSON(%q): %s: %v", data, json, err)
		}
		text, err := AppendYAML(nil, json)
		if err != nil {
			t.Fatalf("AppendYAML(%s): %v", json, err)
		}
		again, _, err := YAMLToJSON(text, true, nil)
		if err != nil {
			t.Fatalf("YAMLToJSON(%q), from %s: %v", text, json, err)
		}
		if got, _, _ := DecodeTree(again, false, nil); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: there %s and back %s", data, json, again)
		}
	})
}
