package schema

import (
	"testing"
)

func TestListKeys(t *testing.T) {
	ports := parseSchema(t, `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],"items":{"type":"object",
		"properties":{"port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},"name":{"type":"string"}}}}`)
	set := parseSchema(t, `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`)
	plain := parseSchema(t, `{"type":"array","items":{"type":"string"}}`)
	for _, tt := range []struct {
		s       *Schema
		element string
		key     Key
		ok      bool
	}{
		{ports, `{"port":80,"name":"a"}`, `{"port":80,"protocol":"TCP"}`, true},
		{ports, `{"protocol":"UDP","port":80.0}`, `{"port":80,"protocol":"UDP"}`, true},
		{ports, `{"protocol":null,"port":80}`, `{"port":80,"protocol":"TCP"}`, true},
		{ports, `{"name":"a"}`, `{"protocol":"TCP"}`, false},
		{ports, `"x"`, `{}`, false},
		{ports, `{"port":[80]}`, `{"protocol":"TCP"}`, false},
		{set, `"<x>"`, `"<x>"`, true},
		{set, `[1,{"b":2,"a":1e3}]`, `[1,{"a":1000,"b":2}]`, true},
		{plain, `"x"`, "", false},
	} {
		if key, ok := tt.s.Key(parseTree(t, tt.element)); key != tt.key || ok != tt.ok {
			t.Errorf("Key(%s): got %s, %v, want %s, %v", tt.element, key, ok, tt.key, tt.ok)
		}
	}
	list := parseTree(t, `[{"port":1},{"name":"keyless"},{"port":2},{"port":1,"protocol":"TCP","name":"again"}]`).([]any)
	index := ports.Index(list)
	if len(index) != 2 || index[`{"port":1,"protocol":"TCP"}`] != 0 || index[`{"port":2,"protocol":"TCP"}`] != 2 {
		t.Errorf("Index: got %v", index)
	}
	if v, i, ok := ports.Element(list, `{"port":2,"protocol":"TCP"}`); !ok || i != 2 || text(v) != `{"port":2}` {
		t.Errorf("Element: got %v, %d, %v", v, i, ok)
	}
	if _, i, ok := ports.Element(list, `{"port":3,"protocol":"TCP"}`); ok || i != -1 {
		t.Errorf("Element of an unknown key: got %d, %v", i, ok)
	}
}
