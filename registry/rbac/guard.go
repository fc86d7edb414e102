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

// Nobody can give away what they have not: who writes a role must hold all that is in it, or may
// "escalate" it, and who writes a binding must hold all that its role gives there, or may "bind"
// it. Members of system:masters may do anything.

// guard is what the guards of the resources ask.
type guard struct{ Config }

// everything is what aggregation rules need, which can gather anything.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{all}, APIGroups: []string{all}, Resources: []string{all}},
	{Verbs: []string{all}, NonResourceURLs: []string{all}},
}

var errAggregates = errors.New("must have cluster-admin privileges to use the aggregationRule")

// role is the guard of a resource of roles.
func (g guard) role(ctx context.Context, r *registry.Request, of meta.GroupResource, name string, rules []rbacv1.PolicyRule, aggregates bool) error {
	may := request.Attributes{
		User: r.User, Verb: "escalate", IsResource: true, Group: of.Group, Version: all, Resource: of.Resource,
		Namespace: r.Namespace, Name: r.Name,
	}
	if decision, _, _ := g.Access.Authorize(ctx, &may); decision == request.Allow {
		return nil
	}
	if err := g.holds(ctx, r, of, name, rules); err != nil || !aggregates {
		return err
	}
	err := g.holds(ctx, r, of, name, everything)
	if meta.IsForbidden(err) {
		return meta.NewForbidden(of, name, errAggregates)
	}
	return err
}

// binding is the guard of a resource of bindings.
func (g guard) binding(ctx context.Context, r *registry.Request, of meta.GroupResource, name string, ref *rbacv1.RoleRef) error {
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
		return meta.NewNotFound(of, ref.Name) // it names the resource that was asked for
	}
	if err != nil {
		return err
	}
	return g.holds(ctx, r, of, name, rules)
}

// rulesOf returns what is in a role.
func (g guard) rulesOf(ctx context.Context, roles meta.GroupResource, namespace, name string) ([]rbacv1.PolicyRule, error) {
	obj, err := registry.Read[meta.Object](ctx, g.Stores, roles, namespace, name, request.Consistent)
	if err != nil {
		return nil, err
	}
	if r, ok := obj.(*rbacv1.Role); ok {
		return r.Rules, nil
	}
	return obj.(*rbacv1.ClusterRole).Rules, nil
}

// holds returns the refusal if the user does not hold all that some rules allow. What they hold is
// not older than the request: it may have been taken from them through another server.
func (g guard) holds(ctx context.Context, r *registry.Request, of meta.GroupResource, name string, rules []rbacv1.PolicyRule) error {
	if err := g.Stores.Store(of).CatchUp(ctx); err != nil {
		return err
	}
	held, _, heldErr := g.Rules.RulesFor(ctx, r.User, r.Namespace)
	err := Refusal(ctx, r.User, held, heldErr, rules)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return meta.NewForbidden(of, name, err)
}

// Refusal returns why a user may not give away what rules allow, nil if they may. heldErr is why
// more may be held than is known.
func Refusal(ctx context.Context, user *request.User, held []rbacv1.PolicyRule, heldErr error, rules []rbacv1.PolicyRule) error {
	missing, err := Missing(ctx, held, rules)
	if err != nil || len(missing) == 0 {
		return err
	}
	msg := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", user.Name, user.Groups, describe(missing))
	if heldErr != nil {
		msg += fmt.Sprintf("; resolution errors: [%v]", heldErr)
	}
	return errors.New(msg)
}

// guarded makes the guard of a resource of a check of its objects.
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

// onlyCollects reports whether an update changes nothing but what the garbage collector needs to.
func onlyCollects[T any, P interface {
	*T
	meta.Object
}](obj, old P) bool {
	if old == nil {
		return false
	}
	c := *obj
	m, om := P(&c).GetObjectMeta(), old.GetObjectMeta()
	m.OwnerReferences, m.Finalizers, m.SelfLink, m.ManagedFields = om.OwnerReferences, om.Finalizers, om.SelfLink, om.ManagedFields
	return scheme.Equal(&c, (*T)(old))
}

func guardRole(g guard, ctx context.Context, r *registry.Request, obj, _ *rbacv1.Role) error {
	return g.role(ctx, r, resource("roles"), obj.Name, obj.Rules, false)
}

func guardClusterRole(g guard, ctx context.Context, r *registry.Request, obj, old *rbacv1.ClusterRole) error {
	return g.role(ctx, r, resource("clusterroles"), obj.Name, obj.Rules, aggregates(obj) || old != nil && aggregates(old))
}

func aggregates(r *rbacv1.ClusterRole) bool {
	return r.AggregationRule != nil && len(r.AggregationRule.ClusterRoleSelectors) > 0
}

func guardRoleBinding(g guard, ctx context.Context, r *registry.Request, obj, _ *rbacv1.RoleBinding) error {
	return g.binding(ctx, r, resource("rolebindings"), obj.Name, &obj.RoleRef)
}

func guardClusterRoleBinding(g guard, ctx context.Context, r *registry.Request, obj, _ *rbacv1.ClusterRoleBinding) error {
	return g.binding(ctx, r, resource("clusterrolebindings"), obj.Name, &obj.RoleRef)
}
