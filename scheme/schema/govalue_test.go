package schema

import (
	"testing"
)

func TestGoKeys(t *testing.T) {
	ports := parseSchema(t, `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],"items":{"type":"object",
		"properties":{"port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},"name":{"type":"string"}}}}`)
	set := parseSchema(t, `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`)
	plain := parseSchema(t, `{"type":"array","items":{"type":"string"}}`)
	for _, tt := range []struct {
		s       *Schema
		element string
		key     string
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
		if key, ok := tt.s.goKey(parseTree(t, tt.element)); key != tt.key || ok != tt.ok {
			t.Errorf("goKey(%s): got %s, %v, want %s, %v", tt.element, key, ok, tt.key, tt.ok)
		}
	}
}
