package webhooks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/callout"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
)

// This file compiles configurations into Hooks. registry.Derived calls Mutating or Validating
// whenever a configuration has changed, and the plugins get the result from their Source. What is
// expensive to make (clients, matchers, match conditions) is made once for each configuration and
// reused until that configuration changes.

// Hooks are the webhooks of all configurations of one kind, in the order in which mutating hooks
// run. They never change.
type Hooks struct {
	list  []*hook
	index *matching.Index[indexedHook]
}

// newHooks returns Hooks of a list, which it keeps.
func newHooks(list []*hook) *Hooks {
	indexed := make([]indexedHook, len(list))
	for i, h := range list {
		indexed[i] = indexedHook{h, i}
	}
	return &Hooks{list, matching.NewIndex(indexed, func(h indexedHook) *matching.Matcher { return h.matcher })}
}

// indexedHook is a hook with its index among all hooks.
type indexedHook struct {
	*hook
	index int
}

// hook is one webhook of a configuration. It never changes.
type hook struct {
	name, configuration string
	id                  string // unique among the Hooks
	matcher             *matching.Matcher
	conditions          func() *policies.Conditions // compiles them when it is called first; nil: there are none
	client              *callout.Client
	clientErr           error         // why there is no client
	review              string        // the version of AdmissionReview; "": the hook lists none that the server knows
	timeout             time.Duration // 0: only the client's timeout applies
	failsOpen           bool
	sideEffects         *v1.SideEffectClass
	again               bool // reinvocationPolicy is IfNeeded: it may run in the second run of the mutators
}

// spec has the fields of a webhook, validating or mutating, as its configuration says them.
type spec struct {
	name         string
	client       *v1.WebhookClientConfig
	criteria     matching.Criteria
	failure      *v1.FailurePolicyType
	sideEffects  *v1.SideEffectClass
	timeout      *int32
	reviews      []string
	conditions   []v1.MatchCondition
	reinvocation *v1.ReinvocationPolicyType
}

// Compiler makes Hooks of configurations. It reuses the hooks of configurations that have not
// changed. One Compiler serves one kind of configurations.
type Compiler struct {
	clients *callout.Pool
	prefix  string // of the ids of hooks

	mu       sync.Mutex
	compiled map[any]*compiled // by the pointer to the configuration
}

// compiled has the hooks of one configuration, and the functions that release their clients.
type compiled struct {
	hooks   []*hook
	release []func()
}

// NewCompiler returns a Compiler that opens the clients of hooks in a pool. The owner of the pool
// closes it after the last write.
func NewCompiler(clients *callout.Pool) *Compiler {
	return &Compiler{clients: clients, compiled: map[any]*compiled{}}
}

// NewFileCompiler returns a Compiler for configurations in files. Its hooks differ from those of
// the API's configurations with the same names.
func NewFileCompiler(clients *callout.Pool) *Compiler {
	return &Compiler{clients: clients, prefix: "manifest/", compiled: map[any]*compiled{}}
}

// PoolConfig returns the configuration of the Pool that NewCompiler needs. resolve finds the
// address of a service. flawed is told of flaws in the certificates of hooks; it may be nil.
func PoolConfig(resolve callout.Resolver, flawed func(callout.Flaw)) callout.Config {
	return callout.Config{
		Name: "admission", Target: callout.Target{Flawed: flawed}, Resolve: resolve,
		MaxAnswer: maxAnswer, TellTimeout: true, Spread: true,
		Retry: callout.Retry{Tries: maxTries, Asked: true},
	}
}

const (
	// maxAnswer is the largest answer of a hook, in bytes. It has room for a patch, in base64, that
	// replaces the largest object.
	maxAnswer = 6 << 20
	// maxTries is how often a hook is called if it asks to be called again (Retry-After).
	maxTries = 11
)

// Mutating compiles all configurations of mutating webhooks. all must be sorted by name. A
// configuration with the same pointer as in an earlier call must not have changed.
func (c *Compiler) Mutating(all []*v1.MutatingWebhookConfiguration) *Hooks {
	return compile(c, all, func(cfg *v1.MutatingWebhookConfiguration) (string, []spec) {
		specs := make([]spec, len(cfg.Webhooks))
		for i := range cfg.Webhooks {
			w := &cfg.Webhooks[i]
			specs[i] = spec{
				w.Name, &w.ClientConfig,
				matching.OfWebhook(w.Rules, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector), w.FailurePolicy,
				w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions, w.ReinvocationPolicy,
			}
		}
		return cfg.Name, specs
	})
}

// Validating compiles all configurations of validating webhooks. all must be sorted by name. A
// configuration with the same pointer as in an earlier call must not have changed.
func (c *Compiler) Validating(all []*v1.ValidatingWebhookConfiguration) *Hooks {
	return compile(c, all, func(cfg *v1.ValidatingWebhookConfiguration) (string, []spec) {
		specs := make([]spec, len(cfg.Webhooks))
		for i := range cfg.Webhooks {
			w := &cfg.Webhooks[i]
			specs[i] = spec{
				w.Name, &w.ClientConfig,
				matching.OfWebhook(w.Rules, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector), w.FailurePolicy,
				w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions, nil,
			}
		}
		return cfg.Name, specs
	})
}

// compile makes the Hooks of configurations. It releases the clients of earlier configurations
// after it has opened those of the new ones, so that a changed configuration keeps its connections.
func compile[T comparable](c *Compiler, all []T, specs func(T) (name string, list []spec)) *Hooks {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := make(map[any]*compiled, len(all))
	var list []*hook
	for _, cfg := range all {
		made := c.compiled[cfg]
		if made == nil {
			made = c.compile(specs(cfg))
		}
		now[cfg] = made
		list = append(list, made.hooks...)
	}
	for cfg, made := range c.compiled {
		if now[cfg] == nil {
			for _, release := range made.release {
				release()
			}
		}
	}
	c.compiled = now
	return newHooks(list)
}

// compile compiles the webhooks of one configuration. Their names may repeat: validation forbids
// that, but an older server may have stored such a configuration.
func (c *Compiler) compile(configuration string, specs []spec) *compiled {
	made := &compiled{}
	seen := map[string]int{}
	for i := range specs {
		s := &specs[i]
		h := &hook{
			name: s.name, configuration: configuration,
			id:      fmt.Sprintf("%s%s/%s/%d", c.prefix, configuration, s.name, seen[s.name]),
			matcher: matching.Compile(s.criteria), failsOpen: s.failure != nil && *s.failure == v1.Ignore,
			sideEffects: s.sideEffects, review: reviewVersion(s.reviews),
			again: s.reinvocation != nil && *s.reinvocation == v1.IfNeededReinvocationPolicy,
		}
		seen[s.name]++
		if s.timeout != nil {
			h.timeout = time.Duration(*s.timeout) * time.Second
		}
		if len(s.conditions) > 0 {
			h.conditions = sync.OnceValue(func() *policies.Conditions {
				uses := policies.Uses{Authorizer: true}
				return policies.New(context.Background()).Conditions(s.conditions, uses, h.failsOpen)
			})
		}
		var release func()
		h.client, release, h.clientErr = c.clients.Open(webhookOf(s.client))
		made.release = append(made.release, release)
		made.hooks = append(made.hooks, h)
	}
	return made
}

// webhookOf returns the address and the CA of a webhook in the form that callout takes.
func webhookOf(config *v1.WebhookClientConfig) callout.Webhook {
	w := callout.Webhook{CABundle: config.CABundle}
	if s := config.Service; s != nil {
		w.Service = &callout.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Port != nil {
			w.Service.Port = int(*s.Port)
		}
		if s.Path != nil {
			w.Service.Path = *s.Path
		}
	} else if config.URL != nil {
		w.URL = *config.URL
	}
	return w
}
