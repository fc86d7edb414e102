package definitions

import (
	"context"
	"errors"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// This file serves the resource that a definition defines, replaces it when the definition changes,
// and removes it when the definition goes. The loop calls it for each decision.

// definition is the loop's record of a definition. It is trimmed (extensions.WithoutSchemas): it
// lacks the schemas and the other parts that only the resource needs, so that thousands of
// definitions cost little memory.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition // with the status that the loop decided on

	source *source          // of the schemas that are served
	rev    storage.Revision // of the state about which the loop has decided
	// written gets the revision that the write of the status has made; nil: no write is under way.
	written  chan storage.Revision
	served   bool              // the resource is installed
	fault    error             // why its present state could not be served; an earlier state may be served
	release  func()            // releases its webhook; nil: nothing to release
	overlaps bool              // the server has a resource of that name itself, so this is not served
	deletion *instanceDeletion // nil: it is not being deleted
}

// source reads the schemas of a definition when they are needed, from the definition in the cache.
// It holds the latest state of the generation that is served. All states of a generation have the
// same schemas, and the cache holds the latest state anyway, so a source costs little memory. The
// loop sets the state, and any goroutine reads it.
type source struct {
	store *registry.Store
	obj   atomic.Pointer[request.Encoded]
}

func newSource(store *registry.Store, obj request.Encoded) *source {
	s := &source{store: store}
	s.set(obj)
	return s
}

// set replaces the state with a later state of the same generation.
func (s *source) set(obj request.Encoded) { s.obj.Store(&obj) }

// schema returns the schema of a version as JSON, or nil if the version has none.
func (s *source) schema(version string) []byte {
	obj, err := s.store.Decode(context.Background(), *s.obj.Load())
	if err != nil {
		return nil
	}
	return obj.(*extensions.Outline).Schema(version)
}

// resource is the resource that the definition defines.
func (f *definition) resource() meta.GroupResource {
	return meta.GroupResource{Group: f.Spec.Group, Resource: f.Spec.Names.Plural}
}

// wrote reports whether rev is the revision of the last write of the status by this server. If so,
// it sets f.rev to rev: the loop has decided about that state. It returns false if the write is not
// done yet. The loop then decides about the state again, with the same result.
func (f *definition) wrote(rev storage.Revision) bool {
	if f.written == nil {
		return false
	}
	select {
	case own := <-f.written:
		f.written = nil
		if own != rev {
			return false
		}
		f.rev = rev
		return true
	default:
		return false
	}
}

// serve makes the resource match next: it installs or replaces the resource, or removes it if the
// definition has not got its names. It does nothing if the server has a resource of that name
// itself. It also leaves the resource alone if nothing changed that the resource depends on
// (extensions.NeedsRedeclaring), because a replacement compiles its schemas again. prev is the
// state before, nil if there was none. def is the definition without its schemas.
func (l *loop) serve(next, prev *definition, def *apiextensionsv1.CustomResourceDefinition) {
	switch {
	case next.overlaps:
	case !extensions.Served(next.CustomResourceDefinition):
		l.removeResource(next)
	case !next.served || prev == nil ||
		extensions.NeedsRedeclaring(prev.CustomResourceDefinition, next.CustomResourceDefinition):
		def.Status = next.Status
		if next.fault = l.install(next, def); next.fault != nil {
			l.log.Warn("a custom resource cannot be served", zap.String("definition", next.Name), zap.Error(next.fault))
		}
	}
}

// install serves the resource of def, and then releases the webhook of the state before. In this
// order a webhook that both states name keeps its connections. If install fails, the state before
// stays in force with its webhook.
func (l *loop) install(next *definition, def *apiextensionsv1.CustomResourceDefinition) error {
	hook, release := l.converters.open(def)
	if err := l.declare(next, def, hook); err != nil {
		release()
		return err
	}
	next.close()
	next.release = release
	return nil
}

// declare installs the resource of def, or replaces it if next is served already. Watches go on
// when a resource is replaced (generic.Resources).
func (l *loop) declare(
	next *definition, def *apiextensionsv1.CustomResourceDefinition, hook *extensions.Webhook,
) error {
	if next.overlaps = !next.served && l.host.Table().Find(next.resource()) != nil; next.overlaps {
		return errors.New("the server has a resource of that name itself")
	}
	res, err := extensions.DeclareWithSchemas(def, next.source.schema, hook, l.converters.metrics.timing())
	if err != nil {
		return err
	}
	res.Since = next.rev
	if extensions.IsConditionTrue(def, apiextensionsv1.Terminating) {
		res.NoCreate = extensions.NoCreate
	}
	if next.served {
		return l.host.Replace(res)
	}
	group := generic.Group{
		Name: res.GroupResource.Group, Priority: generic.CustomPriority, Resources: []registry.Resource{res},
	}
	if err := l.host.Install(l.on, group); err != nil {
		return err
	}
	next.served = true
	return nil
}

// close releases the webhook of the definition, if it has one. Calls that have begun go on.
func (f *definition) close() {
	if f.release != nil {
		f.release()
	}
	f.release = nil
}

// removeResource removes the resource of f, if it is served. The metrics of its conversions are
// deleted after the last request for the resource, which would otherwise make them anew.
func (l *loop) removeResource(f *definition) {
	if !f.served {
		return
	}
	f.served = false
	f.close()
	resource := f.resource()
	gone, err := l.host.Remove(resource)
	if err != nil {
		if !errors.Is(err, generic.ErrClosing) {
			l.log.Warn("a custom resource cannot be removed", zap.String("definition", f.Name), zap.Error(err))
		}
		return
	}
	l.host.Go(func(ctx context.Context) {
		select {
		case <-gone:
		case <-ctx.Done():
			return
		}
		if l.host.Table().Find(resource) == nil { // nobody has defined it again meanwhile
			l.converters.metrics.forget(resource)
		}
	})
}
