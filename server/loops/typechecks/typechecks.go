// Package typechecks has the loop that checks the types in the expressions of
// ValidatingAdmissionPolicies and writes what it finds into their status. In Kubernetes, the
// validatingadmissionpolicy-status-controller of kube-controller-manager does the same.
//
// Words. A policy is a ValidatingAdmissionPolicy. Its expressions are compiled without types when
// it is written, because a rule may name any resource. This package compiles them again for each
// kind that the rules name, with the types that OpenAPI gives to the fields of the kind. A warning
// names an expression and says what would fail for objects of which kind.
//
// Laws: a warning does not change what a policy does. Each generation of a policy is checked once,
// with the kinds that are served at that time; a kind that comes later is not noticed, as in
// Kubernetes. The texts are Kubernetes', except for the numbers in names of types, which are random
// there.
//
// The server runs one Loop. It rests while a kube-controller-manager works on the same store. Check
// may be called concurrently.
//
// Not here: whether an expression compiles at all (registry/admissionregistration), and what a
// policy does (registry/admission).
//
// Read: typechecks.go, check.go, kinds.go, schemas.go.
package typechecks

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// Loop keeps status.typeChecking and status.observedGeneration of policies.
type Loop struct {
	Client *client.Client
	Log    *zap.Logger // gets a line for each failure; nil logs nothing
}

// manager owns the fields that the loop writes. It is the manager of Kubernetes' controller, so
// that the fields have one owner whoever writes them.
const manager = "validatingadmissionpolicy-status"

// Run checks policies until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	controller.Loop{
		Name:   "validatingadmissionpolicy-status",
		Source: controller.Watch(l.policies(), meta.ListOptions{}), Reconcile: l.reconcile, Log: l.Log,
	}.Run(ctx)
}

func (l *Loop) policies() client.Resource[*admissionregistrationv1.ValidatingAdmissionPolicy] {
	return client.For[*admissionregistrationv1.ValidatingAdmissionPolicy](
		l.Client, admissionregistrationv1.GroupVersion.WithResource("validatingadmissionpolicies"))
}

// reconcile checks a policy whose present generation has not been checked yet.
func (l *Loop) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	policy, err := l.policies().Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || policy.Generation <= policy.Status.ObservedGeneration {
		return 0, controller.IgnoreNotFound(err)
	}
	kinds, err := NewServed(ctx, l.Client)
	if err != nil {
		return 0, err
	}
	warnings := Check(ctx, policy, kinds)
	if err := cmp.Or(kinds.err, ctx.Err()); err != nil {
		return 0, err
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": admissionregistrationv1.GroupVersion.String(), "kind": "ValidatingAdmissionPolicy",
		"metadata": map[string]any{"name": policy.Name, "uid": policy.UID},
		"status": map[string]any{
			"observedGeneration": policy.Generation,
			"typeChecking":       admissionregistrationv1.TypeChecking{ExpressionWarnings: warnings},
		},
	})
	if err != nil {
		return 0, err
	}
	force := true
	_, err = l.policies().Sub("status").Patch(ctx, policy.Name, client.ApplyPatch, body,
		meta.PatchOptions{FieldManager: manager, Force: &force})
	return 0, controller.IgnoreLostRace(controller.IgnoreNotFound(err))
}
