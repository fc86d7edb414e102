package bootstrap

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/rbac"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The roles and bindings that every cluster has are listed in registry/rbac. The hook
// rbac/bootstrap-roles makes them at each start, and mends existing ones: it adds the rules,
// subjects, labels and annotations that an object lacks, and keeps those that administrators have
// added. If a binding is to another role the hook deletes it and creates it anew, because a roleRef
// cannot change. It does not touch an object whose annotation rbac.AutoUpdate is "false".
//
// In this file, have is the object in the store, and want is the object as registry/rbac lists it.
//
// The hook writes to the stores, past the filters and admission, to be quick: the server is not
// ready before all these objects exist.

// The resources of roles and bindings.
var (
	roles               = rbacv1.GroupVersion.WithResource("roles")
	clusterRoles        = rbacv1.GroupVersion.WithResource("clusterroles")
	roleBindings        = rbacv1.GroupVersion.WithResource("rolebindings")
	clusterRoleBindings = rbacv1.GroupVersion.WithResource("clusterrolebindings")
)

// addRoles makes or mends all roles and bindings.
func (b *Bootstrap) addRoles(ctx context.Context) error {
	p := rbac.Bootstrap()
	errs := make([]error, 4)
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = ensureAll(ctx, b, clusterRoles, p.ClusterRoles, mendClusterRole) })
	wg.Go(func() {
		errs[1] = ensureAll(ctx, b, clusterRoleBindings, p.ClusterRoleBindings, mendClusterRoleBinding)
	})
	wg.Go(func() { errs[2] = ensureAll(ctx, b, roles, p.Roles, mendRole) })
	wg.Go(func() { errs[3] = ensureAll(ctx, b, roleBindings, p.RoleBindings, mendRoleBinding) })
	wg.Wait()
	return errors.Join(errs...)
}

// ensuring makes and mends the objects of one resource.
type ensuring[T meta.Object] struct {
	store *registry.Store
	view  registry.View[T]
	mend  mender[T]
}

// mender completes the object have: it adds the parts of want that are missing there, except labels
// and annotations, and reports whether it has added any. If anew is true, the caller must delete
// the object and create want.
type mender[T meta.Object] func(ctx context.Context, have, want T) (changed, anew bool, err error)

// maxEnsuring is the number of objects of a resource that are written at once. A store commits
// concurrent writes with one write to the disk.
const maxEnsuring = 16

// ensureAll makes or mends all wanted objects of a resource. It does nothing if the server does not
// serve the resource.
func ensureAll[T meta.Object](ctx context.Context, b *Bootstrap, gvr meta.GroupVersionResource, wanted []T,
	mend mender[T]) error {
	e := ensuring[T]{store: b.needs.Host.Store(gvr.GroupResource()), mend: mend}
	if e.store == nil {
		return nil
	}
	var err error
	if e.view, err = registry.ViewOf[T](e.store); err != nil {
		return err
	}
	errs, room := make([]error, len(wanted)), make(chan struct{}, maxEnsuring)
	var wg sync.WaitGroup
	for i, want := range wanted {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			err := e.ensure(ctx, want)
			if meta.IsInternalError(err) { // an unreadable object: another attempt would fail, too
				b.log().Warn("cannot read a standing object of RBAC, so it is not mended",
					zap.String("resource", gvr.Resource), zap.String("name", want.GetObjectMeta().Name), zap.Error(err))
				return
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ensure makes one object, or mends it. If another client writes the object at the same time,
// ensure returns an error, and Bootstrap.make tries again.
func (e *ensuring[T]) ensure(ctx context.Context, want T) error {
	wm := want.GetObjectMeta()
	have, err := e.view.Read(ctx, wm.Namespace, wm.Name, request.Consistent)
	if meta.IsNotFound(err) {
		return e.create(ctx, want)
	}
	if err != nil {
		return err
	}
	changed, anew, err := e.change(ctx, have, want)
	switch {
	case err != nil:
		return err
	case anew:
		this := &meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &have.GetObjectMeta().UID}}
		if err := e.view.Delete(ctx, wm.Namespace, wm.Name, false, this); err != nil {
			return err
		}
		return e.create(ctx, want)
	case changed:
		return e.update(ctx, want)
	}
	return nil
}

// change mends have, its labels and annotations included. It does nothing if the annotation
// rbac.AutoUpdate of have is "false".
func (e *ensuring[T]) change(ctx context.Context, have, want T) (changed, anew bool, err error) {
	m := have.GetObjectMeta()
	if m.Annotations[rbac.AutoUpdate] == "false" {
		return false, false, nil
	}
	changed, anew, err = e.mend(ctx, have, want)
	return mendMeta(m, want.GetObjectMeta()) || changed, anew, err
}

func (e *ensuring[T]) create(ctx context.Context, want T) error {
	_, err := e.store.Create(ctx, &request.Write{
		Namespace: want.GetObjectMeta().Namespace, Manager: registry.ServerManager, Options: &meta.CreateOptions{},
		Admitted: true,
		Change:   func(context.Context, request.Current) (meta.Typed, error) { return want, nil },
	})
	if meta.IsAlreadyExists(err) { // another server was faster
		return nil
	}
	return err
}

func (e *ensuring[T]) update(ctx context.Context, want T) error {
	m := want.GetObjectMeta()
	_, _, err := e.store.Update(ctx, &request.Write{
		Namespace: m.Namespace, Name: m.Name, Manager: registry.ServerManager, Options: &meta.UpdateOptions{},
		Admitted: true,
		Change: func(ctx context.Context, cur request.Current) (meta.Typed, error) {
			have, err := cur.Object()
			if err == nil {
				_, _, err = e.change(ctx, have.(T), want)
			}
			return have, err
		},
	})
	return err
}

// mendMeta adds the labels and annotations of want to have, and reports whether it has added any. A
// key that have has already keeps its value.
func mendMeta(have, want *meta.ObjectMeta) bool {
	labels := addMissingKeys(&have.Labels, want.Labels)
	return addMissingKeys(&have.Annotations, want.Annotations) || labels
}

func addMissingKeys(have *map[string]string, want map[string]string) (changed bool) {
	for key, value := range want {
		if _, ok := (*have)[key]; ok {
			continue
		}
		if *have == nil {
			*have = map[string]string{}
		}
		(*have)[key], changed = value, true
	}
	return changed
}

// mendRules adds rules to have, so that they grant all that want grants.
func mendRules(ctx context.Context, have *[]rbacv1.PolicyRule, want []rbacv1.PolicyRule) (bool, error) {
	missing, err := rbac.MissingRights(ctx, *have, want)
	*have = append(*have, missing...)
	return len(missing) > 0, err
}

func mendRole(ctx context.Context, have, want *rbacv1.Role) (changed, anew bool, err error) {
	changed, err = mendRules(ctx, &have.Rules, want.Rules)
	return changed, false, err
}

// mendClusterRole adds the missing rules, and to an aggregated role the missing selectors. If only
// one of have and want is an aggregated role, have becomes what want is.
func mendClusterRole(ctx context.Context, have, want *rbacv1.ClusterRole) (changed, anew bool, err error) {
	changed, err = mendRules(ctx, &have.Rules, want.Rules)
	switch {
	case want.AggregationRule == nil:
		changed, have.AggregationRule = changed || have.AggregationRule != nil, nil
	case have.AggregationRule == nil:
		changed, have.AggregationRule = true, want.AggregationRule
	default:
		selectors := &have.AggregationRule.ClusterRoleSelectors
		for i := range want.AggregationRule.ClusterRoleSelectors {
			selector := &want.AggregationRule.ClusterRoleSelectors[i]
			if !slices.ContainsFunc(*selectors, func(s meta.LabelSelector) bool { return scheme.Equal(&s, selector) }) {
				changed, *selectors = true, append(*selectors, *selector)
			}
		}
	}
	return changed, false, err
}

func mendRoleBinding(_ context.Context, have, want *rbacv1.RoleBinding) (changed, anew bool, err error) {
	return mendSubjects(&have.Subjects, want.Subjects), have.RoleRef != want.RoleRef, nil
}

func mendClusterRoleBinding(_ context.Context, have, want *rbacv1.ClusterRoleBinding) (changed, anew bool, err error) {
	return mendSubjects(&have.Subjects, want.Subjects), have.RoleRef != want.RoleRef, nil
}

func mendSubjects(have *[]rbacv1.Subject, want []rbacv1.Subject) (changed bool) {
	for _, subject := range want {
		if !slices.Contains(*have, subject) {
			changed, *have = true, append(*have, subject)
		}
	}
	return changed
}
