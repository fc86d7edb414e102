package admissionpolicy

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel"
)

// This file has the variable authorizer of expressions.

// authorizer answers what a user may do. It remembers the answers of one run of a plugin, and
// belongs to that run.
type authorizer struct {
	*decisions
	user    *request.User
	account string // the name of a service account that an expression names; "": who sent the request
}

// decisions are the answers to the questions of one run of a plugin.
type decisions struct {
	ctx  context.Context
	ask  request.Authorizer
	said map[question]answer
}

// question is what was asked about a user; see authorizer.account.
type question struct {
	account string
	access  cel.Access
}

type answer struct {
	allowed bool
	reason  string
	err     error
}

// newAuthorizer returns an Authorizer that answers what user may do. nil stands for the server
// itself, which may do everything.
func newAuthorizer(ctx context.Context, ask request.Authorizer, user *request.User) cel.Authorizer {
	return authorizer{decisions: &decisions{ctx: ctx, ask: ask}, user: user}
}

// Authorize implements cel.Authorizer.
func (z authorizer) Authorize(about cel.Access) (bool, string, error) {
	if z.user == nil {
		return true, "", nil
	}
	q := question{z.account, about}
	if have, known := z.said[q]; known {
		return have.allowed, have.reason, have.err
	}
	asked := &request.Attributes{User: z.user, Verb: about.Verb, Path: about.Path, IsResource: about.Resource != ""}
	if asked.IsResource {
		asked.Group, asked.Version, asked.Resource = about.Group, "*", about.Resource
		asked.Subresource, asked.Namespace, asked.Name = about.Subresource, about.Namespace, about.Name
		asked.FieldSelector, asked.LabelSelector = about.FieldSelector, about.LabelSelector
	}
	decision, reason, err := z.ask.Authorize(z.ctx, asked)
	have := answer{decision == request.Allow, reason, err}
	if z.said == nil {
		z.said = map[question]answer{}
	}
	z.said[q] = have
	return have.allowed, have.reason, have.err
}

// ServiceAccount implements cel.Authorizer.
func (z authorizer) ServiceAccount(namespace, name string) cel.Authorizer {
	z.account = request.ServiceAccountUser(namespace, name)
	z.user = &request.User{Name: z.account, Groups: request.ServiceAccountGroups(namespace)}
	return z
}
