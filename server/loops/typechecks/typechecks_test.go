package typechecks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/typechecks"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// policies returns the client of policies.
func policies(w *looptest.Fake) client.Resource[*v1.ValidatingAdmissionPolicy] {
	return client.For[*v1.ValidatingAdmissionPolicy](w.API(), v1.GroupVersion.WithResource("validatingadmissionpolicies"))
}

// policy returns a policy with expressions, whose rule names resources of a group version such as
// "apps/v1/deployments".
func policy(name, resource string, expressions ...string) *v1.ValidatingAdmissionPolicy {
	part := strings.Split(resource, "/")
	p := &v1.ValidatingAdmissionPolicy{ObjectMeta: meta.ObjectMeta{Name: name}}
	p.Spec.MatchConstraints = &v1.MatchResources{ResourceRules: []v1.NamedRuleWithOperations{{RuleWithOperations: v1.RuleWithOperations{
		Operations: []v1.OperationType{v1.OperationAll},
		Rule:       v1.Rule{APIGroups: []string{part[0]}, APIVersions: []string{part[1]}, Resources: strings.Split(part[2], ",")},
	}}}}
	for _, e := range expressions {
		p.Spec.Validations = append(p.Spec.Validations, v1.Validation{Expression: e})
	}
	return p
}

// withLoop runs f beside the loop.
func withLoop(t *testing.T, f func(t *testing.T, w *looptest.Fake)) {
	t.Helper()
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.Run(func(ctx context.Context, _ *controller.Informers) { (&typechecks.Loop{Client: w.API()}).Run(ctx) })
		f(t, w)
	})
}

// checked waits until the current generation of a policy has been checked, and returns the
// warnings.
func checked(w *looptest.Fake, name string) []v1.ExpressionWarning {
	w.T.Helper()
	w.Sleep(time.Second)
	p, err := policies(w).Get(w.T.Context(), name, meta.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	if p.Status.ObservedGeneration != p.Generation {
		w.T.Fatalf("%s, generation %d: got the status %+v", name, p.Generation, p.Status)
	}
	if p.Status.TypeChecking == nil {
		return nil // apply removes the status with the last warning
	}
	return p.Status.TypeChecking.ExpressionWarnings
}

// missing returns the warning about a field that a kind does not have.
func missing(kind, field, expression string, column int) string {
	return fmt.Sprintf("%s: ERROR: <input>:1:%d: undefined field '%s'\n | %s\n | %s^\n", kind, column+1, field, expression,
		strings.Repeat(".", column))
}

// TestWarnings checks the warnings for policies about built-in kinds.
func TestWarnings(t *testing.T) {
	withLoop(t, func(t *testing.T, w *looptest.Fake) {
		for i, tt := range []struct {
			resource, expression string
			change               func(p *v1.ValidatingAdmissionPolicy)
			want                 string // the warning; "" for none
		}{
			{"apps/v1/deployments", "object.spec.replicas <= 3", nil, ""},
			{"apps/v1/deployments", "object.spec.copies <= 3", nil, missing("apps/v1, Kind=Deployment", "copies", "object.spec.copies <= 3", 11)},
			{"apps/v1/deployments", "oldObject == null || oldObject.metadata.nam == 'a'", nil,
				missing("apps/v1, Kind=Deployment", "nam", "oldObject == null || oldObject.metadata.nam == 'a'", 39)},
			{"apps/v1/deployments,statefulsets", "object.spec.serviceName == ''", nil,
				missing("apps/v1, Kind=Deployment", "serviceName", "object.spec.serviceName == ''", 11)},
			{"apps/v1/*", "object.spec.copies <= 3", nil, ""},
			{"apps/*/deployments", "object.spec.copies <= 3", nil, ""},
			{"apps/v1/deployments/scale", "object.spec.copies <= 3", nil, missing("apps/v1, Kind=Deployment", "copies", "object.spec.copies <= 3", 11)},
			{"apps/v1/none", "object.spec.copies <= 3", nil, ""},
			{"/v1/pods", "object.spec.containers.all(c, c.image.startsWith('a') && c.ports.all(p, p.hostPort == 0))", nil, ""},
			{"/v1/pods", "object.spec.restartPolicy == 1", nil, "/v1, Kind=Pod: ERROR: <input>:1:27: found no matching overload for '_==_' applied to '(string, int)'\n" +
				" | object.spec.restartPolicy == 1\n | ..........................^\n"},
			{"/v1/services", "object.spec.ports.all(p, p.targetPort == 'http' || p.targetPort == 80)", nil, ""},  // the field may have both types
			{"/v1/events", "object.note == ''", nil, missing("/v1, Kind=Event", "note", "object.note == ''", 6)}, // the rule names the group ""
			{"/v1/configmaps", "variables.a > 1 && variables.b", func(p *v1.ValidatingAdmissionPolicy) {
				p.Spec.Variables = []v1.Variable{{Name: "a", Expression: "size(object.data)"}, {Name: "b", Expression: "object.dat"}}
			}, ""},
			{"/v1/configmaps", "params.data.a == '' && params.x == ''", func(p *v1.ValidatingAdmissionPolicy) {
				p.Spec.ParamKind = &v1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
			}, missing("/v1, Kind=ConfigMap", "x", "params.data.a == '' && params.x == ''", 29)},
			{"/v1/configmaps", "params.anything == 1", func(p *v1.ValidatingAdmissionPolicy) {
				p.Spec.ParamKind = &v1.ParamKind{APIVersion: "e.io/v1", Kind: "Unknown"}
			}, ""},
			{"/v1/configmaps", "authorizer.path('/').check('get').allowed() && request.dryRun && namespaceObject.metadata.name == ''", nil, ""},
		} {
			name := fmt.Sprint("p", i)
			p := policy(name, tt.resource, tt.expression)
			if strings.Count(tt.resource, "/") > 2 {
				p.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"deployments/scale", "Deployment"}
			}
			if tt.change != nil {
				tt.change(p)
			}
			looptest.Make(w, policies(w), p, nil)
			found := checked(w, name)
			var got string
			if len(found) > 0 {
				got = found[0].Warning
			}
			if got != tt.want || len(found) > 1 || len(found) == 1 && found[0].FieldRef != "spec.validations[0].expression" {
				t.Errorf("%s, %s: got %+v\nwant %q", tt.resource, tt.expression, found, tt.want)
			}
		}
	})
}

// TestEveryGeneration changes a policy: each generation is checked once, and nothing else is
// written.
func TestEveryGeneration(t *testing.T) {
	withLoop(t, func(t *testing.T, w *looptest.Fake) {
		p := policy("p", "apps/v1/deployments", "object.spec.replicas <= 3", "object.spec.copies <= 3")
		p.Spec.Validations[0].MessageExpression = "string(object.spec.other)"
		looptest.Make(w, policies(w), p, nil)
		var fields []string
		for _, f := range checked(w, "p") {
			fields = append(fields, f.FieldRef)
		}
		if got := strings.Join(fields, " "); got != "spec.validations[0].messageExpression spec.validations[1].expression" {
			t.Errorf("got warnings about %s", got)
		}
		patch := func(patch string) *v1.ValidatingAdmissionPolicy {
			t.Helper()
			p, err := policies(w).Patch(t.Context(), "p", client.MergePatch, []byte(patch), meta.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		patch(`{"spec":{"validations":[{"expression":"object.spec.replicas <= 3"}]}}`)
		if found := checked(w, "p"); len(found) > 0 {
			t.Errorf("got %+v of a policy that is right now", found)
		}
		labelled := patch(`{"metadata":{"labels":{"a":"b"}}}`)
		w.Sleep(time.Minute)
		now, err := policies(w).Get(t.Context(), "p", meta.GetOptions{})
		if err != nil || now.ResourceVersion != labelled.ResourceVersion {
			t.Errorf("got %+v, %v, want nothing written for a label", now, err)
		}
		if !scheme.Equal(&now.Status, &labelled.Status) || !strings.Contains(fmt.Sprint(now.ManagedFields), "validatingadmissionpolicy-status") {
			t.Errorf("got %+v", now)
		}
	})
}

// TestLongWarnings: if the warnings of a policy would be too long to be stored, only the first
// expressions are checked.
func TestLongWarnings(t *testing.T) {
	withLoop(t, func(t *testing.T, w *looptest.Fake) {
		expressions := slices.Repeat([]string{"'" + strings.Repeat("x", 400) + "' == object.a"}, 400)
		looptest.Make(w, policies(w), policy("p", "apps/v1/deployments,statefulsets", expressions...), nil)
		found, size := checked(w, "p"), 0
		for _, f := range found {
			size += len(f.Warning)
		}
		if len(found) < 100 || len(found) > 300 || size < 250<<10 || size > 260<<10 {
			t.Errorf("got %d warnings, %d bytes", len(found), size)
		}
	})
}
