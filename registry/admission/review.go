package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has what expressions and reviews see of a write beside its objects: the variable
// request, the namespace, the options, and the rights of the user.

// Reviewed returns the variable request of expressions. kind is the kind of the object as the
// expressions see it. resource is the resource that a rule of the policy has matched, or a.Resource
// for match conditions.
func (a *Attributes) Reviewed(kind meta.GroupVersionKind, resource meta.GroupVersionResource) *policies.Request {
	r := &policies.Request{
		Kind: policies.KindOf(kind), Resource: policies.ResourceOf(resource), SubResource: a.Subresource,
		RequestKind: policies.KindOf(a.Kind), RequestResource: policies.ResourceOf(a.Resource),
		RequestSubResource: a.Subresource,
		Name:               a.Name, Namespace: a.ReviewedNamespace(), Operation: string(a.Operation), DryRun: a.DryRun,
	}
	if u := a.User; u != nil {
		r.UserInfo = policies.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
	}
	if options := a.ReviewedOptions(); options != nil {
		r.Options = options
	}
	return r
}

// ReviewedNamespace returns the namespace of the write as hooks see it: that of the object, or the
// name of a namespace that the write is about. It is "" for other cluster-scoped objects.
func (a *Attributes) ReviewedNamespace() string {
	if a.Namespace == "" && a.Resource.Resource == "namespaces" &&
		(a.Resource.Group == "" || a.Operation != Create) {
		return a.Name // kube-apiserver takes the segment after "namespaces" for a namespace in every group
	}
	return a.Namespace
}

// ReviewedOptions returns Options with apiVersion and kind, nil if there are none.
func (a *Attributes) ReviewedOptions() meta.Typed {
	typ := func(kind string) meta.TypeMeta { return meta.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: kind} }
	switch o := a.Options.(type) {
	case *meta.CreateOptions:
		shown := *o
		shown.TypeMeta = typ("CreateOptions")
		return &shown
	case *meta.UpdateOptions:
		shown := *o
		shown.TypeMeta = typ("UpdateOptions")
		return &shown
	case *meta.DeleteOptions:
		shown := *o
		shown.TypeMeta = typ("DeleteOptions")
		return &shown
	}
	return nil
}

// Rights answers the authorization checks of expressions about one write. It asks the authorizer
// each question only once. It belongs to one goroutine.
type Rights struct {
	ctx     context.Context
	asks    request.Authorizer
	user    *request.User
	answers map[cel.Access]answer
	// accounts are the Rights of service accounts, by user name. The user of the write may have
	// such a name too, but perhaps has other groups.
	accounts map[string]*Rights
}

// answer is the answer of the authorizer to one question.
type answer struct {
	allowed bool
	reason  string
	err     error
}

// NewRights returns the Rights of a user, who is nil for the server's own controllers.
func NewRights(ctx context.Context, asks request.Authorizer, user *request.User) *Rights {
	if user == nil {
		user = &request.User{}
	}
	return &Rights{ctx: ctx, asks: asks, user: user}
}

// Authorize implements cel.Authorizer.
func (r *Rights) Authorize(access cel.Access) (allowed bool, reason string, err error) {
	found, ok := r.answers[access]
	if !ok {
		found = r.ask(access)
		if r.answers == nil {
			r.answers = map[cel.Access]answer{}
		}
		r.answers[access] = found
	}
	return found.allowed, found.reason, found.err
}

func (r *Rights) ask(access cel.Access) answer {
	about := request.Attributes{User: r.user, Verb: access.Verb, Path: access.Path}
	if access.Resource != "" {
		about = request.Attributes{
			User: r.user, Verb: access.Verb, IsResource: true,
			Group: access.Group, Version: "*", Resource: access.Resource, Subresource: access.Subresource,
			Namespace: access.Namespace, Name: access.Name,
			FieldSelector: access.FieldSelector, LabelSelector: access.LabelSelector,
		}
	}
	decision, reason, err := r.asks.Authorize(r.ctx, &about)
	return answer{decision == request.Allow, reason, err}
}

// ServiceAccount implements cel.Authorizer.
func (r *Rights) ServiceAccount(namespace, name string) cel.Authorizer {
	user := request.ServiceAccountUser(namespace, name)
	account := r.accounts[user]
	if account == nil {
		account = NewRights(r.ctx, r.asks, &request.User{Name: user, Groups: request.ServiceAccountGroups(namespace)})
		if r.accounts == nil {
			r.accounts = map[string]*Rights{}
		}
		r.accounts[user] = account
	}
	return account
}
