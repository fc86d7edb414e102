package server

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// controllerSet are the controllers that a server can run, by the names that kube-controller-manager gives them.
var controllerSet = []struct {
	name  string
	needs meta.GroupResource // not run by servers without this resource; empty for none
	start func(ctx context.Context, s *Server) error
}{
	{"namespace-controller", meta.GroupResource{Resource: "namespaces"}, startNamespaceController},
	{"garbage-collector-controller", meta.GroupResource{}, startGarbageCollector},
}

// addControllers adds post-start hooks for the system's objects and the selected controllers.
func (s *Server) addControllers(selection []string) error {
	if err := s.addSystemObjects(); err != nil {
		return err
	}
	for _, c := range controllerSet {
		if !selected(selection, c.name) || c.needs.Resource != "" && s.Store(c.needs) == nil {
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
	switch name {
	case "namespace":
		return "namespace-controller"
	case "garbagecollector":
		return "garbage-collector-controller"
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
	c := &controller.Namespace{Client: s.client, Contents: s.contents, Holds: s.holds, Removals: s.removals,
		Log: s.log.Named("namespace-controller")}
	s.life.controllers.run(c.Run)
	return nil
}

// contents returns the resources whose objects live in namespaces and can be deleted, each in the most preferred version that is
// served, pods first: what they leave behind is deleted after them.
func (s *Server) contents() []meta.GroupVersionResource {
	var list []meta.GroupVersionResource
	now := s.table.now.Load()
	for e := range now.stored {
		res := e.store.Resource()
		if !res.Namespaced || res.Verbs != nil && !slices.Contains(res.Verbs, "deletecollection") {
			continue
		}
		for _, o := range now.of(e) {
			if len(o.versions) > 0 { // under some name there is one
				list = append(list, o.versions[0].WithResource(o.name.Resource))
				break
			}
		}
	}
	pods := meta.GroupResource{Resource: "pods"}
	slices.SortFunc(list, func(a, b meta.GroupVersionResource) int {
		ra, rb := a.GroupResource(), b.GroupResource()
		switch {
		case ra == pods:
			return -1
		case rb == pods:
			return 1
		}
		return strings.Compare(ra.String(), rb.String())
	})
	return list
}
