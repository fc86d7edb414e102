package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Item and Root are the types that testdata/recorded.json was made with; messages name them.
type Item struct {
	Name  string            `json:"name"`
	A     string            `json:"a,omitempty"`
	N     int64             `json:"n,omitempty"`
	Prims []string          `json:"prims,omitempty" patch:"merge"`
	M     map[string]string `json:"m,omitempty"`
	Subs  []Item            `json:"subs,omitempty" patch:"merge,retainKeys,key=name"`
	Obj   *Item             `json:"obj,omitempty" patch:"retainKeys"`
	Rep   *Item             `json:"rep,omitempty" patch:"replace"`
}

type Root struct {
	Name  string            `json:"name"`
	A     string            `json:"a,omitempty"`
	N     int64             `json:"n,omitempty"`
	Prims []string          `json:"prims,omitempty" patch:"merge"`
	Plain []string          `json:"plain,omitempty"`
	Atom  []Item            `json:"atom,omitempty"`
	M     map[string]string `json:"m,omitempty"`
	Mi    map[string]Item   `json:"mi,omitempty"`
	Subs  []Item            `json:"subs,omitempty" patch:"merge,key=name"`
	Nums  []Item            `json:"nums,omitempty" patch:"merge,key=n"`
	Obj   *Item             `json:"obj,omitempty"`
	Rep   Item              `json:"rep,omitempty" patch:"replace"`

	Bytes []byte              `json:"bytes,omitempty" patch:"merge"`
	LL    [][]string          `json:"ll,omitempty"`
	LM    []map[string]string `json:"lm,omitempty" patch:"merge"`
}

var root = typeinfo.For[Root]()

// recorded is a patch with the result of the Kubernetes libraries.
type recorded struct {
	Form       string
	Doc, Patch json.RawMessage
	Want       json.RawMessage
	Left       string // the patch afterwards, printed
	Error      string
}

func readRecorded(t testing.TB) []recorded {
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRecorded(t *testing.T) {
	for i, c := range readRecorded(t) {
		doc, p := string(c.Doc), string(c.Patch)
		var got []byte
		var err error
		switch c.Form {
		case "strategic":
			got, err = Strategic(c.Doc, c.Patch, root, nil)
		case "merge":
			got, err = checked(Merge, CheckMerge)(c.Doc, c.Patch, nil)
		case "json":
			got, err = checked(JSON, CheckJSON)(c.Doc, c.Patch, nil)
		}
		switch {
		case c.Error == "inapplicable":
			if !refuses(err) {
				t.Errorf("%d: %s(%s, %s): got %s, %v, want inapplicable", i, c.Form, doc, p, got, err)
			}
		case c.Error != "":
			if err == nil || err.Error() != c.Error {
				t.Errorf("%d: %s(%s, %s): got %s, error %v, want error %s", i, c.Form, doc, p, got, err, c.Error)
			}
		case err != nil || !sameJSON(got, c.Want, c.Form != "strategic"):
			t.Errorf("%d: %s(%s, %s): got %s, error %v, want %s", i, c.Form, doc, p, got, err, c.Want)
		}
		if c.Left != "" {
			if left := StrategicText(c.Doc, c.Patch, root, nil); left != c.Left {
				t.Errorf("%d: StrategicText(%s, %s): got %s, want %s", i, doc, p, left, c.Left)
			}
		}
		if string(c.Doc) != doc || string(c.Patch) != p {
			t.Errorf("%d: input was written to", i)
		}
	}
}

type (
	merging  = func(doc, patch []byte, m *meter.Meter) ([]byte, error)
	checking = func(patch []byte, m *meter.Meter) ([]string, error)
)

// checked is a merge with field validation, which checks the patch before the merge.
func checked(merge merging, check checking) merging {
	return func(doc, patch []byte, m *meter.Meter) ([]byte, error) {
		if _, err := check(patch, m); err != nil {
			return nil, err
		}
		return merge(doc, patch, m)
	}
}

// refuses reports whether err says that a patch does not fit an object, or that a test operation
// has failed.
func refuses(err error) bool { return kindOf(err) == Inapplicable || kindOf(err) == Untrue }

// kindOf returns the kind of an error of this package, 0 for others.
func kindOf(err error) Kind {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return 0
	}
	return e.Kind
}

// decode decodes JSON, and keeps the spelling of numbers.
func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// sameJSON reports whether a and b are the same JSON. If exact is set, numbers must be spelled the
// same.
func sameJSON(a, b []byte, exact bool) bool {
	av, aerr := decode(a)
	bv, berr := decode(b)
	if !exact {
		aerr, berr = json.Unmarshal(a, &av), json.Unmarshal(b, &bv)
	}
	return aerr == nil && berr == nil && reflect.DeepEqual(av, bv)
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ name, doc, patch, want string }{
		{"keys", `{"b":1,"a":{"y":1,"x":2},"c":{"z":1,"q":2}}`, `{"a":{"x":null,"n":3}}`, `{"a":{"n":3,"y":1},"b":1,"c":{"z":1,"q":2}}`},
		{"exact numbers", `{"a":1.10,"b":123456789012345678901234567890}`, `{"c":1e2}`, `{"a":1.10,"b":123456789012345678901234567890,"c":1e2}`},
		{"nulls in new objects", `{}`, `{"a":{"b":null,"c":[{"d":null},null]}}`, `{"a":{"c":[{},null]}}`},
		{"nulls in a list over an object", `{"a":{}}`, `{"a":[{"d":null}]}`, `{"a":[{"d":null}]}`},
		{"last of repeated keys", `{"a":1,"a":2}`, `{"b":1,"b":2}`, `{"a":2,"b":2}`},
		{"space", ` { "a" : [ 1 , " x " ] } `, "\n{\"b\" : { } }\t", `{"a":[1," x "],"b":{}}`},
		{"escapes", `{"k<":"<","é\n":1}`, `{"\u00e9\n":"&"}`, `{"k\u003c":"\u003c","é\n":"\u0026"}`},
		{"a list", `{"a":1}`, `[1, {"a":null,"b":[null]}, null]`, `[1,{"b":[null]},null]`},
		{"many keys", many(40, `"v"`), many(30, "null"), `{"k30":"v","k31":"v","k32":"v","k33":"v","k34":"v","k35":"v","k36":"v","k37":"v","k38":"v","k39":"v"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Merge([]byte(tt.doc), []byte(tt.patch), nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("Merge(%s, %s): got %s, %v, want %s", tt.doc, tt.patch, got, err, tt.want)
			}
		})
	}
}

func many(n int, value string) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"k%d":%s`, i, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat(`{"a":`, jsontext.MaxDepth+1) + "1" + strings.Repeat("}", jsontext.MaxDepth+1)
	doc := `{"a":{"b":[1,2]},"data":{"k":"v"}}`
	for _, tt := range []struct {
		name, form, patch string
		want              Error
	}{
		{"merge: array", "merge", `[]`, Error{Malformed, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"}},
		{"merge: string", "merge", `"text"`, Error{Malformed, "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"}},
		{"merge: broken", "merge", `{broken`, Error{Malformed, "error decoding patch: invalid character 'b' looking for beginning of object key string"}},
		{"merge: cut", "merge", `{`, Error{Malformed, "error decoding patch: unexpected end of JSON input"}},
		{"merge: empty", "merge", ``, Error{Malformed, "error decoding patch: unexpected end of JSON input"}},
		{"merge: null", "merge", `null`, Error{Malformed, "Invalid JSON Patch"}},
		{"merge: number", "merge", `{"a":1e999}`, Error{Malformed, "error decoding patch: json: cannot unmarshal number 1e999 into Go value of type float64"}},
		{"merge: depth", "merge", deep, Error{Malformed, "error decoding patch: invalid character '{' exceeded max depth"}},
		{"strategic: array", "strategic", `[{"op":"remove","path":"/data"}]`, Error{Malformed, "json: cannot unmarshal array into Go value of type map[string]interface {}"}},
		{"strategic: cut", "strategic", `{`, Error{Malformed, "unexpected end of JSON input"}},
		{"strategic: directive", "strategic", `{"m":{"$patch":"shred"}}`, Error{}},
		{"strategic: no key", "strategic", `{"subs":[{"a":"nameless"}]}`, Error{}},
		{"json: object", "json", `{"op":"remove","path":"/data/k"}`, Error{Malformed, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"}},
		{"json: not json", "json", `not json`, Error{Malformed, "error decoding patch: invalid character 'o' in literal null (expecting 'u')"}},
		{"json: op type", "json", `[{"op":5}]`, Error{Malformed, "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"}},
		{"json: operation type", "json", `[5]`, Error{Malformed, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"}},
		{"json: number", "json", `[{"value":1e999}]`, Error{Malformed, "error decoding patch: json: cannot unmarshal number 1e999 into Go struct field jsonPatchOp.value of type float64"}},
		{"json: test", "json", `[{"op":"test","path":"/data/k","value":"w"}]`, Error{Untrue, "testing value /data/k failed: test failed"}},
		{"json unchecked: syntax", "unchecked json", `[{`, Error{Malformed, "unexpected end of JSON input"}},
		{"json unchecked: no list", "unchecked json", `{}`, Error{Malformed, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"}},
		{"json unchecked: no operation", "unchecked json", `[5]`, Error{Malformed, "json: cannot unmarshal number into Go value of type jsonpatch.Operation"}},
		{"json unchecked: no string", "unchecked json", `[{"op":"remove","path":5}]`, Error{Inapplicable, "remove operation failed to decode path: missing value"}},
		{"json unchecked: no kind", "unchecked json", `[{"op":"remove","path":"/a","op":5}]`, Error{Inapplicable, "Unexpected kind: unknown"}},
		{"merge unchecked: syntax", "unchecked merge", `{`, Error{Malformed, "Invalid JSON Patch"}},
		{"merge unchecked: no object", "unchecked merge", `5`, Error{Malformed, "Invalid JSON Patch"}},
		{"json: unknown", "json", `[{"op":"dance","path":"/data/k"}]`, Error{Inapplicable, "Unexpected kind: dance"}},
		{"json: no op", "json", `[null]`, Error{Inapplicable, "Unexpected kind: unknown"}},
		{"json: missing", "json", `[{"op":"remove","path":"/data/none"}]`, Error{Inapplicable, "error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value"}},
		{"json: index", "json", `[{"op":"add","path":"/a/b/9","value":1}]`, Error{Inapplicable, "error in add for path: '/a/b/9': Unable to access invalid index: 9: invalid index referenced"}},
		{"json: root", "json", `[{"op":"replace","path":"","value":1}]`, Error{Inapplicable, "replace operation value must be object or array"}},
		{"json: too many", "json", "[" + strings.Repeat(`{"op":"test","path":"/a"},`, maxOperations) + "{}]", Error{TooLarge, "The allowed maximum operations in a JSON patch is 10000, got 10001"}},
		{"json: copies", "json", doubling(25), Error{Inapplicable, "Unable to complete the copy, the accumulated size increase of copy is 4456570, exceeding the limit 3145728"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []byte
			var err error
			switch tt.form {
			case "merge":
				got, err = checked(Merge, CheckMerge)([]byte(doc), []byte(tt.patch), nil)
			case "json":
				got, err = checked(JSON, CheckJSON)([]byte(doc), []byte(tt.patch), nil)
			case "unchecked merge":
				got, err = Merge([]byte(doc), []byte(tt.patch), nil)
			case "unchecked json":
				got, err = JSON([]byte(doc), []byte(tt.patch), nil)
			default:
				got, err = Strategic([]byte(`{"m":{"a":"b"},"subs":[{"name":"x"}]}`), []byte(tt.patch), root, nil)
				if tt.name == "strategic: directive" {
					tt.want = Error{Unmergeable, "unknown patch type: shred in map: map[$patch:shred]"}
				}
				if tt.name == "strategic: no key" {
					tt.want = Error{Unmergeable, "map: map[a:nameless] does not contain declared merge key: name"}
				}
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || *e != tt.want {
				t.Errorf("got %.80s, %v, want %v", got, err, tt.want)
			}
		})
	}
}

// doubling is a patch that copies an object into itself n times.
func doubling(n int) string {
	var ops []string
	for i := range n {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/a","path":"/a/k%d"}`, i))
	}
	return "[" + strings.Join(ops, ",") + "]"
}

func TestCodes(t *testing.T) {
	for kind, want := range map[Kind]int{Malformed: 400, TooLarge: 413, Inapplicable: 422, Unmergeable: 422} {
		if got := kind.Code(); got != want {
			t.Errorf("Kind(%d).Code(): got %d, want %d", kind, got, want)
		}
	}
}

func TestFindings(t *testing.T) {
	for _, tt := range []struct {
		check checking
		patch string
		want  []string
	}{
		{CheckMerge, `{"a":1,"a":2,"b":{"c":[{"d":1,"d":2,"d":3}],"x.y":{"z":1,"z":1}},"":{"q":1,"q":1}}`,
			[]string{`duplicate field "a"`, `duplicate field "b.c[0].d"`, `duplicate field "b.x.y.z"`, `duplicate field ".q"`}},
		{CheckMerge, `{"a":[[1,{"b":1,"b":2}],"x"]}`, []string{`duplicate field "a[0][1].b"`}},
		{CheckMerge, `{"a":{"b":1},"c":[1,{}]}`, nil},
		{CheckJSON, `[{"op":"a","op":"b","extra":1,"Op":2,"extra":{"q":1,"q":2},"value":{"a":1,"a":2}},{"x":1},null]`,
			[]string{`json patch duplicate field "[0].op"`, `json patch unknown field "[0].extra"`, `json patch unknown field "[0].Op"`,
				`json patch duplicate field "[0].value.a"`, `json patch unknown field "[1].x"`}},
		{CheckJSON, `null`, nil},
		{strategicChecked, `{"a":1,"a":2}`, []string{`duplicate field "a"`}},
		{strategicChecked, `{"a":[`, nil},
	} {
		if got, err := tt.check([]byte(tt.patch), nil); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %q, %v, want %q", tt.patch, got, err, tt.want)
		}
	}
	if got, err := CheckMerge([]byte(`{"a":[`+strings.Repeat(`{"b":1,"b":2},`, 200)+`{}]}`), nil); err != nil || len(got) != maxFindings {
		t.Errorf("got %d findings, %v, want %d", len(got), err, maxFindings)
	}
}

func strategicChecked(patch []byte, m *meter.Meter) ([]string, error) {
	return CheckStrategic(patch, m), nil
}

func TestJSONKeepsUntouchedOrder(t *testing.T) {
	got, err := JSON([]byte(`{"z":{"b":1,"a":2},"y":{"d":1,"c":[{"f":1,"e":2}]},"x":1.0}`), []byte(`[{"op":"add","path":"/y/n","value":{"q": 1,"p":"<"}}]`), nil)
	want := `{"x":1.0,"y":{"c":[{"f":1,"e":2}],"d":1,"n":{"q":1,"p":"\u003c"}},"z":{"b":1,"a":2}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestFit(t *testing.T) {
	type text string
	type object struct {
		S string            `json:"s,omitempty"`
		T text              `json:"t,omitempty"`
		B bool              `json:"b,omitempty"`
		I *int32            `json:"i,omitempty"`
		F float64           `json:"f,omitempty"`
		D []byte            `json:"d,omitempty"`
		L []string          `json:"l,omitempty"`
		M map[string]string `json:"m,omitempty"`
		O *Item             `json:"o,omitempty"`
		A any               `json:"a,omitempty"`
	}
	typ := typeinfo.For[object]()
	for _, tt := range []struct{ merged, want string }{
		{`{"s":"x","t":"y","b":true,"i":5,"f":1.5,"d":"YQ==","l":["a",null],"m":{"k":"v"},"o":{"name":"x"},"a":[{}],"more":1}`, ""},
		{`{"s":null,"i":null,"l":null,"m":null,"o":null,"i":7.0,"f":3}`, ""},
		{`{"m":["x"]}`, "cannot restore map from slice"},
		{`{"m":{"n":1}}`, "cannot convert int64 to string"},
		{`{"t":1}`, "cannot convert int64 to patch.text"},
		{`{"o":[]}`, "cannot restore struct from: slice"},
		{`{"o":"x"}`, "cannot restore struct from: string"},
		{`{"l":"x"}`, "cannot restore slice from string"},
		{`{"l":[1]}`, "cannot convert int64 to string"},
		{`{"d":5}`, "cannot restore slice from int64"},
		{`{"d":"%"}`, "error decoding from json: illegal base64 data at input byte 0"},
		{`{"s":true}`, "unrecognized type: string"},
		{`{"s":1.5}`, "unrecognized type: string"},
		{`{"i":"many"}`, "unrecognized type: int32"},
		{`{"i":1.5}`, "cannot convert float64 to int32"},
		{`{"b":"x"}`, "unrecognized type: bool"},
		{`{"f":"x"}`, "unrecognized type: float64"},
		{`{"s":`, "unexpected end of JSON input"},
	} {
		if _, got := CheckStrategicResult([]byte(tt.merged), typ, nil); got != tt.want {
			t.Errorf("Fit(%s): got %q, want %q", tt.merged, got, tt.want)
		}
	}
	pod := typeinfo.For[corev1.Pod]()
	for _, tt := range []struct{ merged, want string }{
		{`{"metadata":{"creationTimestamp":"2025-01-01T00:00:00Z"},"spec":{"containers":[{"ports":[{"protocol":"TCP"}]}]}}`, ""},
		{`{"metadata":{"creationTimestamp":"x"}}`, `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`},
		{`{"metadata":{"creationTimestamp":5}}`, "json: cannot unmarshal number into Go value of type string"},
		{`{"spec":{"containers":[{"ports":[{"protocol":5}]}]}}`, "cannot convert int64 to v1.Protocol"},
		{`{"metadata":{"uid":5}}`, "cannot convert int64 to types.UID"},
	} {
		if _, got := CheckStrategicResult([]byte(tt.merged), pod, nil); got != tt.want {
			t.Errorf("Fit(%s): got %q, want %q", tt.merged, got, tt.want)
		}
	}
}

// TestFitUnknown checks that the paths of unknown fields are sorted, and leave out the keys of
// maps.
func TestFitUnknown(t *testing.T) {
	type schema struct {
		Type       string             `json:"type,omitempty"`
		Properties map[string]*schema `json:"properties,omitempty"`
		AllOf      []schema           `json:"allOf,omitempty"`
		Default    any                `json:"default,omitempty"`
	}
	typ := typeinfo.For[schema]()
	for _, tt := range []struct{ merged, want string }{
		{`{"type":"x","properties":{"a":{"type":"y"}},"default":{"typo":1}}`, ``},
		{`{"typo":1,"nope":null}`, `nope typo`},
		{`{"properties":{"a":{"typo":1,"properties":{"b":{"typo":2}}},"c":{"typo":[]}}}`,
			`properties.properties.typo properties.typo properties.typo`},
		{`{"allOf":[{"typo":1},{"properties":{"a":{"allOf":[{"x":1}]}}}]}`, `allOf[0].typo allOf[1].properties.allOf[0].x`},
		{`{"typo":1,"type":5}`, ``}, // type makes it no valid object
	} {
		got, _ := CheckStrategicResult([]byte(tt.merged), typ, nil)
		for i := range got {
			got[i] = strings.TrimSuffix(strings.TrimPrefix(got[i], `unknown field "`), `"`)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("Fit(%s): got %q, want %s", tt.merged, got, tt.want)
		}
	}
	if got, _ := CheckStrategicResult([]byte(`{"properties":{`+strings.TrimSuffix(strings.Repeat(`"":{"x":1,"y":2},`, 200), ",")+`}}`), typ, nil); len(got) != 2 {
		t.Errorf("of keys that repeat the last counts: got %q", got)
	}
}
