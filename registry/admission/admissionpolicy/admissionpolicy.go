// Package admissionpolicy has the admission plugins MutatingAdmissionPolicy and
// ValidatingAdmissionPolicy: they change or refuse objects by expressions in policies.
//
// Words. A policy has expressions, and says which requests it is for. It has no effect without a
// binding, which may restrict it to fewer requests and names its params: objects that the
// expressions can read. A hook is a policy with its bindings. A decision is what one validation of
// a policy says about a request.
//
// Laws:
//   - Decisions, messages, reasons, annotations and mutations are those of kube-apiserver 1.36.
//     Policies and bindings run in the order of their names, where Kubernetes has no order.
//   - A policy is compiled when the first request matches it, and only once, however often bindings
//     change. A policy that does not compile fails as its failurePolicy says.
//   - The plugins keep nothing of a request, and change nothing but its object.
//   - A request that no rule names costs an atomic load and a look-up in an index, and allocates
//     nothing.
//
// One case differs from Kubernetes. If a policy sees the object in another version than that of the
// request, a mutation always fails in Kubernetes, because nothing converts the object back. Here it
// is converted back.
//
// The plugins may be called concurrently.
//
// Not here: which requests rules match (matching), the evaluation of expressions
// (scheme/cel/policies), merging (scheme/apply), the validation of policies
// (registry/admissionregistration), their metrics (server/plugins).
//
// Read: admissionpolicy.go, book.go, files.go, params.go, facts.go; validating.go, decision.go;
// mutating.go, mutation.go, reinvoke.go; story.go.
package admissionpolicy

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// World has what the plugins need to know beside the request.
type World struct {
	// Matching finds the namespaces and equivalent resources that the rules and selectors of
	// policies and bindings are matched against.
	Matching *matching.World
	// Namespace reads the namespace of an object. The result is read-only. The error is a
	// *meta.StatusError.
	Namespace func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Params finds the objects of a kind that policies name as paramKind; nil if no resource has
	// the kind.
	Params func(kind meta.GroupVersionKind) *Params
	// Authorizer answers the checks that expressions make with the variable authorizer.
	Authorizer request.Authorizer
	// Observe is told of evaluated expressions, for metrics. It may be nil.
	Observe Observer
}

// Params reads the objects of one kind, which policies name as paramKind. Objects are in the
// version of that kind, with apiVersion and kind, and read-only. Errors are *meta.StatusError.
type Params struct {
	// Namespaced says that the objects are in namespaces.
	Namespaced bool
	// Get reads an object. The error has code 404 if there is none.
	Get func(ctx context.Context, namespace, name string) (meta.Typed, error)
	// List returns the objects whose labels match, sorted by name: those in a namespace, or all if
	// namespace is "".
	List func(ctx context.Context, namespace string, which meta.LabelRequirements) ([]meta.Typed, error)
}

// Observer is told what the plugins do. Implementations are safe for concurrent use.
type Observer interface {
	// Checked is called for a validation or mutation, and for an audit annotation that failed.
	Checked(Check)
	// Conditions is called when the match conditions of a policy excluded a request or failed.
	// failures is the number of conditions that failed.
	Conditions(policy string, op admission.Operation, took time.Duration, failures int)
}

// Check is the evaluation of one expression of a policy.
type Check struct {
	Policy, Binding string
	// Mutates is set for the expressions of a mutating policy.
	Mutates bool
	// Action is what the binding did about the result: Allow or one of its validation actions. It
	// is empty for a mutating policy.
	Action Action
	// Failure says why the expression has failed; NoFailure if it has not.
	Failure Failure
	// Took is the time of the evaluation.
	Took time.Duration
}

// Action is what a validating policy does about a request, as metrics name it.
type Action string

// The actions. ActionAllow stands for an expression that failed, of a policy that ignores failures.
const (
	ActionAllow Action = "allow"
	ActionDeny  Action = "deny"
	ActionAudit Action = "audit"
	ActionWarn  Action = "warn"
)

// Failure says why an expression has failed, as metrics name it.
type Failure string

// The failures. FailureInvalid is also the value for a validation that is false.
const (
	NoFailure      Failure = "no_error"
	FailureCompile Failure = "compile_error"
	FailureBudget  Failure = "out_of_budget"
	FailureInvalid Failure = "invalid_error"
)

// ignores reports whether failures of a policy are ignored.
func ignores(p *v1.FailurePolicyType) bool { return p != nil && *p == v1.Ignore }
