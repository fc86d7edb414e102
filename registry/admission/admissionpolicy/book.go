package admissionpolicy

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry/admission/matching"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file joins policies with their bindings. Both plugins call book.now at each write. It joins
// again only if a policy or binding has changed, and then reuses the compiled form of each object
// that has not.

// Objects are all objects of a resource at one moment. They are read-only. As long as none of the
// objects changes, a Source returns the same pointer. In the next Objects, each object that has not
// changed has the same pointer as before.
type Objects[T any] struct{ Items []T }

// NewObjects returns Objects of items, which the caller does not change afterwards.
func NewObjects[T any](items []T) *Objects[T] { return &Objects[T]{items} }

// Source returns the current objects of a resource. They include every write that this server has
// answered. The error is a *meta.StatusError.
type Source[T any] func(ctx context.Context) (*Objects[T], error)

// object is a policy or a binding.
type object interface {
	comparable
	meta.Object
}

// book keeps the hooks that are made of policies of type P and bindings of type B. R is a compiled
// policy.
type book[P, B object, R any] struct {
	read func(ctx context.Context) (*Objects[P], *Objects[B], error)
	rule func(P) *rule[R]
	bind func(B) *binding

	mu   sync.Mutex // held while last is replaced
	last atomic.Pointer[joined[P, B, R]]
}

// newBook returns the book of the policies and bindings of two sources.
func newBook[P, B object, R any](
	policies Source[P], bindings Source[B], rule func(P) *rule[R], bind func(B) *binding,
) *book[P, B, R] {
	return &book[P, B, R]{rule: rule, bind: bind, read: func(ctx context.Context) (*Objects[P], *Objects[B], error) {
		b, err := bindings(ctx)
		if err != nil {
			return nil, nil, err
		}
		p, err := policies(ctx)
		return p, b, err
	}}
}

// joined has the hooks of all policies and bindings at one moment. It never changes.
type joined[P, B object, R any] struct {
	policies *Objects[P]
	bindings *Objects[B]
	rules    map[P]*rule[R]
	bound    map[B]*binding
	list     []*hook[R]
	hooks    *matching.Index[*hook[R]]
}

// newIndex returns the Index of hooks.
func newIndex[R any](hooks []*hook[R]) *matching.Index[*hook[R]] {
	return matching.NewIndex(hooks, func(h *hook[R]) *matching.Matcher { return h.matcher })
}

// rule is a policy, prepared for matching. It never changes.
type rule[R any] struct {
	name     string
	ignore   bool          // failurePolicy is Ignore
	params   *v1.ParamKind // nil: none
	kind     meta.GroupVersionKind
	matcher  *matching.Matcher
	compiled func() R // compiles the policy at the first call
}

// binding is the binding of a policy, prepared for matching. It never changes.
type binding struct {
	name, policy string
	matcher      *matching.Matcher // nil: every request of the policy
	params       *v1.ParamRef
	selected     meta.LabelRequirements // params.Selector, compiled; selectErr says why it is invalid
	selectErr    error
	actions      []v1.ValidationAction // of a validating policy
}

// hook is a policy with its bindings.
type hook[R any] struct {
	*rule[R]
	bindings []*binding
}

func newRule[R any](
	name string, failures *v1.FailurePolicyType, params *v1.ParamKind, match *v1.MatchResources, compile func() R,
) *rule[R] {
	r := &rule[R]{
		name: name, ignore: ignores(failures), params: params, matcher: matcherOf(match),
		compiled: sync.OnceValue(compile),
	}
	if params != nil {
		gv, _ := meta.ParseGroupVersion(params.APIVersion) // no resource has a malformed version
		r.kind = gv.WithKind(params.Kind)
	}
	return r
}

// matcherOf returns the matcher of match, which has been validated. A nil match matches no request.
func matcherOf(match *v1.MatchResources) *matching.Matcher {
	if match == nil {
		return matching.Compile(matching.Criteria{})
	}
	return matching.Compile(matching.OfResources(match))
}

func newBinding(
	name, policy string, match *v1.MatchResources, params *v1.ParamRef, actions []v1.ValidationAction,
) *binding {
	b := &binding{name: name, policy: policy, params: params, actions: actions}
	if match != nil {
		b.matcher = matcherOf(match)
	}
	if params != nil && params.Selector != nil {
		b.selected, b.selectErr = meta.SelectorFrom(params.Selector)
	}
	return b
}

// now returns the hooks of the current policies and bindings, in the order of the policies' names.
func (b *book[P, B, R]) now(ctx context.Context) (*joined[P, B, R], error) {
	policies, bindings, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	if j := b.last.Load(); j != nil && j.policies == policies && j.bindings == bindings {
		return j, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.last.Load()
	if j == nil || j.policies != policies || j.bindings != bindings {
		j = b.join(policies, bindings, j)
		b.last.Store(j)
	}
	return j, nil
}

// join joins policies with bindings. It takes the rules and bindings of unchanged objects from
// last, which may be nil.
func (b *book[P, B, R]) join(policies *Objects[P], bindings *Objects[B], last *joined[P, B, R]) *joined[P, B, R] {
	if last == nil {
		last = &joined[P, B, R]{}
	}
	j := &joined[P, B, R]{
		policies: policies, bindings: bindings,
		rules: make(map[P]*rule[R], len(policies.Items)), bound: make(map[B]*binding, len(bindings.Items)),
	}
	of := map[string][]*binding{} // by policy
	for _, object := range bindings.Items {
		bound := last.bound[object]
		if bound == nil {
			bound = b.bind(object)
		}
		j.bound[object] = bound
		of[bound.policy] = append(of[bound.policy], bound)
	}
	for _, object := range policies.Items {
		r := last.rules[object]
		if r == nil {
			r = b.rule(object)
		}
		j.rules[object] = r
		if bound := of[r.name]; len(bound) > 0 {
			slices.SortFunc(bound, func(a, b *binding) int { return cmp.Compare(a.name, b.name) })
			j.list = append(j.list, &hook[R]{r, bound})
		}
	}
	slices.SortFunc(j.list, func(a, b *hook[R]) int { return cmp.Compare(a.name, b.name) })
	j.hooks = newIndex(j.list)
	return j
}
