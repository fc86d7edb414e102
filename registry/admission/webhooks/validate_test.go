package webhooks_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// equivalentTo returns the Equivalents of a resource that is also served as another version.
func equivalentTo(typ kind.Kind, resource meta.GroupVersionResource, as meta.GroupVersionKind) matching.Equivalents {
	return func(of meta.GroupVersionResource, _ string) []matching.Target {
		if of != resource {
			return nil
		}
		other := as.GroupVersion().WithResource(resource.Resource)
		return []matching.Target{{Resource: other, Kind: as, Type: typ}}
	}
}

// TestTogether: validating hooks are called in parallel. The error is that of the first hook in
// order. The warnings and annotations of all hooks are kept.
func TestTogether(t *testing.T) {
	k := newKit(t)
	meet := make(chan struct{})
	k.hooks["a"] = func(w http.ResponseWriter, r *http.Request, q *asked) {
		meet <- struct{}{}
		says(`"allowed":false,"status":{"message":"first"},"warnings":["a"]`)(w, r, q)
	}
	k.hooks["b"] = func(w http.ResponseWriter, r *http.Request, q *asked) {
		<-meet
		says(`"allowed":false,"status":{"message":"second"},"warnings":["b"],"auditAnnotations":{"k":"v"}`)(w, r, q)
	}
	k.configureChecks("c", k.validates("a"), k.validates("b"), k.validates("c"))
	err := k.chain.Validate(t.Context(), k.write(admission.Delete, nil, configMap()))
	if err == nil || err.Error() != `admission webhook "a.example.com" denied the request: first` {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(k.warnings, " "); got != "a b" || !maps.Equal(k.notes, map[string]string{"b.example.com/k": "v"}) {
		t.Errorf("got %s, %v", got, k.notes)
	}
	if len(k.calls) != 3 || k.calls[1].Outcome != webhooks.Refused || k.calls[1].Code != 400 || k.calls[2].Outcome != webhooks.Passed {
		t.Errorf("calls: got %+v", k.calls)
	}
}

// TestRefusals checks the errors that clients get when a hook refuses.
func TestRefusals(t *testing.T) {
	const denied = `admission webhook "h.example.com" denied the request`
	for _, tt := range []struct {
		response string
		want     meta.Status
	}{
		{`"allowed":false`, meta.Status{Status: "Failure", Code: 400, Message: denied + " without explanation"}},
		{`"allowed":false,"status":{"code":200,"status":"Success","reason":"Why"}`,
			meta.Status{Status: "Failure", Code: 400, Reason: "Why", Message: denied + ": Why"}},
		{`"allowed":false,"status":{"code":418,"status":"Odd","message":"no","reason":"Why","details":{"name":"x"}}`,
			meta.Status{Status: "Odd", Code: 418, Reason: "Why", Message: denied + ": no", Details: &meta.StatusDetails{Name: "x"}}},
		{`"allowed":false,"status":{"code":1000}`, meta.Status{Status: "Failure", Code: 500, Message: denied + " without explanation"}},
		{`"allowed":false,"patch":"WyJ4Il0=","patchType":"JSONPatch"`, meta.Status{Status: "Failure", Code: 400, Message: denied + " without explanation"}},
	} {
		k := newKit(t)
		k.hooks["h"] = says(tt.response)
		k.both("h", ignore) // a refusal is not a failure: the failure policy does not apply
		for name, run := range k.runs() {
			if strings.Contains(tt.response, "patch") && name == "validating" {
				continue // a validating hook may not patch
			}
			err := run(t.Context(), k.write(admission.Create, configMap(), nil))
			var refused *meta.StatusError
			if !errors.As(err, &refused) || refused.Status.Message != tt.want.Message || refused.Status.Code != tt.want.Code ||
				refused.Status.Reason != tt.want.Reason || refused.Status.Status != tt.want.Status ||
				(refused.Status.Details == nil) != (tt.want.Details == nil) {
				t.Errorf("%s, %s: got %#v, want %#v", name, tt.response, err, tt.want)
			}
		}
	}
}

// runs has the two phases of the kit's chain, by name.
func (k *kit) runs() map[string]func(context.Context, *admission.Attributes) error {
	return map[string]func(context.Context, *admission.Attributes) error{
		"mutating": k.chain.Mutate, "validating": k.chain.Validate,
	}
}

// TestConditions: a hook is called only if its match conditions are true.
func TestConditions(t *testing.T) {
	condition := func(texts ...string) func(*v1.MutatingWebhook) {
		return func(w *v1.MutatingWebhook) {
			for _, text := range texts {
				name, expression, _ := strings.Cut(text, ": ")
				w.MatchConditions = append(w.MatchConditions, v1.MatchCondition{Name: name, Expression: expression})
			}
		}
	}
	const broken = `configmaps "a" is forbidden: `
	for _, tt := range []struct {
		name       string
		conditions []string
		options    func(*v1.MutatingWebhook)
		called     bool
		want       string
	}{
		{"true", []string{"a: object.data.x == '1'", "b: request.userInfo.username == 'alice' && request.kind.kind == 'ConfigMap'"}, nil, true, ""},
		{"true of the options", []string{"a: request.options.kind == 'CreateOptions' && request.namespace == 'team'"}, nil, true, ""},
		{"false", []string{"a: object.data.x == '2'"}, nil, false, ""},
		{"false beside an error", []string{"a: object.data.y == '2'", "b: oldObject != null"}, nil, false, ""},
		{"an error", []string{"a: object.data.y == '2'"}, nil, false, broken + "expression 'object.data.y == '2'' resulted in error: no such key: y"},
		{"an error that is ignored", []string{"a: object.data.y == '2'"}, ignore, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t)
			options := []func(*v1.MutatingWebhook){condition(tt.conditions...)}
			if tt.options != nil {
				options = append(options, tt.options)
			}
			k.both("h", options...)
			for name, run := range k.runs() {
				k.evaluated = nil
				a := k.write(admission.Create, configMap("x", "1"), nil)
				a.Options = &meta.CreateOptions{}
				err := run(t.Context(), a)
				if (err != nil) != (tt.want != "") || err != nil && err.Error() != tt.want {
					t.Errorf("%s: got %v, want %s", name, err, tt.want)
				}
				if called := k.called() == "h"; called != tt.called {
					t.Errorf("%s: called: %t", name, called)
				}
				if len(k.evaluated) != 1 || k.evaluated[0].Excluded != (!tt.called && tt.want == "") || k.evaluated[0].Validates != (name == "validating") {
					t.Errorf("%s: evaluated %+v", name, k.evaluated)
				}
			}
		})
	}
}

// TestExempt: no hook is called for the configurations of webhooks.
func TestExempt(t *testing.T) {
	k := newKit(t)
	k.both("h")
	for name, run := range k.runs() {
		a := k.write(admission.Create, configMap(), nil)
		a.Kind = meta.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
		if err := run(t.Context(), a); err != nil || k.called() != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNobodyWants: a write that no hook matches allocates nothing.
func TestNobodyWants(t *testing.T) {
	k := newKit(t)
	apps := func(w *v1.MutatingWebhook) {
		w.Rules = []v1.RuleWithOperations{{Operations: []v1.OperationType{"*"}, Rule: v1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"*"}, Resources: []string{"*"}}}}
	}
	for range 200 {
		k.configure("m", k.mutates("h", apps))
		k.configureChecks("v", k.validates("h", apps))
	}
	mutating, validating := k.compilers[0].Mutating(k.mutating), k.compilers[1].Validating(k.validating)
	chain := k.fixed(mutating, validating)
	a := k.write(admission.Create, configMap(), nil)
	for _, what := range []string{"without files", "with files"} {
		if allocs := testing.AllocsPerRun(100, func() {
			if chain.Mutate(t.Context(), a) != nil || chain.Validate(t.Context(), a) != nil {
				t.Fatal("refused")
			}
		}); allocs > 0 {
			t.Errorf("%s: got %v allocations", what, allocs)
		}
		chain[0].(*webhooks.Mutating).WithFiles(func() *webhooks.Hooks { return mutating })
		chain[1].(*webhooks.Validating).WithFiles(func() *webhooks.Hooks { return validating })
	}
}
