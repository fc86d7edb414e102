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

// definition is what the loop knows of a definition. It lacks what only its resource needs.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition // trimmed, with the status that it is going to have

	source   *source               // of the schemas that are served
	rev      storage.Revision      // that this was decided from
	written  chan storage.Revision // gets what the write of its status has made; nil: none is under way
	served   bool
	fault    error     // why it is not served as it is now, or at all, though it should be
	release  func()    // releases its webhook; nil: nothing to release
	overlaps bool      // its name is that of a resource of the server's own
	emptying *emptying // nil: it is not being deleted
}

// source is where the schemas of a definition are read from when they are needed: the definition in
// the cache. It is the latest state of the generation that is served.
type source struct {
	store *registry.Store
	obj   atomic.Pointer[request.Encoded]
}

func newSource(store *registry.Store, obj request.Encoded) *source {
	s := &source{store: store}
	s.set(obj)
	return s
}

// set takes a later state of the definition.
func (s *source) set(obj request.Encoded) { s.obj.Store(&obj) }

// schema returns the schema of a version as JSON, nil for none.
func (s *source) schema(version string) []byte {
	obj, err := s.store.Decode(context.Background(), *s.obj.Load())
	if err != nil {
		return nil
	}
	return obj.(*extensions.Outline).Schema(version)
}

// resource is the name of what is defined.
func (f *definition) resource() meta.GroupResource {
	return meta.GroupResource{Group: f.Spec.Group, Resource: f.Spec.Names.Plural}
}

// wrote reports whether a state is the one that this server has written. If so, it becomes the
// state that was decided from.
func (f *definition) wrote(rev storage.Revision) bool {
	if f.written == nil {
		return false
	}
	select {
	case mine := <-f.written:
		f.written = nil
		if mine != rev {
			return false
		}
		f.rev = rev
		return true
	default:
		return false
	}
}

// serve serves what a definition defines, as the definition says now, or ends it if the definition
// is not to be served.
func (l *loop) serve(next, known *definition, def *apiextensionsv1.CustomResourceDefinition) {
	switch {
	case next.overlaps:
	case !extensions.Served(next.CustomResourceDefinition):
		l.end(next)
	case !next.served || known == nil ||
		extensions.Differ(known.CustomResourceDefinition, next.CustomResourceDefinition):
		def.Status = next.Status
		if next.fault = l.install(next, def); next.fault != nil {
			l.log.Warn("a custom resource cannot be served", zap.String("definition", next.Name), zap.Error(next.fault))
		}
	}
}

// install serves a resource by the present state of its definition, and releases the webhook of the
// state before.
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

// declare adds the resource of a definition, or replaces the resource that is served.
func (l *loop) declare(
	next *definition, def *apiextensionsv1.CustomResourceDefinition, hook *extensions.Webhook,
) error {
	if next.overlaps = !next.served && l.host.Table().Find(next.resource()) != nil; next.overlaps {
		return errors.New("the server has a resource of that name itself")
	}
	res, err := extensions.DeclareBy(def, next.source.schema, hook)
	if err != nil {
		return err
	}
	res.Since = next.rev
	if extensions.Is(def, apiextensionsv1.Terminating) {
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

// close releases the webhook of a definition. Calls that have begun go on.
func (f *definition) close() {
	if f.release != nil {
		f.release()
	}
	f.release = nil
}

// end removes the resource of a definition. What was counted of its conversions goes with its last
// request.
func (l *loop) end(f *definition) {
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
		if l.host.Table().Find(resource) == nil { // it has not come again
			l.converters.metrics.forget(resource)
		}
	})
}
