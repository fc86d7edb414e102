package meta

import (
	"testing"
	"time"
)

// markedClass is a class that may be marked as the default.
type markedClass struct {
	TypeMeta
	ObjectMeta
	marked bool
}

func (c *markedClass) IsDefault() bool { return c.marked }

func TestDefaultClass(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	class := func(name string, age time.Duration, marked bool) *markedClass {
		return &markedClass{ObjectMeta: ObjectMeta{Name: name, CreationTimestamp: &Time{Time: at.Add(-age)}}, marked: marked}
	}
	for _, tt := range []struct {
		name    string
		classes []*markedClass
		want    string
	}{
		{"none", nil, ""},
		{"none is marked", []*markedClass{class("a", 0, false)}, ""},
		{"one is marked", []*markedClass{class("a", 0, false), class("b", time.Hour, true)}, "b"},
		{"the newest", []*markedClass{class("a", 2*time.Hour, true), class("c", time.Hour, true), class("b", 3*time.Hour, true)}, "c"},
		{"as new", []*markedClass{class("b", 0, true), class("a", 0, true), class("c", 0, true)}, "a"},
	} {
		got := ""
		if c := DefaultClass(tt.classes); c != nil {
			got = c.Name
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
