package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

func parseSchema(t testing.TB, text string) *Schema {
	t.Helper()
	s, errs := Parse(nil, []byte(text))
	if len(errs) > 0 {
		t.Fatalf("Parse(%s): %v", text, errs.ToAggregate())
	}
	return s
}

func parseTree(t testing.TB, text string) any {
	t.Helper()
	v, err := jsontext.Decode([]byte(text), nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func messages(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Error())
	}
	slices.Sort(out)
	return out
}

// mistakes returns all errors of a tree.
func mistakes(s *Schema, tree, old any) field.ErrorList {
	return slices.Concat(s.Validate(nil, nil, tree, old), s.ValidateResources(nil, nil, tree), s.ValidateLists(nil, nil, tree, old))
}

// checkValid sets defaults, as a server does first, and compares the errors with type and message.
func checkValid(t *testing.T, s *Schema, value, old string, want ...string) {
	t.Helper()
	tree := parseTree(t, value)
	s.Prune(nil, tree)
	if err := s.SetDefaults(nil, tree); err != nil {
		t.Fatal(err)
	}
	var before any
	if old != "" {
		before = parseTree(t, old)
	}
	slices.Sort(want)
	if got := messages(mistakes(s, tree, before)); !slices.Equal(got, want) {
		t.Errorf("Validate(%s):\n got %s\nwant %s", value, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// TestValidateTypesAndLimits: the errors are those of kube-apiserver 1.36 for the same definitions
// and objects.
func TestValidateTypesAndLimits(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"b":{"type":"boolean"},"e":{"type":"string","enum":["red","green"]},
		"i":{"type":"integer","minimum":1,"maximum":10,"multipleOf":2},
		"l":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2},
		"m":{"type":"object","additionalProperties":{"type":"integer"},"maxProperties":1},
		"n":{"type":"number","minimum":0,"exclusiveMinimum":true},
		"s":{"type":"string","minLength":2,"maxLength":4,"pattern":"^[a-z]+$"}}}}}`)
	checkValid(t, s, `{"spec":{"b":true,"e":"red","i":4,"l":["x"],"m":{"a":1},"n":0.5,"s":"abc"}}`, "")
	checkValid(t, s, `{"spec":{"i":4.0}}`, "")
	checkValid(t, s, `{}`, "")
	checkValid(t, s, `{"spec":{"b":1,"e":3,"i":"4","l":{},"m":[],"n":"x","s":5}}`, "",
		`FieldValueTypeInvalid spec.b: Invalid value: "integer": spec.b in body must be of type boolean: "integer"`,
		`FieldValueNotSupported spec.e: Unsupported value: 3: supported values: "red", "green"`,
		`FieldValueTypeInvalid spec.e: Invalid value: "integer": spec.e in body must be of type string: "integer"`,
		`FieldValueTypeInvalid spec.i: Invalid value: "string": spec.i in body must be of type integer: "string"`,
		`FieldValueTypeInvalid spec.l: Invalid value: "object": spec.l in body must be of type array: "object"`,
		`FieldValueTypeInvalid spec.m: Invalid value: "array": spec.m in body must be of type object: "array"`,
		`FieldValueTypeInvalid spec.n: Invalid value: "string": spec.n in body must be of type number: "string"`,
		`FieldValueTypeInvalid spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"`)
	checkValid(t, s, `{"spec":{"e":"blue","i":11,"l":[],"m":{"a":1,"b":2},"n":0,"s":"a"}}`, "",
		`FieldValueNotSupported spec.e: Unsupported value: "blue": supported values: "red", "green"`,
		`FieldValueInvalid spec.i: Invalid value: 11: spec.i in body should be a multiple of 2`,
		`FieldValueInvalid spec.i: Invalid value: 11: spec.i in body should be less than or equal to 10`,
		`FieldValueInvalid spec.l: Invalid value: 0: spec.l in body should have at least 1 items`,
		`FieldValueTooMany spec.m: Too many: 2: must have at most 1 item`,
		`FieldValueInvalid spec.n: Invalid value: 0: spec.n in body should be greater than 0`,
		`FieldValueInvalid spec.s: Invalid value: "a": spec.s in body should be at least 2 chars long`)
	checkValid(t, s, `{"spec":{"i":3,"l":["a","b","c"],"m":{"a":"x"},"s":"ABCDE"}}`, "",
		`FieldValueInvalid spec.i: Invalid value: 3: spec.i in body should be a multiple of 2`,
		`FieldValueTooMany spec.l: Too many: 3: must have at most 2 items`,
		`FieldValueTypeInvalid spec.m.a: Invalid value: "string": spec.m.a in body must be of type integer: "string"`,
		`FieldValueTooLong spec.s: Too long: may not be more than 4 bytes`)
	checkValid(t, s, `{"spec":{"s":"ABC"}}`, "",
		`FieldValueInvalid spec.s: Invalid value: "ABC": spec.s in body should match '^[a-z]+$'`)
	checkValid(t, s, `{"spec":{"i":4.5,"l":[1,null],"s":null}}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.i`,
		`FieldValueInvalid spec.i: Invalid value: 4.5: spec.i in body should be a multiple of 2`,
		`FieldValueTypeInvalid spec.i: Invalid value: "number": spec.i in body must be of type integer: "number"`,
		`FieldValueTypeInvalid spec.l[0]: Invalid value: "integer": spec.l[0] in body must be of type string: "integer"`,
		`FieldValueTypeInvalid spec.l[1]: Invalid value: "null": spec.l[1] in body must be of type string: "null"`)
	checkValid(t, s, `{"spec":"text"}`, "",
		`FieldValueTypeInvalid spec: Invalid value: "string": spec in body must be of type object: "string"`)
}

func TestValidateRequired(t *testing.T) {
	s := parseSchema(t, `{"type":"object","required":["spec","metadata"],"properties":{"spec":{"type":"object","required":["a","list"],"properties":{
		"a":{"type":"string"},"nul":{"type":"string","nullable":true},"nulDefault":{"type":"string","nullable":true,"default":"d"},
		"notNul":{"type":"string","default":"e"},
		"list":{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}}}}}}`)
	checkValid(t, s, `{}`, "", `FieldValueRequired spec: Required value`)
	checkValid(t, s, `{"spec":{}}`, "", `FieldValueRequired spec.a: Required value`, `FieldValueRequired spec.list: Required value`)
	checkValid(t, s, `{"spec":{"a":"1","list":[{"v":"w"},{}]}}`, "",
		`FieldValueRequired spec.list[0].k: Required value`, `FieldValueRequired spec.list[1].k: Required value`)
	checkValid(t, s, `{"spec":{"a":null,"list":[]}}`, "", `FieldValueRequired spec.a: Required value`)
	checkValid(t, s, `{"spec":{"a":"1","list":[],"notNul":null,"nul":null,"nulDefault":null}}`, "")
}

// TestValidateOrder: errors of one value are in the order of the checks, and not of their names.
func TestValidateOrder(t *testing.T) {
	s := parseSchema(t, `{"type":"object","required":["z","y"],"properties":{"b":{"type":"string","enum":["red"]},
		"a":{"type":"array","maxItems":1,"items":{"type":"integer"},"x-kubernetes-list-type":"set"},"z":{"type":"string"},"y":{"type":"string"},
		"c":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"not":{"required":["x"]},"anyOf":[{"required":["v","u"]}]}}}`)
	var got []string
	for _, err := range mistakes(s, parseTree(t, `{"b":5,"a":["q","q"],"c":{"x":1}}`), nil) {
		got = append(got, err.Field+" "+string(err.Type))
	}
	want := []string{"a[0] FieldValueTypeInvalid", "a[1] FieldValueTypeInvalid", "a FieldValueTooMany", "b FieldValueTypeInvalid", "b FieldValueNotSupported",
		"<nil> FieldValueInvalid", "c.v FieldValueRequired", "c.u FieldValueRequired", "<nil> FieldValueInvalid",
		"z FieldValueRequired", "y FieldValueRequired", "a[1] FieldValueDuplicate"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestValidateFormats(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{
		"by":{"type":"string","format":"byte"},"dt":{"type":"string","format":"date-time"},"i32":{"type":"integer","format":"int32"},
		"ip":{"type":"string","format":"ipv4"},"odd":{"type":"string","format":"made-up"},"u":{"type":"string","format":"uuid"}}}`)
	checkValid(t, s, `{"by":"aGk=","dt":"2020-01-01T00:00:00Z","i32":5,"ip":"192.0.2.1","odd":"x","u":"11111111-2222-3333-4444-555555555555"}`, "")
	checkValid(t, s, `{"by":"*","dt":"no","i32":3000000000,"ip":"no","u":"no"}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer with format int32 in i32`,
		`FieldValueTypeInvalid by: Invalid value: "*": by in body must be of type byte: "*"`,
		`FieldValueTypeInvalid dt: Invalid value: "no": dt in body must be of type date-time: "no"`,
		`FieldValueTypeInvalid ip: Invalid value: "no": ip in body must be of type ipv4: "no"`,
		`FieldValueTypeInvalid u: Invalid value: "no": u in body must be of type uuid: "no"`)
	checkValid(t, s, `{"i32":true,"dt":5}`, "",
		`FieldValueTypeInvalid dt: Invalid value: "int64": dt in body must be of type date-time: "int64"`,
		`FieldValueTypeInvalid i32: Invalid value: "": i32 in body must be of type int32: ""`)
}

func TestValidateIntOrString(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"v":{"x-kubernetes-int-or-string":true},
		"w":{"anyOf":[{"type":"integer"},{"type":"string"}],"maxLength":3,"x-kubernetes-int-or-string":true}}}`)
	checkValid(t, s, `{"v":1,"w":"abc"}`, "")
	checkValid(t, s, `{"v":1.5}`, "", `FieldValueTypeInvalid v: Invalid value: "number": v in body must be of type integer,string: "number"`)
	checkValid(t, s, `{"v":true}`, "", `FieldValueTypeInvalid v: Invalid value: "boolean": v in body must be of type integer,string: "boolean"`)
	checkValid(t, s, `{"w":"abcd"}`, "", `FieldValueTooLong w: Too long: may not be more than 3 bytes`)
}

func TestValidateJunctors(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"spec":{"type":"object","not":{"required":["a"],"properties":{"a":{"enum":["forbidden"]}}},
		"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"string"},"b":{"type":"string"}}},
		"all":{"type":"string","allOf":[{"minLength":2},{"pattern":"^a"}]},"any":{"type":"integer","anyOf":[{"maximum":3},{"minimum":7}]}}}`)
	checkValid(t, s, `{"spec":{"a":"x"},"all":"ab","any":8}`, "")
	checkValid(t, s, `{"spec":{}}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid`,
		`FieldValueRequired spec.a: Required value`)
	checkValid(t, s, `{"spec":{"a":"x","b":"y"}}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives`)
	checkValid(t, s, `{"spec":{"a":"forbidden"}}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": "spec" must not validate the schema (not)`)
	checkValid(t, s, `{"all":"xx"}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": "all" must validate all the schemas (allOf)`,
		`FieldValueInvalid all: Invalid value: "xx": all in body should match '^a'`)
	checkValid(t, s, `{"any":5}`, "",
		`FieldValueInvalid <nil>: Invalid value: "": "any" must validate at least one schema (anyOf)`,
		`FieldValueInvalid any: Invalid value: 5: any in body should be less than or equal to 3`)
}

func TestValidateLists(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{
		"at":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"atomic"},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],"items":{"type":"object","required":["a"],
			"properties":{"a":{"type":"string"},"b":{"type":"integer","default":0},"c":{"type":"string"}}}},
		"s":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}`)
	checkValid(t, s, `{"at":["x","x"],"m":[{"a":"k","b":1},{"a":"k"}],"s":["x","y"]}`, "")
	checkValid(t, s, `{"m":[{"a":"k"},{"a":"k","b":0}],"s":["x","y","x","x"]}`, "",
		`FieldValueDuplicate m[1]: Duplicate value: {"a":"k","b":0}`, `FieldValueDuplicate s[2]: Duplicate value: "x"`)
	checkValid(t, s, `{"m":[{"b":1}]}`, "", `FieldValueRequired m[0].a: Required value`)
	checkValid(t, s, `{"s":["q","q"]}`, `{"s":["x"]}`, `FieldValueDuplicate s[1]: Duplicate value: "q"`)
	checkValid(t, s, `{"s":["q","q","r"]}`, `{"s":["q","q"]}`)
	checkValid(t, s, `{"m":["x"]}`, "",
		`FieldValueInvalid m[0]: Invalid value: "x": must be an object for an array of list-type map`,
		`FieldValueTypeInvalid m[0]: Invalid value: "string": m[0] in body must be of type object: "string"`)
}

// TestValidateUpdate: errors in values that an update does not change are not reported.
func TestValidateUpdate(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{"type":"string"},
		"l":{"type":"array","items":{"type":"string","maxLength":3}},
		"at":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string","maxLength":3}},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object",
			"properties":{"k":{"type":"string"},"v":{"type":"string","maxLength":3}}}},
		"o":{"type":"object","oneOf":[{"required":["p"]}],"properties":{"p":{"type":"string"}}}}}`)
	tooLong := func(at string) string { return "FieldValueTooLong " + at + ": Too long: may not be more than 3 bytes" }
	checkValid(t, s, `{"a":"longvalue","b":"y"}`, `{"a":"longvalue","b":"x"}`)
	checkValid(t, s, `{"a":"stilllong"}`, `{"a":"longvalue"}`, tooLong("a"))
	checkValid(t, s, `{"l":["longvalue"],"b":"y"}`, `{"l":["longvalue"]}`)
	checkValid(t, s, `{"l":["longvalue","x"]}`, `{"l":["longvalue"]}`, tooLong("l[0]"))
	checkValid(t, s, `{"at":["longvalue","x"]}`, `{"at":["longvalue"]}`, tooLong("at[0]"))
	checkValid(t, s, `{"m":[{"k":"b","v":"x"},{"k":"a","v":"longvalue"}]}`, `{"m":[{"k":"a","v":"longvalue"}]}`)
	checkValid(t, s, `{"m":[{"k":"b","v":"longvalue"}]}`, `{"m":[{"k":"a","v":"longvalue"}]}`, tooLong("m[0].v"))
	checkValid(t, s, `{"o":{},"b":"y"}`, `{"o":{},"b":"x"}`)
}

func TestValidateEmbedded(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"emb":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}}}`)
	checkValid(t, s, `{"spec":{"emb":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"Bad_"},"spec":{"any":1}}}}`, "")
	checkValid(t, s, `{"spec":{"emb":{"spec":{}}}}`, "",
		`FieldValueRequired spec.emb.apiVersion: Required value`, `FieldValueRequired spec.emb.kind: Required value`)
	checkValid(t, s, `{"spec":{"emb":{"apiVersion":1,"kind":"a/b","metadata":[]}}}`, "",
		`FieldValueInvalid spec.emb.apiVersion: Invalid value: 1: must be a string`,
		`FieldValueInvalid spec.emb.kind: Invalid value: "a/b": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
		`FieldValueInvalid spec.emb.metadata: Invalid value: []: json: cannot unmarshal array into Go value of type v1.ObjectMeta`)
	checkValid(t, s, `{"spec":{"emb":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"x y":"z"}}}}}`, "",
		`FieldValueInvalid spec.emb.metadata.labels: Invalid value: "x y": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`)
}

// TestCoerce: errors about metadata that cannot be decoded name the Go types of kube-apiserver.
// Other metadata is replaced by its canonical form.
func TestCoerce(t *testing.T) {
	s := parseSchema(t, `{"type":"object","additionalProperties":{"type":"object","x-kubernetes-embedded-resource":true}}`)
	for _, tt := range []struct{ metadata, becomes, wrong string }{
		{`{"creationTimestamp":"0001-01-01T00:00:00Z"}`, `{}`, ""},
		{`{"creationTimestamp":"2020-01-01T01:00:00.123+01:00","labels":{"a":null}}`, `{"creationTimestamp":"2020-01-01T00:00:00Z","labels":{"a":""}}`, ""},
		{`{"uid":5}`, "", "number into Go struct field ObjectMeta.uid of type types.UID"},
		{`{"managedFields":"x"}`, "", "string into Go struct field ObjectMeta.managedFields of type []v1.ManagedFieldsEntry"},
		{`{"ownerReferences":[5]}`, "", "number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference"},
		{`{"labels":{"a":1}}`, "", "number into Go struct field ObjectMeta.labels of type string"},
	} {
		tree := parseTree(t, `{"a b":{"metadata":`+tt.metadata+`}}`)
		switch err := s.Coerce(nil, nil, tree); {
		case err != nil:
			if want := `[a b].metadata: Invalid value: ` + tt.metadata + `: json: cannot unmarshal ` + tt.wrong; err.Error() != want {
				t.Errorf("%s:\n got %s\nwant %s", tt.metadata, err, want)
			}
		case text(tree) != `{"a b":{"metadata":`+tt.becomes+`}}`:
			t.Errorf("%s becomes %s, want %s", tt.metadata, text(tree), tt.becomes)
		}
	}
}

// TestValidateBelowPath: messages about a part of an object begin with the path of the part.
func TestValidateBelowPath(t *testing.T) {
	s := parseSchema(t, `{"type":"object","required":["x"],"properties":{"count":{"type":"integer"}}}`)
	got := messages(s.Validate(nil, field.NewPath("status"), parseTree(t, `{"count":"many"}`), nil))
	want := []string{`FieldValueRequired status.x: Required value`,
		`FieldValueTypeInvalid status.count: Invalid value: "string": count in body must be of type integer: "string"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = messages(parseSchema(t, `{"type":"integer"}`).Validate(nil, nil, "x", nil))
	if want := `FieldValueTypeInvalid <nil>: Invalid value: "string":  in body must be of type integer: "string"`; !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValidateIsBounded(t *testing.T) {
	s := parseSchema(t, `{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`)
	many := make([]any, 1000)
	for i := range many {
		many[i] = "x"
	}
	long := strings.Repeat("k", 1<<20)
	errs := s.Validate(nil, nil, map[string]any{"a": many}, nil)
	if len(errs) != field.MaxErrors+1 {
		t.Errorf("got %d errors, want %d", len(errs), field.MaxErrors+1)
	}
	size := 0
	for _, err := range s.Validate(nil, nil, map[string]any{long: many}, nil) {
		size += len(err.Field) + len(err.Detail)
	}
	if limit := 3 * (field.MaxErrors + 1) * field.MaxText; size > limit {
		t.Errorf("a long key: got errors of %d bytes, want at most %d", size, limit)
	}
	var deep any = "x"
	for range jsontext.MaxDepth + 10 {
		deep = []any{deep}
	}
	loop := &Schema{Type: Array}
	loop.Items = loop
	if errs = loop.Validate(nil, nil, deep, nil); len(errs) != 1 || errs[0].Detail != "the object is nested too deeply" {
		t.Errorf("a deep list: got %v", errs.ToAggregate())
	}
	// A value of a type that trees do not have causes no panic.
	for _, v := range []any{int(1), uint64(1), []string{"x"}, struct{}{}, map[string]string{}} {
		s.Prune(nil, v)
		if errs = s.Validate(nil, nil, v, nil); len(errs) == 0 {
			t.Errorf("%T: got no error", v)
		}
	}
}

// FuzzParse parses random schemas and walks random trees. Nothing may panic; a second Prune and
// SetDefaults must change nothing; and an update that changes nothing must have no errors, apart
// from embedded resources.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"integer","default":3,"maximum":5}},"required":["b"]}`), []byte(`{"a":9,"c":{}}`))
	f.Add([]byte(`{"type":"array","items":{"type":"string","format":"uuid4","default":"x"},"x-kubernetes-list-type":"set"}`), []byte(`["a","a",null,1]`))
	f.Add([]byte(`{"x-kubernetes-embedded-resource":true,"oneOf":[{"required":["a"]},{"not":{"enum":[1,1.0]}}]}`), []byte(`{"kind":1,"metadata":{"labels":3}}`))
	f.Add([]byte(`{"items":{"properties":{"k":{"default":1}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}`), []byte(`[{},{"k":1},null]`))
	f.Add([]byte(`{"additionalProperties":{"nullable":true,"x-kubernetes-int-or-string":true,"multipleOf":0.1}}`), []byte(`{"a":0.3,"b":null,"c":1e400}`))
	f.Fuzz(func(t *testing.T, definition, data []byte) {
		s, errs := Parse(field.NewPath("x"), definition)
		if s == nil {
			t.Fatalf("got no schema, and %v", errs)
		}
		tree, err := jsontext.Decode(data, nil)
		if err != nil {
			return
		}
		s.Prune(nil, tree)
		if again := s.Prune(nil, tree); len(again) > 0 {
			t.Fatalf("pruned twice: %q", again)
		}
		if s.SetDefaults(nil, tree) != nil {
			return
		}
		once := text(tree)
		if err := s.SetDefaults(nil, tree); err != nil || text(tree) != once {
			t.Fatalf("defaulted once %s, twice %s, %v", once, text(tree), err)
		}
		s.Prune(nil, tree) // a default may bring what a schema around it does not know
		for _, errs := range []field.ErrorList{s.Validate(nil, nil, tree, nil), s.ValidateResources(nil, nil, tree), s.ValidateLists(nil, nil, tree, nil)} {
			if len(errs) > field.MaxErrors+1 {
				t.Fatalf("got %d errors", len(errs))
			}
		}
		var same checker
		same.value(s, tree, before{parseTree(t, text(tree)), true, s})
		if len(same.errs) > 0 {
			t.Fatalf("%s has not changed, and yet %v", once, same.errs.ToAggregate())
		}
	})
}

func TestPreserveAllSaysNothingOfValues(t *testing.T) {
	const text = `{"type":"object","properties":{"closed":{"x-kubernetes-preserve-unknown-fields":true,"additionalProperties":false},
		"open":{"type":"object","additionalProperties":true,"maxProperties":1}}}`
	const tree = `{"closed":{"a":1},"open":{"a":{"deep":null},"b":1},"unknown":{"c":null}}`
	s := parseSchema(t, text)
	s.PreserveAll()
	pruned := parseTree(t, tree)
	if s.Prune(nil, pruned); !reflect.DeepEqual(pruned, parseTree(t, tree)) || !s.PrunedAndDefaulted(pruned) {
		t.Errorf("Prune(%s) = %v", tree, pruned)
	}
	// A forbidden field and a field of any type are not described, so they count as changed.
	checkValid(t, s, tree, tree,
		`FieldValueInvalid closed: Invalid value: "a": closed.a in body is a forbidden property`,
		`FieldValueTooMany open: Too many: 2: must have at most 1 item`)
}

func TestFormerElementsByNumbers(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","p"],
		"items":{"type":"object","required":["k","p"],"properties":{"k":{"type":"string"},"p":{"type":"number"},"v":{"type":"string","maxLength":1}}}}}}`)
	old := `{"l":[{"k":"a","p":2.0,"v":"long"},{"k":"a","p":2,"v":"longer"},{"k":"b","p":0.12345678,"v":"longest"}]}`
	checkValid(t, s, old, old)
	checkValid(t, s, `{"l":[{"k":"b","p":0.123456781}]}`, old)
	checkValid(t, s, `{"l":[{"k":"a","p":2,"v":"long"}]}`, old, `FieldValueTooLong l[0].v: Too long: may not be more than 1 byte`)
}
