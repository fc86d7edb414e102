// Package bootstrap makes the objects that a server has from its start: those that every cluster
// has, and those of its configuration's manifests. It keeps those of them that must not go.
//
// Words: a standing object is one that every cluster has: four namespaces, two priority classes,
// the roles and bindings of RBAC, flow schemas and priority levels, and the config map about tokens
// in secrets. A manifest is an object in a file, or one that a program gives.
//
// Laws:
//   - Each kind of standing objects has a hook, and so have the manifests. The server is not ready
//     before all hooks have returned, and then the objects are there.
//   - A server without a resource makes nothing of it.
//   - Where all is as it should be, nothing is written. Several servers on one store may do the
//     same work at the same time.
//   - A standing object that somebody has changed is mended where it lacks something, or left
//     alone: the rules are beside each kind. What a manifest says holds whenever a server starts.
//
// A Bootstrap belongs to one server. Its hooks work by the client of the server itself, except for
// roles, which are written to the stores. What it keeps runs in the background of controllers,
// which ends before the server turns requests away.
//
// Not here: what the roles are (registry/rbac), how flow schemas are mended and what their status
// says (server/flows), objects of each start that depend on addresses (server).
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

// Needs is what a Bootstrap is made of.
type Needs struct {
	Host   generic.Host
	Client *client.Client // of the server itself
	// Run runs a loop that is a client of the server, until the server is about to turn requests
	// away.
	Run func(loop func(ctx context.Context))
	// Ready is closed when all hooks of the server have returned.
	Ready <-chan struct{}
	// Defined is how far the server has served the definitions of custom resources.
	Defined *generic.Progress
	// Manifests is a file of manifests or a folder of such files; "" for none. Objects are further
	// manifests, which come after those.
	Manifests string
	Objects   []manifest.Object
	// FlowStatus has the status of flow schemas kept.
	FlowStatus bool
}

// Bootstrap makes and keeps objects. It does nothing before its hooks run.
type Bootstrap struct {
	needs     Needs
	manifests *manifests // nil: there are none
}

// New makes a Bootstrap. It reads all manifests, and returns an error if it cannot read one.
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

// Hooks returns the work to do when the server listens: that of the manifests first, if there are
// any, then that of the standing objects whose resources are served.
func (b *Bootstrap) Hooks() []generic.Hook {
	var hooks []generic.Hook
	if b.manifests != nil {
		hooks = append(hooks, generic.Hook{Name: "apply-manifests", Run: b.manifests.hook})
	}
	for i := range allStanding {
		if o := &allStanding[i]; b.serves(o.of...) {
			hooks = append(hooks, generic.Hook{Name: o.hook, Run: func(ctx context.Context) error {
				b.make(ctx, o)
				return nil
			}})
		}
	}
	if b.needs.FlowStatus && b.serves(flowSchemas, priorityLevels) {
		hooks = append(hooks, generic.Hook{Name: "priority-and-fairness-config-consumer", Run: b.tellOfFlows})
	}
	return hooks
}

// standing are standing objects that one hook makes.
type standing struct {
	hook string
	of   []meta.GroupResource // what they need; the first is the resource of the objects
	// add makes the objects that are missing. It may be called again.
	add func(b *Bootstrap, ctx context.Context) error
	// keep goes on after add has succeeded, until ctx ends; nil: nobody can delete the objects, or
	// they come again at the next start.
	keep func(b *Bootstrap, ctx context.Context)
}

// allStanding are the standing objects. The names of the hooks are those of kube-apiserver.
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

// serves reports whether the server has all of the resources.
func (b *Bootstrap) serves(list ...meta.GroupResource) bool {
	return !slices.ContainsFunc(list, func(gr meta.GroupResource) bool { return b.needs.Host.Store(gr) == nil })
}

// make tries until it has made the objects that are missing, or ctx ends. Then it has them kept.
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
		if meta.IsNotFound(err) { // its namespace is about to come
			pause = 10 * time.Millisecond
		} else {
			b.log().Warn("cannot create the system's objects yet", zap.String("resource", o.of[0].Resource),
				zap.Error(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// addMissing creates those of the objects that do not exist.
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
		b.log().Debug("created a system object", zap.String("resource", gvr.Resource), zap.String("name", name))
	}
	return nil
}

// log is the log of the server.
func (b *Bootstrap) log() *zap.Logger { return b.needs.Host.Log() }

// loopLog is the log of a loop. It is limited: what keeps a loop from its work may happen again and
// again.
func (b *Bootstrap) loopLog(name string) *zap.Logger { return filters.LimitLog(b.log().Named(name)) }
