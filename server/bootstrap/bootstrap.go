// Package bootstrap makes the objects that a server has from its start: the objects that every
// cluster has, and the objects of the configured manifests. If an object that must always exist is
// deleted, the package makes it again.
//
// Words: a standing object is one that every cluster has: four Namespaces, two PriorityClasses, the
// roles and bindings of RBAC, FlowSchemas and PriorityLevelConfigurations, and the ConfigMap about
// tokens in secrets. A manifest is an object in a file, or one that a program passes in its
// configuration.
//
// Laws:
//   - Each kind of standing objects has a post-start hook, and so have the manifests. So when the
//     server is ready the objects exist.
//   - If the server does not serve a resource, the package makes no objects of it.
//   - The package does not write an object that is as it should be. Several servers on one store
//     may do the same work at the same time.
//   - If somebody has changed a standing object, the package adds what the object lacks, or leaves
//     it alone: the comments of each add function say which. Every start applies the manifests
//     again.
//
// A Bootstrap belongs to one server. Its hooks use the client by which the server calls itself,
// except for roles, which they write to the stores. Loops that keep objects run with the
// controllers, which end before the server refuses requests.
//
// Not here: what the roles are (registry/rbac), how FlowSchemas are mended and what their status
// says (server/flows), objects that depend on addresses (server/addresses).
//
// Read: bootstrap.go, objects.go, legacytokens.go, roles.go, manifests.go.
package bootstrap

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
)

// Needs is what New takes.
type Needs struct {
	Host   generic.Host
	Client *client.Client // of the server itself
	// Run runs a loop that is a client of the server. Its context ends before the server refuses
	// requests.
	Run func(loop func(ctx context.Context))
	// Ready is closed when all post-start hooks have returned.
	Ready <-chan struct{}
	// Defined is the revision up to which the server serves the resources of
	// CustomResourceDefinitions.
	Defined *generic.Progress
	// Manifests is a file of manifests or a folder of such files; "" means none. Objects are
	// further manifests, which are applied after those of Manifests.
	Manifests string
	Objects   []manifest.Object
	// FlowStatus says that this server writes the status of FlowSchemas.
	FlowStatus bool
}

// Bootstrap makes and keeps the objects. It does nothing before its hooks run.
type Bootstrap struct {
	needs     Needs
	manifests *manifests // nil: there are none
}

// New makes a Bootstrap. It parses all manifests, and returns an error if one cannot be parsed.
func New(n Needs) (*Bootstrap, error) {
	objects, err := readManifests(n.Manifests, n.Objects)
	if err != nil {
		return nil, err
	}
	b := &Bootstrap{needs: n}
	if n.Manifests != "" || len(objects) > 0 {
		b.manifests = newManifests(b, objects)
	}
	return b, nil
}

// Hooks returns the post-start hooks: one for the manifests, if there are any, and one for each
// kind of standing objects whose resources are served.
func (b *Bootstrap) Hooks() []generic.Hook {
	var hooks []generic.Hook
	if b.manifests != nil {
		hooks = append(hooks, generic.Hook{Name: "apply-manifests", Run: b.manifests.hook})
	}
	for i := range allStanding {
		if o := &allStanding[i]; b.serves(o.uses...) {
			hooks = append(hooks, generic.Hook{Name: o.hook, Run: func(ctx context.Context) error {
				b.make(ctx, o)
				return nil
			}})
		}
	}
	if b.needs.FlowStatus && b.serves(flowSchemas, priorityLevels) {
		hooks = append(hooks, generic.Hook{Name: "priority-and-fairness-config-consumer", Run: b.startFlowStatus})
	}
	return hooks
}

// standing is one kind of standing objects, which one hook makes.
type standing struct {
	hook string
	uses []meta.GroupResource // the resources that add uses; the first is that of the objects made
	// add makes the objects that are missing. It may be called again.
	add func(b *Bootstrap, ctx context.Context) error
	// keep makes deleted objects again, from the success of add until ctx ends. It is nil if nobody
	// can delete the objects, or if it is enough that the next start makes them again.
	keep func(b *Bootstrap, ctx context.Context)
}

// allStanding lists the kinds of standing objects. The names of the hooks are those of
// kube-apiserver.
var allStanding = []standing{
	{"start-system-namespaces-controller", []meta.GroupResource{namespaces},
		(*Bootstrap).addNamespaces, (*Bootstrap).keepNamespaces},
	{"start-legacy-token-tracking-controller", []meta.GroupResource{configMaps, namespaces, secrets},
		(*Bootstrap).addTracking, (*Bootstrap).keepTracking},
	{"scheduling/bootstrap-system-priority-classes", []meta.GroupResource{priorityClasses},
		(*Bootstrap).addClasses, nil},
	{"priority-and-fairness-config-producer", []meta.GroupResource{flowSchemas, priorityLevels},
		(*Bootstrap).addFlows, (*Bootstrap).keepFlows},
	{"rbac/bootstrap-roles", []meta.GroupResource{clusterRoles.GroupResource()}, (*Bootstrap).addRoles, nil},
}

// serves reports whether the server serves all resources of list.
func (b *Bootstrap) serves(list ...meta.GroupResource) bool {
	return !slices.ContainsFunc(list, func(gr meta.GroupResource) bool { return b.needs.Host.Store(gr) == nil })
}

// make calls add until it succeeds, or ctx ends, and then starts keep.
func (b *Bootstrap) make(ctx context.Context, o *standing) {
	for {
		err := o.add(b, ctx)
		if err == nil && o.keep != nil {
			b.needs.Run(func(ctx context.Context) { o.keep(b, ctx) })
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		pause := time.Second
		if meta.IsNotFound(err) { // another hook makes its namespace
			pause = 10 * time.Millisecond
		} else {
			b.log().Warn("cannot create standing objects yet; trying again", zap.String("resource", o.uses[0].Resource),
				zap.Error(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// addMissing creates the objects of list that do not exist. It does not change objects that exist.
func addMissing[T meta.Object](ctx context.Context, b *Bootstrap, gvr meta.GroupVersionResource, list []T) error {
	objects := client.For[T](b.needs.Client, gvr)
	for _, obj := range list {
		name := obj.GetObjectMeta().Name
		if _, err := objects.Get(ctx, name, meta.GetOptions{}); err == nil {
			continue
		}
		if _, err := objects.Create(ctx, obj, meta.CreateOptions{}); err != nil && !meta.IsAlreadyExists(err) {
			return err
		}
		b.log().Debug("created a standing object", zap.String("resource", gvr.Resource), zap.String("name", name))
	}
	return nil
}

// log is the log of the server.
func (b *Bootstrap) log() *zap.Logger { return b.needs.Host.Log() }

// loopLog is the log of a loop. It limits how often a message repeats.
func (b *Bootstrap) loopLog(name string) *zap.Logger { return filters.LimitLog(b.log().Named(name)) }
