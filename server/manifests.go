package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// manifestManager owns the fields that manifests set.
const manifestManager = "coracle-manifests"

// manifests are objects that are to be there before the server is ready. They are applied like a client's, with force: what they say
// of an object holds whenever a server starts, and what they say no more goes. If all of it is so, nothing is written; several
// servers may do it at the same time.
type manifests struct {
	*Server
	defined                      *generic.Progress
	defining, namespaces, others []manifest.Object
}

// defaultNamespace is where objects belong that name none.
const defaultNamespace = "default"

// addManifests has the objects in a folder, and those that are given, applied. What cannot be read is found here, what is refused ends
// the server. defined is how far definitions are followed.
func (s *Server) addManifests(c *APIConfig, defined *generic.Progress) error {
	if c.Manifests == "" && len(c.Objects) == 0 {
		return nil
	}
	var objects []manifest.Object
	if c.Manifests != "" {
		var err error
		if objects, err = manifest.ReadPath(c.Manifests); err != nil {
			return fmt.Errorf("server: manifests: %w", err)
		}
	}
	objects = append(objects, c.Objects...)
	m := &manifests{Server: s, defined: defined}
	for _, o := range objects {
		switch o.Kind.GroupKind() {
		case meta.GroupKind{Group: customResourceDefinitions.Group, Kind: "CustomResourceDefinition"}:
			m.defining = append(m.defining, o)
		case meta.GroupKind{Kind: "Namespace"}:
			m.namespaces = append(m.namespaces, o)
		default:
			m.others = append(m.others, o)
		}
	}
	return s.AddPostStartHook(Hook{Name: "apply-manifests", Run: func(ctx context.Context, _ *Server) error {
		if err := m.run(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		return nil
	}})
}

// run applies definitions, then namespaces, then all others in the order in which they were read.
func (m *manifests) run(ctx context.Context) error {
	if err := m.define(ctx); err != nil {
		return err
	}
	if m.Store(namespaces) != nil {
		if err := m.retry(ctx, "the system's namespaces", func() error { return addSystemNamespaces(ctx, m.Server) }); err != nil {
			return err
		}
	}
	for _, o := range slices.Concat(m.namespaces, m.others) {
		if _, err := m.apply(ctx, &o); err != nil {
			return err
		}
	}
	return nil
}

// define applies the definitions and waits until what they define is served. What earlier definitions define is served, too.
func (m *manifests) define(ctx context.Context) error {
	if m.Store(customResourceDefinitions) == nil && len(m.defining) == 0 {
		return nil
	}
	revisions := make([]string, len(m.defining))
	for i := range m.defining {
		applied, err := m.apply(ctx, &m.defining[i])
		if err != nil {
			return err
		}
		revisions[i] = applied.ResourceVersion
	}
	for i := range m.defining {
		if err := m.established(ctx, &m.defining[i], revisions[i]); err != nil {
			return err
		}
	}
	return m.defined.Wait(ctx, 0)
}

// established waits until a definition, which was applied as of a revision, is established. If its names belong to others that is an
// error, and so it is if nobody can trust its converter.
func (m *manifests) established(ctx context.Context, o *manifest.Object, revision string) error {
	rev, err := strconv.ParseUint(revision, 10, 64)
	if err == nil {
		err = m.defined.Wait(ctx, storage.Revision(rev))
	}
	if err != nil {
		return err
	}
	resource, group, _ := strings.Cut(o.Name, ".")
	served := m.Store(meta.GroupResource{Group: group, Resource: resource}) != nil
	definition := client.For[*apiextensionsv1.CustomResourceDefinition](m.client, o.Kind.GroupVersion().WithResource(customResourceDefinitions.Resource)).
		Source(meta.ListOptions{FieldSelector: "metadata.name=" + o.Name})
	failed := func(err error) {
		m.Log().Warn("cannot follow a definition", zap.String("name", o.Name), zap.Error(err))
	}
	for b := range follow.Changes(ctx, definition, follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Gone || ch.Unread != nil {
				continue
			}
			if settled, err := settled(o, ch.New, served); settled {
				return err
			}
		}
	}
	return ctx.Err()
}

// settled reports whether a definition, whose resource may be served already, is established, or why it will not be.
func settled(o *manifest.Object, def *apiextensionsv1.CustomResourceDefinition, served bool) (bool, error) {
	accepted := extensions.Condition(def, apiextensionsv1.NamesAccepted)
	switch {
	case extensions.Is(def, apiextensionsv1.Established):
		return true, nil
	case !served && accepted != nil && accepted.Status == apiextensionsv1.ConditionFalse:
		return true, fmt.Errorf("%s: the names of %s are not accepted: %s", o.Place(), o.Name, accepted.Message)
	case extensions.Distrusted(def):
		return true, fmt.Errorf("%s: %s cannot be established: the caBundle of its conversion webhook has no certificates", o.Place(), o.Name)
	}
	return false, nil
}

// apply applies an object as its file says, and again for as long as it is not to blame for what fails.
func (m *manifests) apply(ctx context.Context, o *manifest.Object) (applied *meta.PartialObjectMetadata, err error) {
	objects, err := m.resource(o)
	if err == nil {
		err = m.retry(ctx, o.Place(), func() error {
			applied, err = objects.Patch(ctx, o.Name, client.ApplyPatch, o.JSON, meta.PatchOptions{
				FieldManager: manifestManager, Force: new(true), FieldValidation: meta.FieldValidationStrict,
			})
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s %q: %w", o.Place(), o.Kind.Kind, o.Name, err)
	}
	return applied, nil
}

// resource is where an object belongs. Without a namespace it is that which kubectl takes.
func (m *manifests) resource(o *manifest.Object) (objects client.Resource[*meta.PartialObjectMetadata], err error) {
	offer := m.Table().Now().Kinds[o.Kind.GroupKind()]
	switch {
	case offer == nil || offer.Store == nil || !offer.Serves(o.Kind.GroupVersion(), ""):
		return objects, fmt.Errorf("no matches for kind %q in version %q", o.Kind.Kind, o.Kind.GroupVersion())
	case o.Name == "":
		return objects, errors.New("metadata.name is not set")
	}
	objects = client.For[*meta.PartialObjectMetadata](m.client, o.Kind.GroupVersion().WithResource(offer.Name.Resource))
	if offer.Store.Resource().Namespaced {
		namespace := o.Namespace
		setDefault(&namespace, defaultNamespace)
		objects = objects.In(namespace)
	}
	return objects, nil
}

// retry calls f until it succeeds, or fails for a reason that time does not cure.
func (m *manifests) retry(ctx context.Context, what string, f func() error) error {
	for {
		err := f()
		status := meta.StatusOf(err)
		if err == nil || status.Code < 500 && !meta.IsTooManyRequests(err) && !meta.IsConflict(err) {
			return err
		}
		m.Log().Warn("cannot apply a manifest yet", zap.String("at", what), zap.Error(err))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
