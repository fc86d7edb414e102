package apply

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// widgetSchema has a field of each kind.
const widgetSchema = `{"type":"object","properties":{"spec":{"type":"object","properties":{
	"text":{"type":"string"},"count":{"type":"integer"},"port":{"x-kubernetes-int-or-string":true},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"selector":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
	"args":{"type":"array","items":{"type":"string"}},
	"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
	"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],"items":{"type":"object","properties":{
		"port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},"name":{"type":"string"}}}},
	"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"inner":{"type":"object","properties":{"a":{"type":"string"}}}}},
	"template":{"type":"object","x-kubernetes-embedded-resource":true}}}}}`

func widget(t testing.TB, changes ...string) *schema.Schema {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(strings.NewReplacer(changes...).Replace(widgetSchema)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// bothWays calls f with a lazy tree that is not decoded yet, and with a decoded tree.
func bothWays(t *testing.T, text string, f func(tree any)) {
	t.Helper()
	f(jsontext.Raw(text))
	f(eager(t, []byte(text)))
}

func TestFieldsOf(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"struct with values", `{"text":"a","count":1}`, `"f:count":{},"f:text":{}`},
		{"granular map", `{"labels":{"a":"b"}}`, `"f:labels":{"f:a":{}}`},
		{"empty map", `{"labels":{}}`, `"f:labels":{}`},
		{"atomic map", `{"selector":{"a":"b"}}`, `"f:selector":{}`},
		{"list without a type", `{"args":["a"]}`, `"f:args":{}`},
		{"empty list of elements", `{"tags":[]}`, ``},
		{"set", `{"tags":["b","a"]}`, `"f:tags":{"v:\"a\"":{},"v:\"b\"":{}}`},
		{"list by keys, one of them defaulted", `{"ports":[{"port":80,"name":"x"}]}`, `"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}}`},
		{"list with repeated elements", `{"ports":[{"port":80,"name":"x"},{"port":80}]}`, `"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}`},
		{"null", `{"labels":null,"text":null}`, `"f:labels":{},"f:text":{}`},
		{"unknown fields", `{"free":{"x":{"y":[1]},"inner":{"z":1}}}`, `"f:free":{"f:inner":{"f:z":{}},"f:x":{".":{},"f:y":{}}}`},
		{"embedded resource", `{"template":{"kind":"A","metadata":{"labels":{"a":"b"}}}}`, `"f:template":{"f:kind":{},"f:metadata":{"f:labels":{"f:a":{}}}}`},
	} {
		bothWays(t, `{"spec":`+tt.spec+`}`, func(tree any) {
			got, err := FieldsOf(nil, tree, widget(t))
			want := `{"f:spec":{` + tt.want + `}}`
			if tt.want == "" {
				want = "{}"
			}
			if text := string(got.AppendFields(nil, nil)); err != nil || text != want {
				t.Errorf("%s: got %s, %v, want %s", tt.name, text, err, want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	const from = `{"spec":{"text":"a","count":1,"tags":["a","b"],"ports":[{"port":80,"name":"x"},{"port":81},{"port":82},{"port":82}],"selector":{"a":"b"},"labels":{"a":"b"}}}`
	for _, tt := range []struct{ name, to, added, modified, removed string }{
		{"nothing", from, `{}`, `{}`, `{}`},
		{"order, and how numbers are spelt", `{"spec":{"labels":{"a":"b"},"selector":{"a":"b"},"ports":[{"port":82},{"port":82},{"port":81},{"port":80.0,"name":"x"}],"tags":["b","a"],"count":1.0,"text":"\u0061"}}`,
			`{}`, `{}`, `{}`},
		{"everything", `{"spec":{"text":"b","tags":["b","c"],"ports":[{"port":80,"name":"y"},{"port":81},{"port":81},{"port":82}],"selector":{"b":"b"},"labels":{}}}`,
			`{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{},"k:{\"port\":82,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:tags":{"v:\"c\"":{}}}}`,
			`{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}},"f:selector":{},"f:text":{}}}`,
			`{"f:spec":{"f:count":{},"f:labels":{"f:a":{}},"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":82,\"protocol\":\"TCP\"}":{}},"f:tags":{"v:\"a\"":{}}}}`},
	} {
		bothWays(t, tt.to, func(to any) {
			bothWays(t, from, func(from any) {
				c, err := Compare(nil, from, to, widget(t))
				added, modified, removed := string(c.Added.AppendFields(nil, nil)), string(c.Modified.AppendFields(nil, nil)), string(c.Removed.AppendFields(nil, nil))
				if err != nil || added != tt.added || modified != tt.modified || removed != tt.removed {
					t.Errorf("%s: got %v\nadded    %s\nmodified %s\nremoved  %s", tt.name, err, added, modified, removed)
				}
			})
		})
	}
}

// TestCompareLeavesTextAlone: two parts with the same text are equal without being decoded, so
// mistakes in them are not found.
func TestCompareLeavesTextAlone(t *testing.T) {
	const wrong = `{"spec":{"tags":[null]}`
	c, err := Compare(nil, jsontext.Raw(wrong+`,"status":1}`), jsontext.Raw(wrong+`,"status":2}`), widget(t, `"spec":{`, `"status":{"type":"integer"},"spec":{`))
	if err != nil || string(c.Modified.AppendFields(nil, nil)) != `{"f:status":{}}` {
		t.Errorf("got %s, %v", c.Modified.AppendFields(nil, nil), err)
	}
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ name, live, config, want string }{
		{"fields of both", `{"text":"a","labels":{"a":"1","b":"2"}}`, `{"count":1,"labels":{"b":"3"}}`, `{"count":1,"labels":{"a":"1","b":"3"},"text":"a"}`},
		{"atomic values", `{"selector":{"a":"1"},"args":["a"]}`, `{"selector":{"b":"1"},"args":[]}`, `{"args":[],"selector":{"b":"1"}}`},
		{"empty onto full", `{"labels":{"a":"1"}}`, `{"labels":{}}`, `{"labels":{"a":"1"}}`},
		{"null onto full and onto nothing", `{"labels":{"a":"1"},"text":"a"}`, `{"labels":null,"text":null,"selector":null}`, `{"labels":{"a":"1"},"selector":null,"text":null}`},
		{"order of elements", `{"tags":["x","a","y","b","z","c"]}`, `{"tags":["c","a","n"]}`, `{"tags":["x","y","b","z","c","a","n"]}`},
		{"elements by keys", `{"ports":[{"port":1,"name":"a"},{"port":2}]}`, `{"ports":[{"port":2,"protocol":"TCP","name":"b"},{"port":2,"protocol":"UDP"}]}`,
			`{"ports":[{"name":"a","port":1},{"name":"b","port":2,"protocol":"TCP"},{"port":2,"protocol":"UDP"}]}`},
		{"elements that are repeated", `{"ports":[{"port":1,"name":"a"},{"port":1,"name":"b"},{"port":2}]}`, `{"ports":[{"port":1}]}`, `{"ports":[{"port":1},{"port":2}]}`},
		{"repeated elements that the configuration lacks", `{"tags":["a","a"]}`, `{"tags":["b"]}`, `{"tags":["a","a","b"]}`},
		{"another type", `{"port":"http"}`, `{"port":80}`, `{"port":80}`},
	} {
		bothWays(t, `{"spec":`+tt.live+`}`, func(live any) {
			bothWays(t, `{"spec":`+tt.config+`}`, func(config any) {
				out, err := Merge(nil, live, config, widget(t))
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				text, err := jsontext.AppendTree(nil, settled(out), jsontext.Plain)
				if want := `{"spec":` + tt.want + `}`; err != nil || string(text) != want {
					t.Errorf("%s: got %s, want %s", tt.name, text, want)
				}
			})
		})
	}
}

// settled returns a tree that is not lazy.
func settled(tree any) any { return partOf(tree).whole(nil, 0) }

func TestRemoveAndExtract(t *testing.T) {
	const tree = `{"spec":{"text":"a","labels":{"a":"1","b":"2"},"selector":{"a":"b"},"tags":["x","y"],"ports":[{"port":80,"name":"a"},{"port":81}]}}`
	for _, tt := range []struct{ name, fields, left, taken string }{
		{"a field", `"f:text":{}`, `{"labels":{"a":"1","b":"2"},"ports":[{"name":"a","port":80},{"port":81}],"selector":{"a":"b"},"tags":["x","y"]}`, `{"text":"a"}`},
		{"parts", `"f:labels":{"f:a":{}},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}},"f:tags":{"v:\"x\"":{}}`,
			`{"labels":{"b":"2"},"ports":[{"port":80},{"port":81}],"selector":{"a":"b"},"tags":["y"],"text":"a"}`, `{"labels":{"a":"1"},"ports":[{"name":"a"}],"tags":["x"]}`},
		{"all parts", `"f:labels":{"f:a":{},"f:b":{}},"f:tags":{"v:\"x\"":{},"v:\"y\"":{}}`,
			`{"labels":null,"ports":[{"name":"a","port":80},{"port":81}],"selector":{"a":"b"},"tags":null,"text":"a"}`, `{"labels":{"a":"1","b":"2"},"tags":["x","y"]}`},
		{"part of an atomic value", `"f:selector":{"f:a":{}}`, `{"labels":{"a":"1","b":"2"},"ports":[{"name":"a","port":80},{"port":81}],"selector":null,"tags":["x","y"],"text":"a"}`, `{"selector":{"a":"b"}}`},
	} {
		fields := set(t, `{"f:spec":{`+tt.fields+`}}`)
		bothWays(t, tree, func(tree any) {
			for want, got := range map[string]any{tt.left: Remove(nil, tree, fields, widget(t)), tt.taken: Extract(nil, tree, fields, widget(t))} {
				text, err := jsontext.AppendTree(nil, settled(got), jsontext.Plain)
				if want = `{"spec":` + want + `}`; err != nil || string(text) != want {
					t.Errorf("%s: got %s, want %s", tt.name, text, want)
				}
			}
		})
	}
	if got := Remove(nil, jsontext.Raw(tree), set(t, `{"f:spec":{"f:args":{}}}`), widget(t)); got != jsontext.Raw(tree) {
		t.Errorf("nothing to remove: got %v", got)
	}
}

func TestReconcile(t *testing.T) {
	fields := set(t, `{"f:spec":{"f:labels":{".":{},"f:a":{}},"f:selector":{"f:a":{}},"f:tags":{"v:\"a\"":{}},"f:text":{}}}`)
	got, err := Reconcile(nil, fields, widget(t, `"x-kubernetes-list-type":"set",`, ""))
	if want := `{"f:spec":{"f:labels":{".":{},"f:a":{}},"f:selector":{},"f:tags":{},"f:text":{}}}`; err != nil || string(got.AppendFields(nil, nil)) != want {
		t.Errorf("got %s, %v, want %s", got.AppendFields(nil, nil), err, want)
	}
	if again, _ := Reconcile(nil, got, widget(t, `"x-kubernetes-list-type":"set",`, "")); again != got {
		t.Errorf("what is right already became %s", again.AppendFields(nil, nil))
	}
}

func TestWithNamed(t *testing.T) {
	fields := set(t, `{"f:spec":{"f:labels":{"f:a":{}},"f:ports":{"k:{\"port\":1}":{"f:name":{}}},"f:free":{"f:x":{"f:y":{}}}}}`)
	want := `{"f:spec":{".":{},"f:free":{".":{},"f:x":{"f:y":{}}},"f:labels":{".":{},"f:a":{}},"f:ports":{".":{},"k:{\"port\":1}":{"f:name":{}}}}}`
	if got := string(fields.withNamed(nil, widget(t)).AppendFields(nil, nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{`{"text":null,"labels":null,"ports":null}`, ""},
		{`{"x":1}`, ".spec.x: field not declared in schema"},
		{`{"template":{"x":1}}`, ".spec.template.x: field not declared in schema"},
		{`{"free":{"x":{"y":1},"inner":{"z":1}}}`, ""},
		{`{"text":1}`, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"},
		{`{"count":"a"}`, ".spec.count: expected numeric (int or float), got string"},
		{`{"labels":["a"]}`, ".spec.labels: expected map, got &{[a]}"},
		{`{"tags":{"a":1}}`, ".spec.tags: expected list, got &{map[a:1]}"},
		{`{"args":["a",1]}`, ".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}"},
		{`{"tags":["a","b","a"]}`, `.spec.tags: duplicate entries for key [="a"]`},
		{`{"ports":[{"port":80},{"port":80,"protocol":"TCP"}]}`, `.spec.ports: duplicate entries for key [port=80,protocol="TCP"]`},
		{`{"ports":[{"port":80,"name":1}]}`, `.spec.ports[port=80,protocol="TCP"].name: expected string, got &value.valueUnstructured{Value:1}`},
		{`{"ports":[1]}`, ".spec.ports: element 0: associative list with keys may not have non-map elements"},
		{`{"tags":[null]}`, ".spec.tags: element 0: associative list without keys has an element that's an explicit null"},
		{`{"text":1,"count":"a"}`, "errors:\n  .spec.count: expected numeric (int or float), got string\n  .spec.text: expected string, got &value.valueUnstructured{Value:1}"},
	} {
		bothWays(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":`+tt.spec+`}`, func(tree any) {
			got := ""
			if err := Check(nil, tree, widget(t), false); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.spec, got, tt.want)
			}
			if err := Check(nil, tree, widget(t), true); strings.Contains(tt.want, "duplicate") && err != nil {
				t.Errorf("%s, repeats allowed: %v", tt.spec, err)
			}
		})
	}
}

// TestHostileTrees: deep, long and invalid trees make no walk panic, and errors about them are
// short.
func TestHostileTrees(t *testing.T) {
	s := widget(t)
	deep := `{"spec":{"free":` + strings.Repeat(`{"a":`, jsontext.MaxDepth-2) + `"` + strings.Repeat("x", 1<<16) + `"` + strings.Repeat("}", jsontext.MaxDepth)
	long := `{"spec":{"tags":[` + strings.Repeat("1,", 10_000) + `1]}}`
	for _, text := range []string{deep, long, `{`, `[`, `"`, `{"spec":{"tags":`, `{"spec":[1,{}]}`, ``, `tru`} {
		tree, other := any(jsontext.Raw(text)), any(jsontext.Raw(`{"spec":{"text":"a"}}`))
		if err := Check(nil, tree, s, false); err != nil && len(err.Error()) > 1<<20 {
			t.Errorf("%.20s: an error of %d bytes", text, len(err.Error()))
		}
		fields, _ := FieldsOf(nil, tree, s)
		for _, pair := range [][2]any{{tree, other}, {other, tree}} {
			_, _ = Compare(nil, pair[0], pair[1], s)
			_, _ = Merge(nil, pair[0], pair[1], s)
		}
		Remove(nil, tree, fields, s)
		Extract(nil, tree, fields, s)
		if again := set(t, string(fields.AppendFields(nil, nil))); !again.Equal(nil, fields) {
			t.Errorf("%.20s: its fields are not what they are written as", text)
		}
	}
}

// TestAllocations: comparing, merging or listing the 20 entries of a ConfigMap takes less than an
// allocation for each.
func TestAllocations(t *testing.T) {
	s := kindSchema(t, "ConfigMap")
	live, config := jsontext.RawOf(configMap("a")), eager(t, configMap("b"))
	for what, f := range map[string]func() error{
		"Compare":  func() error { _, err := Compare(nil, live, config, s); return err },
		"Merge":    func() error { _, err := Merge(nil, live, config, s); return err },
		"FieldsOf": func() error { _, err := FieldsOf(nil, config, s); return err },
	} {
		const ceiling = 12
		if got := testing.AllocsPerRun(200, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		}); got > ceiling {
			t.Errorf("%s: got %v allocations, want at most %d", what, got, ceiling)
		}
	}
}

// FuzzWalk walks random trees: nothing panics, and lazy trees give the same results as decoded
// ones.
func FuzzWalk(f *testing.F) {
	for _, spec := range []string{
		`{"text":"a","labels":{"a":"b","a":"c"},"tags":["a","a","b"]}`, `{"ports":[{"port":80},{"port":80.0,"protocol":"UDP"},{}]}`, `{"free":{"x":[{"y":null}],"inner":{"a":"\u0061"}}}`,
		`{"template":{"metadata":{"ownerReferences":[{"uid":"a"}]}},"port":"1"}`, `[null]`, `{"tags":[`,
	} {
		f.Add([]byte(`{"spec":`+spec+`}`), []byte(`{"spec":{"text":"b","labels":{"b":"c"},"tags":["c","b"],"ports":[{"port":80,"name":"x"}]}}`))
	}
	s := widget(f)
	f.Fuzz(func(t *testing.T, live, config []byte) {
		lazy := walked(s, jsontext.RawOf(live), jsontext.RawOf(config))
		a, err := jsontext.Decode(live, nil)
		b, err2 := jsontext.Decode(config, nil)
		if err != nil || err2 != nil || Check(nil, a, s, true) != nil || Check(nil, b, s, false) != nil {
			return
		}
		if eager := walked(s, a, b); eager != lazy {
			t.Errorf("of trees: %s\nof text: %s", eager, lazy)
		}
	})
}

// walked returns the results of all walks over two trees, as text.
func walked(s *schema.Schema, live, config any) string {
	words := func(parts ...any) string {
		var b strings.Builder
		for _, p := range parts {
			switch p := p.(type) {
			case *Set:
				b.Write(p.AppendFields(nil, nil))
			case error:
				b.WriteString(p.Error())
			default:
				text, _ := jsontext.AppendTree(nil, partOf(p).whole(nil, 0), jsontext.Plain)
				b.Write(text)
			}
			b.WriteString("; ")
		}
		return b.String()
	}
	fields, err := FieldsOf(nil, config, s)
	c, err2 := Compare(nil, live, config, s)
	merged, err3 := Merge(nil, live, config, s)
	return words(Check(nil, config, s, false), fields, err, c.Added, c.Modified, c.Removed, err2, merged, err3, Remove(nil, live, fields, s), Extract(nil, live, fields, s))
}
