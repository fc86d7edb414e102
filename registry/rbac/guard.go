package rbac

import (
	"context"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The guards of roles and bindings: the step of a write that refuses escalation. The write pipeline
// (registry/write.go) calls a guard after admission has mutated the object and before the object is
// validated. checkRoleRights and checkBindingRights keep the laws of the package; cover.go compares
// rights. The texts are those of Kubernetes' pkg/registry/rbac.

// guard is the Config with the methods that check a write.
type guard struct{ Config }

// allRules are the rules that allow everything. Who writes a cluster role with an aggregation
// rule must hold them, because the role can collect the rules of any other.
var allRules = []rbacv1.PolicyRule{
	{Verbs: []string{all}, APIGroups: []string{all}, Resources: []string{all}},
	{Verbs: []string{all}, NonResourceURLs: []string{all}},
}

// errAggregates is the reason of that refusal.
var errAggregates = errors.New("must have cluster-admin privileges to use the aggregationRule")

// checkRoleRights checks a write of a role. of and name are the resource and the object that errors
// name, and aggregates says whether the role has, or had, an aggregation rule.
func (g guard) checkRoleRights(ctx context.Context, r *registry.Request, of meta.GroupResource, name string,
	rules []rbacv1.PolicyRule, aggregates bool) error {
	may := request.Attributes{
		User: r.User, Verb: "escalate", IsResource: true, Group: of.Group, Version: all, Resource: of.Resource,
		Namespace: r.Namespace, Name: r.Name,
	}
	if decision, _, _ := g.Access.Authorize(ctx, &may); decision == request.Allow {
		return nil
	}
	if err := g.refuseUnheld(ctx, r, of, name, rules); err != nil || !aggregates {
		return err
	}
	err := g.refuseUnheld(ctx, r, of, name, allRules)
	if meta.IsForbidden(err) {
		return meta.NewForbidden(of, name, errAggregates)
	}
	return err
}

// checkBindingRights checks a write of a binding to the role ref. Rights of a cluster role in a
// RoleBinding count in the binding's namespace only, so that is where the user must hold them.
func (g guard) checkBindingRights(ctx context.Context, r *registry.Request, of meta.GroupResource, name string,
	ref *rbacv1.RoleRef) error {
	roles, namespace := "clusterroles", ""
	switch ref.Kind {
	case "ClusterRole":
	case "Role":
		roles, namespace = "roles", r.Namespace
	default:
		return meta.NewBadRequest(fmt.Sprintf("unsupported role reference kind: %q", ref.Kind))
	}
	may := request.Attributes{
		User: r.User, Verb: "bind", IsResource: true, Group: ref.APIGroup, Version: all, Resource: roles,
		Namespace: r.Namespace, Name: ref.Name,
	}
	if decision, _, _ := g.Access.Authorize(ctx, &may); decision == request.Allow {
		return nil
	}
	rules, err := g.rulesOf(ctx, resource(roles), namespace, ref.Name)
	if meta.IsNotFound(err) {
		return meta.NewNotFound(of, ref.Name) // as in Kubernetes: the resource of the request with the name of the role
	}
	if err != nil {
		return err
	}
	return g.refuseUnheld(ctx, r, of, name, rules)
}

// rulesOf returns the rules of a role or cluster role. It reads the newest state: a role that has
// just got more rights counts with them.
func (g guard) rulesOf(ctx context.Context, roles meta.GroupResource, namespace, name string) ([]rbacv1.PolicyRule,
	error) {
	obj, err := registry.Read[meta.Object](ctx, g.Stores, roles, namespace, name, request.Consistent)
	if err != nil {
		return nil, err
	}
	if r, ok := obj.(*rbacv1.Role); ok {
		return r.Rules, nil
	}
	return obj.(*rbacv1.ClusterRole).Rules, nil
}

// refuseUnheld returns a Forbidden error if the user does not hold all rights of rules in the
// namespace of the request. It first waits until the cache is as new as the request: a role may
// have been taken from the user through another server.
func (g guard) refuseUnheld(ctx context.Context, r *registry.Request, of meta.GroupResource, name string,
	rules []rbacv1.PolicyRule) error {
	if err := g.Stores.Store(of).CatchUp(ctx); err != nil {
		return err
	}
	held, _, heldErr := g.Rules.RulesFor(ctx, r.User, r.Namespace)
	err := EscalationError(ctx, r.User, held, heldErr, rules)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return meta.NewForbidden(of, name, err)
}

// EscalationError returns an error that lists the rights of rules that are not among held, or nil
// if there are none. heldErr, which may be nil, says why held may be incomplete; the error repeats
// it. The error has no kind: the caller makes it Forbidden, unless ctx has ended.
func EscalationError(ctx context.Context, user *request.User, held []rbacv1.PolicyRule, heldErr error,
	rules []rbacv1.PolicyRule) error {
	missing, err := MissingRights(ctx, held, rules)
	if err != nil || len(missing) == 0 {
		return err
	}
	msg := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", user.Name,
		user.Groups, describeMissing(missing))
	if heldErr != nil {
		msg += fmt.Sprintf("; resolution errors: [%v]", heldErr)
	}
	return errors.New(msg)
}

// guarded turns a check of objects into the Guard of their resource. It returns nil, which is no
// guard, if there is no authorizer. The check is skipped for members of system:masters, and for
// updates that give no rights.
func guarded[T any, P interface {
	*T
	meta.Object
}](c Config, check func(g guard, ctx context.Context, r *registry.Request, obj, old P) error) registry.GuardOf[P] {
	if c.Access == nil {
		return nil
	}
	return func(ctx context.Context, r *registry.Request, obj, old P) error {
		if r.User.InGroup(request.GroupMasters) || onlyCollects(obj, old) {
			return nil
		}
		return check(guard{c}, ctx, r, obj, old)
	}
}

// onlyCollects reports whether an update changes only the metadata that the garbage collector
// writes. Such an update must succeed although the collector holds few rights.
func onlyCollects[T any, P interface {
	*T
	meta.Object
}](obj, old P) bool {
	if old == nil {
		return false
	}
	c := *obj
	m, om := P(&c).GetObjectMeta(), old.GetObjectMeta()
	m.OwnerReferences, m.Finalizers, m.SelfLink, m.ManagedFields =
		om.OwnerReferences, om.Finalizers, om.SelfLink, om.ManagedFields
	return scheme.Equal(&c, (*T)(old))
}

// guardRole is the guard of roles.
func guardRole(g guard, ctx context.Context, r *registry.Request, obj, _ *rbacv1.Role) error {
	return g.checkRoleRights(ctx, r, resource("roles"), obj.Name, obj.Rules, false)
}

// guardClusterRole is the guard of cluster roles. As in Kubernetes, an aggregation rule of the old
// object counts as well.
func guardClusterRole(g guard, ctx context.Context, r *registry.Request, obj, old *rbacv1.ClusterRole) error {
	return g.checkRoleRights(ctx, r, resource("clusterroles"), obj.Name, obj.Rules, aggregates(obj) || old != nil &&
		aggregates(old))
}

// aggregates reports whether the rules of a cluster role are collected from others.
func aggregates(r *rbacv1.ClusterRole) bool {
	return r.AggregationRule != nil && len(r.AggregationRule.ClusterRoleSelectors) > 0
}

// guardRoleBinding is the guard of role bindings.
func guardRoleBinding(g guard, ctx context.Context, r *registry.Request, obj, _ *rbacv1.RoleBinding) error {
	return g.checkBindingRights(ctx, r, resource("rolebindings"), obj.Name, &obj.RoleRef)
}

// guardClusterRoleBinding is the guard of cluster role bindings.
func guardClusterRoleBinding(g guard, ctx context.Context, r *registry.Request, obj,
	_ *rbacv1.ClusterRoleBinding) error {
	return g.checkBindingRights(ctx, r, resource("clusterrolebindings"), obj.Name, &obj.RoleRef)
}
