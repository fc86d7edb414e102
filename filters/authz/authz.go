// Package authz decides what users may do.
//
// An Authorizer judges one request by its Attributes. Several are asked in turn by a Union: the first that does not
// pass decides, and where all pass nothing is allowed.
//
// Everything here is immutable once made and safe for concurrent use. Not here: who the user is (authn), the answer to
// those who may not (filters).
package authz

import (
	"context"
	"errors"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Decision is what an Authorizer thinks of a request.
type Decision int

// The decisions. The zero one is the safe one.
const (
	Deny      Decision = iota // no, whatever others say
	Allow                     // yes
	NoOpinion                 // somebody else may allow it
)

// String returns the decision in lower case.
func (d Decision) String() string {
	switch d {
	case Deny:
		return "deny"
	case Allow:
		return "allow"
	case NoOpinion:
		return "no opinion"
	}
	return "unknown"
}

// Attributes are the properties of a request that rights depend on.
type Attributes struct {
	User *request.User
	Verb string
	// IsResource tells whether the request is for a resource, which the next fields name, or just for Path.
	IsResource  bool
	Group       string
	Version     string
	Namespace   string
	Resource    string
	Subresource string
	Name        string
	Path        string
	// Selectors as sent, of list, watch and deletecollection.
	FieldSelector string
	LabelSelector string
}

// From fills a in with what info says.
func (a *Attributes) From(info *request.Info) {
	a.User, a.Verb, a.Path, a.IsResource = info.User, info.Verb, info.Path, info.IsResource
	a.Group, a.Version, a.Namespace = info.APIGroup, info.APIVersion, info.Namespace
	a.Resource, a.Subresource, a.Name = info.Resource, info.Subresource, info.Name
	a.FieldSelector, a.LabelSelector = info.FieldSelector, info.LabelSelector
}

// Authorizer decides whether a request may be served.
type Authorizer interface {
	// Authorize judges a, which belongs to the caller and must not be changed or kept. reason may be empty and is
	// shown to the user. err tells why a decision could not be found; it goes with Deny or NoOpinion.
	Authorize(ctx context.Context, a *Attributes) (decision Decision, reason string, err error)
}

// Func is an Authorizer that is a function.
type Func func(ctx context.Context, a *Attributes) (Decision, string, error)

// Authorize calls f.
func (f Func) Authorize(ctx context.Context, a *Attributes) (Decision, string, error) {
	return f(ctx, a)
}

// AlwaysAllow allows everything.
func AlwaysAllow() Authorizer {
	return Func(func(context.Context, *Attributes) (Decision, string, error) { return Allow, "", nil })
}

// AlwaysDeny leaves nothing allowed. It has no opinion rather than denying, so that it can end a Union.
func AlwaysDeny() Authorizer {
	return Func(func(context.Context, *Attributes) (Decision, string, error) {
		return NoOpinion, "Everything is forbidden.", nil
	})
}

// Privileged allows everything to members of the given groups, usually to system:masters, and passes on the rest.
func Privileged(groups ...string) Authorizer {
	return Func(func(_ context.Context, a *Attributes) (Decision, string, error) {
		if a.User != nil {
			for _, g := range groups {
				if a.User.InGroup(g) {
					return Allow, "", nil
				}
			}
		}
		return NoOpinion, "", nil
	})
}

// Union asks all in turn and takes the first decision. If there is none, it returns all reasons and errors.
func Union(all ...Authorizer) Authorizer {
	if len(all) == 1 {
		return all[0]
	}
	return union(all)
}

type union []Authorizer

func (u union) Authorize(ctx context.Context, a *Attributes) (Decision, string, error) {
	var reasons []string
	var errs []error
	for _, authorizer := range u {
		decision, reason, err := authorizer.Authorize(ctx, a)
		if decision != NoOpinion {
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return NoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}
