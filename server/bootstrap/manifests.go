package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/storage"
)

// The hook apply-manifests applies the manifests at each start, by forced server-side apply, as a
// client would: an object gets the fields of its manifest, and loses the fields that only an
// earlier version of the manifest had. Fields that only other managers have set stay. If an object
// is as its manifest says, the hook writes nothing. The objects exist when the server is ready.

// manifestManager is the field manager of the manifests.
const manifestManager = "coracle-manifests"

// manifests are all manifests of a server, in the three groups that run applies one after the
// other.
type manifests struct {
	*Bootstrap
	defining, namespaces, others []manifest.Object
}

// readManifests reads the manifests at path, unless it is "", and appends more.
func readManifests(path string, more []manifest.Object) (objects []manifest.Object, err error) {
	if path != "" {
		if objects, err = manifest.ReadPath(path); err != nil {
			return nil, fmt.Errorf("server: manifests: %w", err)
		}
	}
	return append(objects, more...), nil
}

func newManifests(b *Bootstrap, objects []manifest.Object) *manifests {
	m := &manifests{Bootstrap: b}
	for _, o := range objects {
		switch o.Kind.GroupKind() {
		case meta.GroupKind{Group: definitions.Group, Kind: "CustomResourceDefinition"}:
			m.defining = append(m.defining, o)
		case meta.GroupKind{Kind: "Namespace"}:
			m.namespaces = append(m.namespaces, o)
		default:
			m.others = append(m.others, o)
		}
	}
	return m
}

// hook applies all manifests. It returns the error of a manifest that is refused, and no error if
// ctx ends.
func (m *manifests) hook(ctx context.Context) error {
	if err := m.run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// run applies CustomResourceDefinitions, then Namespaces, then all others in the order in which
// they were read.
func (m *manifests) run(ctx context.Context) error {
	if err := m.define(ctx); err != nil {
		return err
	}
	if m.serves(namespaces) {
		if err := m.retry(ctx, "the system's namespaces", func() error { return m.addNamespaces(ctx) }); err != nil {
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

// define applies the CustomResourceDefinitions. It then waits until the server serves the resources
// of these definitions and of all other definitions in the store, because instances of any of them
// may be among the manifests.
func (m *manifests) define(ctx context.Context) error {
	if !m.serves(definitions) && len(m.defining) == 0 {
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
	return m.needs.Defined.Wait(ctx, 0)
}

// definitions is the resource of CustomResourceDefinitions.
var definitions = meta.GroupResource{Group: apiextensionsv1.GroupVersion.Group, Resource: "customresourcedefinitions"}

// established waits until a definition that was applied at a revision is established. It returns an
// error if the definition's names belong to another definition, or if the caBundle of its
// conversion webhook holds no certificate.
func (m *manifests) established(ctx context.Context, o *manifest.Object, revision string) error {
	rev, err := strconv.ParseUint(revision, 10, 64)
	if err == nil {
		err = m.needs.Defined.Wait(ctx, storage.Revision(rev))
	}
	if err != nil {
		return err
	}
	served := m.serves(extensions.DefinedBy(o.Name))
	one := client.For[*apiextensionsv1.CustomResourceDefinition](m.needs.Client,
		o.Kind.GroupVersion().WithResource(definitions.Resource)).
		Source(meta.ListOptions{FieldSelector: "metadata.name=" + o.Name})
	failed := func(err error) {
		m.log().Warn("cannot follow a CustomResourceDefinition", zap.String("name", o.Name), zap.Error(err))
	}
	for b := range follow.Changes(ctx, one, follow.Options{Failed: failed}) {
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

// settled reports whether there is nothing more to wait for: the definition is established, or the
// error says why it cannot become established. served says that the server serves the resource
// already. Then the condition NamesAccepted is no reason to fail, because only names that the
// manifest has changed can be in conflict.
func settled(o *manifest.Object, def *apiextensionsv1.CustomResourceDefinition, served bool) (bool, error) {
	accepted := extensions.Condition(def, apiextensionsv1.NamesAccepted)
	switch {
	case extensions.IsConditionTrue(def, apiextensionsv1.Established):
		return true, nil
	case !served && accepted != nil && accepted.Status == apiextensionsv1.ConditionFalse:
		return true, fmt.Errorf("%s: the names of %s are not accepted: %s", o.Position(), o.Name, accepted.Message)
	case extensions.Distrusted(def):
		return true, fmt.Errorf("%s: %s cannot be established: the caBundle of its conversion webhook has no certificates",
			o.Position(), o.Name)
	}
	return false, nil
}

// apply applies one manifest. It repeats failed attempts by the rules of retry.
func (m *manifests) apply(ctx context.Context, o *manifest.Object) (applied *meta.PartialObjectMetadata, err error) {
	objects, err := m.resource(o)
	if err == nil {
		err = m.retry(ctx, o.Position(), func() error {
			applied, err = objects.Patch(ctx, o.Name, client.ApplyPatch, o.JSON, meta.PatchOptions{
				FieldManager: manifestManager, Force: new(true), FieldValidation: meta.FieldValidationStrict,
			})
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s %q: %w", o.Position(), o.Kind.Kind, o.Name, err)
	}
	return applied, nil
}

// resource returns a client for the resource of an object, in the object's namespace or the default
// one.
func (m *manifests) resource(o *manifest.Object) (objects client.Resource[*meta.PartialObjectMetadata], err error) {
	offer := m.needs.Host.Table().Now().Kinds[o.Kind.GroupKind()]
	switch {
	case offer == nil || offer.Store == nil || !offer.Serves(o.Kind.GroupVersion(), ""):
		return objects, fmt.Errorf("no matches for kind %q in version %q", o.Kind.Kind, o.Kind.GroupVersion())
	case o.Name == "":
		return objects, errors.New("metadata.name is not set")
	}
	objects = client.For[*meta.PartialObjectMetadata](m.needs.Client,
		o.Kind.GroupVersion().WithResource(offer.Name.Resource))
	if offer.Store.Resource().Namespaced {
		objects = objects.In(cmp.Or(o.Namespace, DefaultNamespace))
	}
	return objects, nil
}

// retry calls f until it succeeds, with pauses of a second. It gives up if ctx ends, or if the next
// attempt would fail in the same way: any status below 500 except Conflict and TooManyRequests.
func (m *manifests) retry(ctx context.Context, what string, f func() error) error {
	for {
		err := f()
		status := meta.StatusOf(err)
		if err == nil || status.Code < 500 && !meta.IsTooManyRequests(err) && !meta.IsConflict(err) {
			return err
		}
		m.log().Warn("cannot apply a manifest yet; trying again", zap.String("at", what), zap.Error(err))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
