package policies_test

import (
	"testing"

	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
)

// TestMatch: a condition that is false decides, then errors by the failure policy.
func TestMatch(t *testing.T) {
	const (
		yes, no  = "object.metadata.name == 'web'", "object.metadata.name == ''"
		broken   = "object.none == ''"
		another  = "object.other == ''"
		wrong    = "expression 'object.none == ''' resulted in error: no such key: none"
		wrongToo = "expression 'object.other == ''' resulted in error: no such key: other"
	)
	for _, tt := range []struct {
		name       string
		conditions []string
		ignore     bool
		want       policies.Match // Err is not compared
		err        string
	}{
		{"none", nil, false, policies.Match{Matched: true}, ""},
		{"all true", []string{yes, yes}, false, policies.Match{Matched: true}, ""},
		{"one false", []string{yes, no, no}, false, policies.Match{Failed: "1"}, ""},
		{"false after an error", []string{broken, no}, false, policies.Match{Failed: "1", Failures: 1}, ""},
		{"an error", []string{yes, broken}, false, policies.Match{Failures: 1}, wrong},
		{"errors", []string{broken, another, broken, yes, yes}, false, policies.Match{Failures: 3}, "[" + wrong + ", " + wrongToo + "]"},
		{"an ignored error", []string{yes, broken}, true, policies.Match{Failures: 1}, ""},
		{"no bool", []string{"1"}, false, policies.Match{Failures: 1}, "compilation error: must evaluate to bool but got int"},
		{"no namespace", []string{"namespaceObject == null"}, false, policies.Match{Matched: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var conditions []v1.MatchCondition
			for i, text := range tt.conditions {
				conditions = append(conditions, v1.MatchCondition{Name: string(rune('0' + i)), Expression: text})
			}
			in := inputs()
			in.Namespace = &corev1.Namespace{}
			got := policies.New(t.Context()).Conditions(conditions, policies.Uses{Authorizer: true}, tt.ignore).Match(t.Context(), in)
			checkText(t, got.Err, tt.err)
			if got.Err = nil; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if m := (*policies.Conditions)(nil).Match(t.Context(), inputs()); !m.Matched {
		t.Error("no conditions do not match")
	}
}
