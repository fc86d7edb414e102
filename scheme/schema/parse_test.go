package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/field"
)

func TestParse(t *testing.T) {
	s := parseSchema(t, `{"title":"T","description":"D","type":"object","nullable":true,"required":["a"],"example":{"a":1},
		"externalDocs":{"description":"more","url":"https://example.com"},"x-kubernetes-map-type":"atomic","minProperties":1,"maxProperties":2.0,
		"x-kubernetes-validations":[{"rule":"self.a > 0","message":"m","messageExpression":"'m'","reason":"FieldValueInvalid","fieldPath":".a","optionalOldSelf":true}],
		"properties":{"a":{"type":"number","format":"double","minimum":-1.5,"maximum":3,"exclusiveMinimum":true,"exclusiveMaximum":true,"multipleOf":0.5,"default":1.5,"enum":[1.5,null,"x"]},
			"l":{"type":"array","items":{"type":"string","minLength":1,"maxLength":3,"pattern":"^a"},"minItems":1,"maxItems":9,"uniqueItems":true,
				"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]},
			"m":{"type":"object","additionalProperties":{"type":"boolean"}},"any":{"additionalProperties":true},"none":{"additionalProperties":false},
			"j":{"allOf":[{"minimum":1}],"anyOf":[{"minimum":1},{"maximum":2}],"oneOf":[{"not":{"enum":["x"]}}]},
			"x":{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true,"x-kubernetes-int-or-string":true,"default":null}}}`)
	l := s.Limits
	if !s.Resource || s.Docs.Title != "T" || s.Docs.URL != "https://example.com" || text(s.Docs.Example) != `{"a":1}` || s.Description != "D" ||
		!s.Nullable || s.MapType != "atomic" || *l.MinProperties != 1 || *l.MaxProperties != 2 || !slices.Equal(s.Required, []string{"a"}) {
		t.Errorf("root: got %+v with %+v", s, l)
	}
	if r := l.Rules; len(r) != 1 || r[0].Rule != "self.a > 0" || r[0].FieldPath != ".a" || r[0].OptionalOldSelf == nil || !*r[0].OptionalOldSelf {
		t.Errorf("rules: got %+v", r)
	}
	a := s.Properties["a"]
	if l := a.Limits; *l.Minimum != -1.5 || *l.Maximum != 3 || !l.ExclusiveMinimum || !l.ExclusiveMaximum || *l.MultipleOf != 0.5 ||
		a.Format != "double" || a.Default != 1.5 || text(a.Enum) != `[1.5,null,"x"]` || a.Resource {
		t.Errorf("a: got %+v with %+v", a, l)
	}
	list := s.Properties["l"]
	if l := list.Items.Limits; *l.MinLength != 1 || *l.MaxLength != 3 || l.Pattern.String() != "^a" {
		t.Errorf("items: got %+v", l)
	}
	if l := list.Limits; *l.MinItems != 1 || *l.MaxItems != 9 || !l.UniqueItems || list.ListType != "map" || !slices.Equal(list.ListKeys, []string{"k"}) {
		t.Errorf("l: got %+v with %+v", list, l)
	}
	if s.Properties["none"].AdditionalProperties.Forbidden != true {
		t.Error("additionalProperties are allowed where there are none")
	}
	if s.Properties["m"].AdditionalProperties.Type != Boolean || s.Properties["any"].AdditionalProperties == nil {
		t.Error("additionalProperties are lost")
	}
	if l := s.Properties["j"].Limits; len(l.AllOf) != 1 || len(l.AnyOf) != 2 || l.OneOf[0].Limits.Not == nil {
		t.Errorf("j: got %+v", l)
	}
	if x := s.Properties["x"]; !x.PreserveUnknown || !x.EmbeddedResource || !x.IntOrString || x.Default != nil || x.Limits != nil {
		t.Errorf("x: got %+v", x)
	}
}

func TestParseErrors(t *testing.T) {
	root := field.NewPath("spec").Child("versions").Index(0).Child("schema", "openAPIV3Schema")
	for _, tt := range []struct{ text, want string }{
		{`{`, `: Invalid value: "": unexpected end of JSON input`},
		{`{} {}`, `: Invalid value: "": invalid character '{' after top-level value`},
		{`[]`, `: Invalid value: "array": must be of type object`},
		{`null`, `: Invalid value: "null": must be of type object`},
		{`{"typo":1}`, `.typo: Invalid value: unknown keyword`},
		{`{"$ref":"#/definitions/x"}`, `.$ref: Forbidden: $ref is not supported`},
		{`{"type":"text"}`, `.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`},
		{`{"type":["string"]}`, `.type: Invalid value: "array": must be of type string`},
		{`{"properties":{"a":{"items":{"x":1}}}}`, `.properties[a].items.x: Invalid value: unknown keyword`},
		{`{"properties":{"a":1}}`, `.properties[a]: Invalid value: "integer": must be of type object`},
		{`{"items":[{}]}`, `.items: Invalid value: "array": must be of type object`},
		{`{"allOf":[{},{"maxLength":"3"}]}`, `.allOf[1].maxLength: Invalid value: "string": must be of type integer`},
		{`{"maxLength":1.5}`, `.maxLength: Invalid value: "number": must be of type integer`},
		{`{"minimum":"3"}`, `.minimum: Invalid value: "string": must be of type number`},
		{`{"required":["a",1]}`, `.required[1]: Invalid value: "integer": must be of type string`},
		{`{"pattern":"("}`, ".pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"},
		{`{"nullable":"yes"}`, `.nullable: Invalid value: "string": must be of type boolean`},
		{`{"x-kubernetes-preserve-unknown-fields":false}`, `.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`},
		{`{"x-kubernetes-list-type":"bag"}`, `.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"`},
		{`{"x-kubernetes-validations":[{"rule":1,"more":2}]}`, `[` + `.x-kubernetes-validations[0].more: Invalid value: unknown keyword, ` +
			`.x-kubernetes-validations[0].rule: Invalid value: "integer": must be of type string]`},
		{`{"externalDocs":{"link":"x"}}`, `.externalDocs.link: Invalid value: unknown keyword`},
		{`{"enum":"x"}`, `.enum: Invalid value: "string": must be of type array`},
	} {
		s, errs := Parse(root, []byte(tt.text))
		got := ""
		if err := errs.ToAggregate(); err != nil {
			got = strings.ReplaceAll(err.Error(), "spec.versions[0].schema.openAPIV3Schema", "")
		}
		if got != tt.want || !s.Resource {
			t.Errorf("Parse(%s):\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
	if _, errs := Parse(nil, []byte(`{"allOf":[`+strings.Repeat(`1,`, 1000)+`1]}`)); len(errs) != field.MaxErrors+1 {
		t.Errorf("got %d errors, want %d", len(errs), field.MaxErrors+1)
	}
}
