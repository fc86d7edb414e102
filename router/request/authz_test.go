package request

import "testing"

func TestAttributesFrom(t *testing.T) {
	info := &Info{User: &User{Name: "u"}, Verb: "list", IsResource: true, APIGroup: "g", APIVersion: "v", Namespace: "n",
		Resource: "r", Subresource: "s", Name: "x", Path: "/p", FieldSelector: "f", LabelSelector: "l"}
	want := Attributes{info.User, "list", true, "g", "v", "n", "r", "s", "x", "/p", "f", "l"}
	var got Attributes
	if got.From(info); got != want {
		t.Errorf("From: got %+v, want %+v", got, want)
	}
}

func TestDecisions(t *testing.T) {
	var zero Decision
	if zero != Deny {
		t.Error("the zero Decision must be Deny")
	}
	for d, want := range map[Decision]string{Deny: "deny", Allow: "allow", NoOpinion: "no opinion", 9: "unknown"} {
		if got := d.String(); got != want {
			t.Errorf("String of %d: got %q, want %q", d, got, want)
		}
	}
}
