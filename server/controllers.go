package server

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// controllerSet are the controllers that a server can run, by the names that kube-controller-manager gives them.
var controllerSet = []struct {
	name  string
	needs meta.GroupResource // not run by servers without this resource
	start func(ctx context.Context, s *Server) error
}{
	{"namespace-controller", meta.GroupResource{Resource: "namespaces"}, startNamespaceController},
}

// buildControllers adds post-start hooks for the system namespaces and the selected controllers.
func (s *Server) buildControllers() error {
	if s.Store(meta.GroupResource{Resource: "namespaces"}) != nil {
		if err := s.AddPostStartHook(Hook{Name: "start-system-namespaces-controller", Run: createSystemNamespaces}); err != nil {
			return err
		}
	}
	for _, c := range controllerSet {
		if !selected(s.cfg.Controllers, c.name) || s.Store(c.needs) == nil {
			continue
		}
		if err := s.AddPostStartHook(Hook{Name: "start-" + c.name, Run: c.start}); err != nil {
			return err
		}
	}
	return nil
}

// controllerNames are the names that Config.Controllers may hold.
func controllerNames() []string {
	names := make([]string, len(controllerSet))
	for i := range controllerSet {
		names[i] = controllerSet[i].name
	}
	return names
}

// controllerName accepts the short names of old.
func controllerName(name string) string {
	if name == "namespace" {
		return "namespace-controller"
	}
	return name
}

// selected reports whether a list of names, "*" and "-name" selects a controller. What is left out by name stays out.
func selected(list []string, name string) bool {
	all := false
	for _, item := range list {
		switch {
		case item == "*":
			all = true
		case controllerName(item) == name:
			return true
		case strings.HasPrefix(item, "-") && controllerName(item[1:]) == name:
			return false
		}
	}
	return all
}

func startNamespaceController(_ context.Context, s *Server) error {
	namespaces := s.Store(meta.GroupResource{Resource: "namespaces"})
	c := &controller.Namespace{
		Namespaces: namespaces,
		Status:     namespaces.Subresource("status"),
		Finalize:   namespaces.Subresource("finalize"),
		Contents:   s.namespacedStores,
		Log:        s.log.Named("namespace-controller"),
	}
	s.Go(c.Run)
	return nil
}

// namespacedStores returns the stores whose objects live in namespaces and can be deleted, pods first: what they leave
// behind is deleted after them.
func (s *Server) namespacedStores() []controller.Content {
	var list []*registry.Store
	for e := range s.table.now.Load().resources {
		res := e.store.Resource()
		if res.Namespaced && (res.Verbs == nil || slices.Contains(res.Verbs, "deletecollection")) {
			list = append(list, e.store)
		}
	}
	slices.SortFunc(list, func(a, b *registry.Store) int {
		pods := meta.GroupResource{Resource: "pods"}
		ra, rb := a.Resource().GroupResource, b.Resource().GroupResource
		switch {
		case ra == pods:
			return -1
		case rb == pods:
			return 1
		}
		return strings.Compare(ra.String(), rb.String())
	})
	out := make([]controller.Content, len(list))
	for i, store := range list {
		out[i] = controller.Content{Resource: store.Resource().GroupResource, Store: store}
	}
	return out
}
