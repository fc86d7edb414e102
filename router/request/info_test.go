package request

import (
	"maps"
	"testing"
)

func TestInGroup(t *testing.T) {
	u := &User{Name: "u", Groups: []string{"a", GroupMasters}}
	if !u.InGroup(GroupMasters) || u.InGroup("b") || u.InGroup("u") {
		t.Errorf("InGroup of %v: got %v for %s, %v for b", u.Groups, u.InGroup(GroupMasters), GroupMasters, u.InGroup("b"))
	}
}

// TestAnnotate adds annotations of both sorts. The first one of a key stays.
func TestAnnotate(t *testing.T) {
	info := &Info{}
	info.Annotate("a", "1")
	info.Annotate("a", "2")
	info.Annotate("b", "")
	info.AnnotateRequest("b", "3")
	info.AnnotateRequest("c", "4")
	info.Annotate("c", "5")
	want := map[string]Annotation{"a": {Text: "1"}, "b": {}, "c": {Text: "4", Body: true}}
	if !maps.Equal(info.Annotations, want) {
		t.Errorf("got %+v, want %+v", info.Annotations, want)
	}
}
