// Package webhooks has the plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook. They
// ask other programs, the webhooks of operators, whether a write may pass, and let mutating
// webhooks change its object.
//
// Words. A configuration is an object with a list of webhooks. A hook is one of these webhooks,
// compiled. A review is the AdmissionReview that a hook gets, and its answer is the one that it
// sends back. A hook fails if it gives no proper answer; its failure policy says whether the write
// then passes. A view is the object and the old object of a write in the version that a hook sees.
//
// Laws:
//   - Which hooks are called in which order, the reviews, the effects of answers and all error
//     texts are those of kube-apiserver 1.36. Mutating hooks run one after the other, by the names
//     of their configurations and by their places in them. Validating hooks run at the same time.
//   - A hook is not trusted. Its answer is bounded in size and comes in time or not at all, its
//     patch is bounded in work, and no answer makes this package panic.
//   - A write that no hook wants allocates nothing here.
//   - Hooks with equal client configurations share a client. Its connections close when no
//     configuration has that client configuration any longer.
//
// A Compiler turns configurations into Hooks, which never change. registry.Derived keeps the Hooks
// of the current configurations, so that a configuration applies to every write that begins after
// the answer to the write of the configuration. The plugins get them from a Source, and those of
// configurations in files by WithFiles. All functions may be called concurrently.
//
// Not here: rules and selectors (matching), the language of match conditions (scheme/cel/policies),
// connections (router/callout), the metrics that an Observer feeds (server/plugins).
//
// Read: webhooks.go, compile.go, files.go, match.go, review.go, answer.go, call.go, then mutate.go
// with patched.go, and validate.go; story.go; configuration.go for the configuration of the
// plugins.
package webhooks

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel"
)

// Source returns the Hooks of all configurations of one kind. They include every configuration
// whose write this server has answered.
type Source func(ctx context.Context) (*Hooks, error)

// Means are the parts of the server that both plugins use.
type Means struct {
	// World finds the namespaces and equivalent resources that the rules and selectors of hooks are
	// matched against.
	World *matching.World
	// Authorizer returns the authorizer that match conditions ask about the rights of the user who
	// sent a request. nil: a condition that uses the variable authorizer fails.
	Authorizer func(ctx context.Context, user *request.User) cel.Authorizer
	// Observer is told of calls, for metrics.
	Observer Observer
}

// Observer has functions that are told what hooks do. They may be nil, and must be safe for
// concurrent use.
type Observer struct {
	// Called is told of each call of a hook.
	Called func(Call)
	// Evaluated is told of each evaluation of the match conditions of a hook.
	Evaluated func(Evaluation)
}

// Outcome says what a call of a hook meant for the write.
type Outcome uint8

// The outcomes.
const (
	Passed      Outcome = iota // the hook lets the write pass
	Refused                    // the hook refuses the write
	FailedOpen                 // the hook failed, and the write passes
	FailedClose                // the hook failed, and the write is refused
	Broken                     // the server could not use the answer, so the write is refused
)

// Call describes one call of a hook.
type Call struct {
	Webhook   string // its name
	Validates bool   // or else it mutates
	Operation admission.Operation
	Took      time.Duration
	Outcome   Outcome
	Code      int   // an HTTP status: 200, that of the refusal, or that of the failure; 0 for Broken
	Canceled  bool  // the hook failed because the client had gone
	Err       error // why the hook failed, or what was wrong with the answer
}

// Evaluation describes one evaluation of the match conditions of a hook.
type Evaluation struct {
	Webhook   string // its name
	Validates bool   // or else it mutates
	Operation admission.Operation
	Took      time.Duration
	Failures  int  // conditions that had an error
	Excluded  bool // the hook is not called
}
