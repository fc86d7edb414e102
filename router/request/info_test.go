package request

import "testing"

func TestInGroup(t *testing.T) {
	u := &User{Name: "u", Groups: []string{"a", GroupMasters}}
	if !u.InGroup(GroupMasters) || u.InGroup("b") || u.InGroup("u") {
		t.Errorf("InGroup of %v: got %v for %s, %v for b", u.Groups, u.InGroup(GroupMasters), GroupMasters, u.InGroup("b"))
	}
}

// TestAnnotate: the first value of a key stays, for each of the two sorts of annotations.
func TestAnnotate(t *testing.T) {
	info := &Info{}
	info.Annotate("a", "1")
	info.Annotate("a", "2")
	info.Annotate("b", "")
	info.Annotate("b", "3")
	info.AnnotateRequest("a", "4")
	info.AnnotateRequest("a", "5")
	if len(info.Annotations) != 2 || info.Annotations["a"] != "1" || info.Annotations["b"] != "" {
		t.Errorf("got %q", info.Annotations)
	}
	if got := info.RequestAnnotations; len(got) != 1 || got["a"] != "4" {
		t.Errorf("of level Request: got %q", got)
	}
}
