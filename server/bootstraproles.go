package server

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/rbac"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// addBootstrapRoles makes the roles and bindings that every cluster has, and gives back to those that are there what they lack of
// theirs: what administrators have added stays, and what they have marked to be left alone is. Where all is as it should be it reads
// four lists.
func addBootstrapRoles(ctx context.Context, s *Server) error {
	p := rbac.Bootstrap()
	errs := make([]error, 4)
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = ensureAll(ctx, s, clusterRoleResource, p.ClusterRoles, mendClusterRole) })
	wg.Go(func() {
		errs[1] = ensureAll(ctx, s, clusterRoleBindingResource, p.ClusterRoleBindings, mendClusterRoleBinding)
	})
	wg.Go(func() { errs[2] = ensureAll(ctx, s, roleResource, p.Roles, mendRole) })
	wg.Go(func() { errs[3] = ensureAll(ctx, s, roleBindingResource, p.RoleBindings, mendRoleBinding) })
	wg.Wait()
	return errors.Join(errs...)
}

// mend gives an object that is there what it lacks. anew: it cannot be mended, and has to be made anew.
type mend[T meta.Object] func(ctx context.Context, have, want T) (changed, anew bool, err error)

// maxEnsuring is how many objects of a resource are written at once, which is one write to the disk.
const maxEnsuring = 64

// ensureAll makes or mends the objects of a resource.
func ensureAll[T meta.Object](ctx context.Context, s *Server, gvr meta.GroupVersionResource, wanted []T, f mend[T]) error {
	objects := client.For[T](s.client, gvr)
	type place struct{ namespace, name string }
	have := map[place]T{}
	list, err := objects.List(ctx, meta.ListOptions{})
	if err != nil && !meta.IsInternalError(err) { // some object cannot be read: then each is looked at
		return err
	}
	if err == nil {
		for _, obj := range list.Items {
			m := obj.GetObjectMeta()
			have[place{m.Namespace, m.Name}] = obj
		}
	}
	if namespaced := wanted[0].GetObjectMeta().Namespace != ""; namespaced && len(have) < len(wanted) && s.Store(namespaces) != nil {
		if err := addSystemNamespaces(ctx, s); err != nil {
			return err
		}
	}
	errs, room := make([]error, len(wanted)), make(chan struct{}, maxEnsuring)
	var wg sync.WaitGroup
	for i, want := range wanted {
		m := want.GetObjectMeta()
		obj, known := have[place{m.Namespace, m.Name}]
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			err := ensure(ctx, objects.In(m.Namespace), obj, known, want, f)
			if meta.IsInternalError(err) { // it is there, and cannot be read: nobody is served by waiting for that
				s.log.Warn("a bootstrap object cannot be mended", zap.String("resource", gvr.Resource), zap.String("name", m.Name), zap.Error(err))
				return
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// maxEnsureTries is how often one object is tried that others write at the same time.
const maxEnsureTries = 5

// ensure makes one object, or mends it; known says that it was there.
func ensure[T meta.Object](ctx context.Context, objects client.Resource[T], have T, known bool, want T, f mend[T]) error {
	name := want.GetObjectMeta().Name
	for try := 1; ; try++ {
		err := ensureOnce(ctx, objects, have, known, want, f)
		if err == nil || try == maxEnsureTries || !meta.IsNotFound(err) && !meta.IsConflict(err) && !meta.IsAlreadyExists(err) {
			return err
		}
		have, err = objects.Get(ctx, name, meta.GetOptions{})
		if known = err == nil; err != nil && !meta.IsNotFound(err) {
			return err
		}
	}
}

func ensureOnce[T meta.Object](ctx context.Context, objects client.Resource[T], have T, known bool, want T, f mend[T]) error {
	if known {
		m := have.GetObjectMeta()
		if m.Annotations[rbac.AutoUpdate] == "false" {
			return nil
		}
		changed, anew, err := f(ctx, have, want)
		switch {
		case err != nil:
			return err
		case !anew:
			if mendMeta(m, want.GetObjectMeta()) || changed {
				_, err = objects.Update(ctx, have, meta.UpdateOptions{})
			}
			return err
		}
		if err := objects.Delete(ctx, m.Name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &m.UID}}); err != nil && !meta.IsNotFound(err) {
			return err
		}
	}
	_, err := objects.Create(ctx, want, meta.CreateOptions{})
	return err
}

// mendMeta adds the labels and annotations that an object lacks.
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

func mendRules(ctx context.Context, have *[]rbacv1.PolicyRule, want []rbacv1.PolicyRule) (bool, error) {
	missing, err := rbac.Missing(ctx, *have, want)
	*have = append(*have, missing...)
	return len(missing) > 0, err
}

func mendRole(ctx context.Context, have, want *rbacv1.Role) (changed, anew bool, err error) {
	changed, err = mendRules(ctx, &have.Rules, want.Rules)
	return changed, false, err
}

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
