// Package rbac authorizes by roles (role-based access control). A request is allowed if a binding
// gives the user, or one of the user's groups, a role with a rule that allows it. Nothing is
// denied: if no rule allows a request, the decision is left to other authorizers.
//
// Words: a Source provides roles and bindings, and an Update is what changed in it. The index is
// all of them, arranged for decisions. A scope is a namespace, or the cluster (""). A grant is a
// binding for one of its subjects.
//
// Laws: the index is immutable, and each decision uses one index. Before a decision, the Authorizer
// checks that its index is current (Source.Holds, a few loads) and updates the index if not, so a
// decision never uses outdated roles. A decision does not allocate, takes no lock, and looks only
// at the bindings of the user and the user's groups, in the cluster and in the request's namespace.
// Reasons are in Kubernetes' words and are made once for each binding. If several bindings allow a
// request, the reason names the first one by name.
//
// Package server makes the Source. Not here: where roles come from (server), which rules are valid
// and who may write them (registry/rbac).
//
// Read rbac.go, rule.go, index.go and resolve.go.
package rbac

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Source provides the roles and bindings. All methods may be called concurrently.
type Source interface {
	// Holds reports whether nothing has changed since Read returned mark. It is called before each
	// decision and must be cheap.
	Holds(mark any) bool
	// Read returns the changes since the Read that returned mark; with a nil mark, everything.
	Read(ctx context.Context, mark any) (Update, error)
}

// Update is what has changed in a Source. If an object occurs twice, its last state counts.
type Update struct {
	Changes []Change
	// Whole says that Changes are the complete state, which replaces all earlier roles and
	// bindings.
	Whole bool
	// Mark is the mark for the next Read.
	Mark any
}

// Kind is the kind of object that a Change is about.
type Kind uint8

// The values of Kind.
const (
	Role Kind = iota
	ClusterRole
	RoleBinding
	ClusterRoleBinding
)

// Change is the new state of a role or binding.
type Change struct {
	Kind            Kind
	Namespace, Name string
	// Object is the new state, of the type that Kind says. It is nil if the object was deleted or
	// cannot be read; it then grants nothing. Nobody changes it.
	Object meta.Object
}

// Authorizer decides by the roles of a Source. It reads the Source at its first decision.
type Authorizer struct {
	source Source
	now    atomic.Pointer[index] // nil before the first Read
	turn   chan struct{}         // a lock that a context can give up on: full while somebody updates the index
}

// New returns an Authorizer for a Source. It implements request.Authorizer and
// request.RuleResolver.
func New(s Source) *Authorizer { return &Authorizer{source: s, turn: make(chan struct{}, 1)} }

// index returns an index that is current.
func (a *Authorizer) index(ctx context.Context) (*index, error) {
	if x := a.now.Load(); x != nil && a.source.Holds(x.mark) {
		return x, nil
	}
	return a.catchUp(ctx)
}

// catchUp updates the index and returns it. One goroutine at a time does it; the others wait and
// use its result.
func (a *Authorizer) catchUp(ctx context.Context) (*index, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-a.turn }()
	x := a.now.Load()
	var mark any
	if x != nil {
		if mark = x.mark; a.source.Holds(mark) { // another goroutine has updated it meanwhile
			return x, nil
		}
	}
	u, err := a.source.Read(ctx, mark)
	if err != nil {
		return nil, err
	}
	x = x.afterUpdate(&u)
	a.now.Store(x)
	return x, nil
}

// Authorize implements request.Authorizer. If nothing allows the request, the reason names the
// roles that bindings refer to and that do not exist.
func (a *Authorizer) Authorize(ctx context.Context, attrs *request.Attributes) (request.Decision, string, error) {
	if attrs.User == nil {
		return request.NoOpinion, "", nil
	}
	x, err := a.index(ctx)
	if err != nil {
		return request.NoOpinion, "", err
	}
	q := question{Attributes: attrs, verb: bitOf(attrs.Verb)}
	if g := x.allows("", &q); g != nil {
		return request.Allow, g.reason, nil
	}
	if attrs.Namespace != "" {
		if g := x.allows(attrs.Namespace, &q); g != nil {
			return request.Allow, g.reason, nil
		}
	}
	if !q.missing {
		return request.NoOpinion, "", nil
	}
	return request.NoOpinion, "RBAC: " + aggregate(x.missing(attrs.User, attrs.Namespace)), nil
}

// aggregate joins error texts as Kubernetes' aggregates do: each text once, in brackets if there
// are several.
func aggregate(texts []string) string {
	seen, list := map[string]bool{}, []string(nil)
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return "[" + strings.Join(list, ", ") + "]"
}
