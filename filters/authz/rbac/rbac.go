// Package rbac decides by roles: a request is allowed if a rule allows it, of a role that a binding gives to the user or to one of
// the groups. Nobody is denied anything: what no rule allows, somebody else may.
//
// The Authorizer keeps an index of all roles and bindings by subject. The index is immutable; a decision looks whether it still holds,
// which is a few loads, and if not takes in what has changed before it decides (Source). A decision does not allocate, takes no lock,
// and looks at the bindings of the user and the groups alone, those of the cluster and those of the namespace.
//
// Reasons are worded as Kubernetes words them, and made once for each binding. Of several bindings that allow a request the first by
// name is named, as they are asked in that order.
//
// Not here: where roles come from (server), what may be in them and who may write them (registry/rbac).
// Read: rbac.go, rule.go, index.go, resolve.go.
package rbac

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Source has the roles and bindings. All methods may be called at once.
type Source interface {
	// Holds reports whether nothing has changed since Read returned mark. It is asked before each decision, and is cheap.
	Holds(mark any) bool
	// Read returns what has changed since it returned mark, nil for everything.
	Read(ctx context.Context, mark any) (Update, error)
}

// Update is what has changed in a Source, in an order such that of each object the last state counts.
type Update struct {
	Changes []Change
	// Whole says that the changes are all there is, and what was known before is gone.
	Whole bool
	// Mark is where the next Read goes on.
	Mark any
}

// Kind is what a Change is about.
type Kind uint8

// The kinds.
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
	// Object is a *rbacv1.Role, or what Kind says. nil: there is none, or none that can be read, which grants nothing. It is not changed
	// any more.
	Object meta.Object
}

// Authorizer decides by the roles of a Source. It reads nothing before it is first asked.
type Authorizer struct {
	source Source
	now    atomic.Pointer[index]
	turn   chan struct{} // held by the one that takes changes in
}

// New returns an Authorizer. It implements request.Authorizer and request.RuleResolver.
func New(s Source) *Authorizer { return &Authorizer{source: s, turn: make(chan struct{}, 1)} }

// index returns the index of all that the source has.
func (a *Authorizer) index(ctx context.Context) (*index, error) {
	if x := a.now.Load(); x != nil && a.source.Holds(x.mark) {
		return x, nil
	}
	return a.catchUp(ctx)
}

// catchUp takes in what has changed, and returns the index that has it.
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
		if mark = x.mark; a.source.Holds(mark) { // somebody else was faster
			return x, nil
		}
	}
	u, err := a.source.Read(ctx, mark)
	if err != nil {
		return nil, err
	}
	x = x.with(&u)
	a.now.Store(x)
	return x, nil
}

// Authorize implements request.Authorizer.
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

// aggregate is how Kubernetes tells several errors: each once.
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
