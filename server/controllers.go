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
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/holdings"
)

// resourceOfKind returns the resource that serves a kind in a version, and whether it has the
// subresource scale. ok is false if the server does not serve the kind in that version.
func (s *Server) resourceOfKind(gvk meta.GroupVersionKind) (resource meta.GroupVersionResource, scales, ok bool) {
	o := s.Table().Now().Kinds[gvk.GroupKind()]
	if o == nil || !o.Serves(gvk.GroupVersion(), "") {
		return meta.GroupVersionResource{}, false, false
	}
	return gvk.GroupVersion().WithResource(o.Name.Resource), o.Serves(gvk.GroupVersion(), "scale"), true
}

// addControllers adds one post-start hook that starts the selected controllers. If other servers
// may share the store (shared), the servers elect one among them, and the controllers run only
// there. A controller is left out if this server does not serve its resources, or cannot sign what
// it makes. may answers what users may do.
func (s *Server) addControllers(selection []string, shared bool, may request.Authorizer) error {
	var steady, yielding []controllerEntry
	for _, c := range controllerSet {
		switch {
		case !selected(selection, c.name) ||
			slices.ContainsFunc(c.needs, func(gr meta.GroupResource) bool { return s.Store(gr) == nil }),
			c.signs != nil && !c.signs(s.identity):
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
		wg.Go(func() { s.runControllers(ctx, steady, may) })
		wg.Go(func() { s.whileNoManager(ctx, func(ctx context.Context) { s.runControllers(ctx, yielding, may) }) })
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

// runControllers runs the controllers of list until ctx ends. They share informers, so that each
// resource is watched once.
func (s *Server) runControllers(ctx context.Context, list []controllerEntry, may request.Authorizer) {
	in, held := controller.NewInformers(ctx, s.client, s.loopLog("informers")), s.holdings()
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Go(func() { c.make(controllerEnv{s, in, held, may, s.loopLog(c.name)}).Run(ctx) })
	}
	wg.Wait()
	in.Wait()
}

// loopLog is the log of a controller or another loop. It limits how often a message repeats,
// because a failure may concern many objects, again and again.
func (s *Server) loopLog(name string) *zap.Logger { return filters.LimitLog(s.Log().Named(name)) }

// election returns the election among the servers that share the store, by the Lease
// coracle-controllers.
func (s *Server) election() *controller.Election {
	return &controller.Election{
		Client:   s.client,
		Lease:    "coracle-controllers",
		Identity: hostname() + "_" + string(registry.NewUID()), // the UID makes the identity unique
		Log:      s.loopLog("election"),
	}
}

// hostname is the name of this machine, "" if it is unknown, for people who read Leases.
func hostname() string {
	host, _ := os.Hostname()
	return host
}

// whileNoManager runs f while no kube-controller-manager holds its Lease, and ends f's context when
// one does. If the server serves no Leases it runs f at once.
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

// controllerName returns the full name of a controller that is given by the short name of older
// kube-controller-managers, and any other name unchanged.
func controllerName(name string) string {
	for i := range controllerSet {
		if c := &controllerSet[i]; c.short == name && name != "" {
			return c.name
		}
	}
	return name
}

// selected reports whether a list of names, "*" and "-name" selects a controller. The first item
// that names the controller decides; otherwise "*" anywhere selects it.
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

// holdings returns the view of all resources and their contents that the namespace controller and
// the garbage collector have beside their client.
func (s *Server) holdings() *holdings.Holdings {
	return holdings.New(holdings.Needs{
		Table: s.Table(), Backends: s.Backends(), ServersBehind: s.behind, Ready: s.life.ready,
	})
}
