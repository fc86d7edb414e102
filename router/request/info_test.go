package request

import (
	"errors"
	"testing"
)

func TestInGroup(t *testing.T) {
	u := &User{Name: "u", Groups: []string{"a", GroupMasters}}
	if !u.InGroup(GroupMasters) || u.InGroup("b") || u.InGroup("u") {
		t.Errorf("InGroup of %v: got %v for %s, %v for b", u.Groups, u.InGroup(GroupMasters), GroupMasters, u.InGroup("b"))
	}
}

// What has been said once stays.
func TestAnnotate(t *testing.T) {
	info := &Info{}
	info.Annotate("a", "1")
	info.Annotate("a", "2")
	info.Annotate("b", "")
	info.Annotate("b", "3")
	if len(info.Annotations) != 2 || info.Annotations["a"] != "1" || info.Annotations["b"] != "" {
		t.Errorf("got %q", info.Annotations)
	}
}

// TestAuthorization: what the audit record is to say of a decision, in the words of Kubernetes.
func TestAuthorization(t *testing.T) {
	oops := errors.New("oops")
	for _, tt := range []struct {
		name     string
		judged   bool
		decision Decision
		reason   string
		err      error
		want     string
	}{
		{"not asked", false, 0, "", nil, ""},
		{"allowed", true, Allow, "why", nil, "authorization.k8s.io/decision=allow authorization.k8s.io/reason=why "},
		{"allowed in spite of an error", true, Allow, "why", oops, "authorization.k8s.io/decision=allow authorization.k8s.io/reason=why "},
		{"no opinion", true, NoOpinion, "", nil, "authorization.k8s.io/decision=forbid authorization.k8s.io/reason= "},
		{"denied", true, Deny, "no", nil, "authorization.k8s.io/decision=forbid authorization.k8s.io/reason=no "},
		{"failed", true, NoOpinion, "no", oops, "authorization.k8s.io/reason=internal error "},
	} {
		info := new(Info)
		if tt.judged {
			info.Judged(tt.decision, tt.reason, tt.err)
		}
		got := ""
		info.Authorization(func(key, value string) { got += key + "=" + value + " " })
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
