package request

import (
	"errors"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

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

// TestSelectors: selectors are parsed from their text unless Selected is set.
func TestSelectors(t *testing.T) {
	oops := errors.New("oops")
	given := &Selected{Fields: meta.FieldRequirements{{Field: "a", Value: "b"}}, FieldsErr: oops}
	for _, tt := range []struct {
		name           string
		a              Attributes
		fields, labels string
		fails          bool
	}{
		{"none", Attributes{}, "", "", false},
		{"text", Attributes{FieldSelector: "spec.nodeName==n", LabelSelector: "a in (b,c)"}, "spec.nodeName=n", "a in (b,c)", false},
		{"bad text", Attributes{FieldSelector: "a", LabelSelector: "a in"}, "", "", true},
		{"given", Attributes{FieldSelector: "x=y", LabelSelector: "x", Selected: given}, "a=b", "", true},
	} {
		fields, err := tt.a.Fields()
		if fields.String() != tt.fields || (err != nil) != tt.fails {
			t.Errorf("%s: Fields: got %s, %v, want %s", tt.name, fields, err, tt.fields)
		}
		labels, err := tt.a.Labels()
		if labels.String() != tt.labels || (err != nil) != (tt.fails && tt.a.Selected == nil) {
			t.Errorf("%s: Labels: got %s, %v, want %s", tt.name, labels, err, tt.labels)
		}
	}
}

// TestAuthorization: the annotations of a decision are in Kubernetes' words.
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
			info.RecordDecision(tt.decision, tt.reason, tt.err)
		}
		got := ""
		info.AuthorizationAnnotations(func(key, value string) { got += key + "=" + value + " " })
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
