package server

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/holdings"
)

// resourceOfKind returns the resource of a kind in a version, and whether its objects have a scale.
func (s *Server) resourceOfKind(gvk meta.GroupVersionKind) (resource meta.GroupVersionResource, scales, ok bool) {
	o := s.Table().Now().Kinds[gvk.GroupKind()]
	if o == nil || !o.Serves(gvk.GroupVersion(), "") {
		return meta.GroupVersionResource{}, false, false
	}
	return gvk.GroupVersion().WithResource(o.Name.Resource), o.Serves(gvk.GroupVersion(), "scale"), true
}

// addControllers adds a post-start hook for the selected controllers. If servers share a store, the
// controllers run in one of the servers at a time.
func (s *Server) addControllers(selection []string, shared bool) error {
	var steady, yielding []controllerEntry
	for _, c := range controllerSet {
		switch {
		case !selected(selection, c.name) ||
			slices.ContainsFunc(c.needs, func(gr meta.GroupResource) bool { return s.Store(gr) == nil }),
			c.signs && !s.identity.Accounts.SignsLegacy():
		case c.yields:
			yielding = append(yielding, c)
		default:
			steady = append(steady, c)
		}
	}
	if len(steady)+len(yielding) == 0 {
		return nil
	}
	run := func(ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() { s.runControllers(ctx, steady) })
		wg.Go(func() { s.whileNoManager(ctx, func(ctx context.Context) { s.runControllers(ctx, yielding) }) })
		wg.Wait()
	}
	return s.AddPostStartHook(Hook{Name: "start-controllers", Run: func(context.Context, *Server) error {
		s.life.controllers.Run(func(ctx context.Context) {
			if shared && s.Store(leases) != nil {
				s.election().Run(ctx, run)
				return
			}
			run(ctx)
		})
		return nil
	}})
}

// runControllers runs some controllers, with informers that they share, until ctx ends.
func (s *Server) runControllers(ctx context.Context, list []controllerEntry) {
	in, held := controller.NewInformers(ctx, s.client, s.loopLog("informers")), s.holdings()
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Go(func() { c.make(controllerEnv{s, in, held, s.loopLog(c.name)}).Run(ctx) })
	}
	wg.Wait()
	in.Wait()
}

// loopLog is the log of a controller or another loop: what keeps it from its work may concern many
// objects, again and again.
func (s *Server) loopLog(name string) *zap.Logger { return filters.LimitLog(s.Log().Named(name)) }

// election is among the servers that share the store.
func (s *Server) election() *controller.Election {
	host, _ := os.Hostname() // it is for people; the rest tells servers apart
	return &controller.Election{
		Client:   s.client,
		Lease:    "coracle-controllers",
		Identity: host + "_" + string(registry.NewUID()),
		Log:      s.loopLog("election"),
	}
}

// whileNoManager runs f as long as no kube-controller-manager does what f does.
func (s *Server) whileNoManager(ctx context.Context, f func(ctx context.Context)) {
	if s.Store(leases) == nil {
		f(ctx)
		return
	}
	(&controller.Yield{Client: s.client, Lease: "kube-controller-manager", Log: s.loopLog("yield")}).Run(ctx, f)
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
	for i := range controllerSet {
		if c := &controllerSet[i]; c.short == name && name != "" {
			return c.name
		}
	}
	return name
}

// selected reports whether a list of names, "*" and "-name" selects a controller. What is left out
// by name stays out.
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

// holdings are what the controllers of namespaces and owners see of the server, apart from being
// its clients.
func (s *Server) holdings() *holdings.Holdings {
	return holdings.New(holdings.Needs{
		Table: s.Table(), Backends: s.Backends(), Behind: s.behind, Ready: s.life.ready,
	})
}
