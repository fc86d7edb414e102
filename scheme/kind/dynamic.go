package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file implements Kind for schemas that arrive at run time. The controller of
// CustomResourceDefinitions declares a Dynamic for each of them. dynamiccodec.go decodes and
// encodes its objects, dynamicconvert.go converts them, dynamicpaths.go has Keeper and Differ.

// Dynamic declares a kind without a Go type. Its objects are *scheme.Unstructured.
type Dynamic struct {
	GroupKind meta.GroupKind
	// Versions are the versions that objects can be in, the preferred one first.
	Versions []DynamicVersion
	// Hub is the version that strategies see; "" stands for the preferred one.
	Hub string
	// Hubless kinds show strategies each object in the version that the client uses, and leave
	// validation to the strategies: Kind.Check finds nothing. Custom resources are hubless, because
	// each of their versions has validation rules of its own.
	Hubless bool
	// ClusterScoped says that objects have no namespace, so that field selectors cannot name it.
	ClusterScoped bool
	// Convert converts objects into another version. It may change the objects. The results carry
	// the apiVersion of that version and are in the order of the objects, none of which is in that
	// version already. Each makes a Converter of a function for one object. nil means that versions
	// differ only in the fields they know.
	Convert Converter
}

// DynamicVersion is one version of a Dynamic.
type DynamicVersion struct {
	Name string
	// Schema describes the objects (schema.Parse makes one). Nobody may change it after New.
	Schema *schema.Schema
	// Load returns the schema if Schema is nil. It is called when the schema is first needed: once
	// for handling objects, and possibly several times before that for Version.Schema.
	Load func() *schema.Schema
	// Evolves says that the store may hold objects that an earlier schema completed, so that they
	// are defaulted again when they are read.
	Evolves bool
	// Selectable lists the fields that field selectors may name besides metadata.name and
	// metadata.namespace.
	Selectable []string
}

// New returns the Kind that d declares.
func (d Dynamic) New() (Kind, error) {
	if len(d.Versions) == 0 {
		return nil, fmt.Errorf("the kind %s has no versions", d.GroupKind)
	}
	k := &dynamic{gk: d.GroupKind, convert: d.Convert, hub: d.Hub, hubless: d.Hubless}
	if k.hub == "" {
		k.hub = d.Versions[0].Name
	}
	for i := range d.Versions {
		if In(k, d.Versions[i].Name) != nil {
			return nil, fmt.Errorf("the kind %s has the version %q twice", d.GroupKind, d.Versions[i].Name)
		}
		k.versions = append(k.versions, d.version(&d.Versions[i]))
	}
	if In(k, k.hub) == nil {
		return nil, fmt.Errorf("the kind %s has no version %q to be the hub", d.GroupKind, k.hub)
	}
	return k, nil
}

// version returns the Version that v declares. Its schema is not loaded yet.
func (d *Dynamic) version(v *DynamicVersion) *Version {
	gvk := meta.GroupVersionKind{Group: d.GroupKind.Group, Version: v.Name, Kind: d.GroupKind.Kind}
	l := &lazy{load: v.Load}
	switch {
	case v.Schema != nil:
		l.kept.Store(v.Schema)
	case v.Load == nil:
		l.kept.Store(&schema.Schema{Type: schema.Object, PreserveUnknown: true, Resource: true})
	}
	labels := append([]string{"metadata.name"}, v.Selectable...)
	if !d.ClusterScoped {
		labels = append(labels, "metadata.namespace")
	}
	made := &Version{
		GVK:        gvk,
		Schema:     l.show,
		rules:      l.use,
		Selectable: v.Selectable,
		FieldLabel: func(label, value string) (string, string, error) {
			if !slices.Contains(labels, label) {
				return "", "", fmt.Errorf("field label not supported: %s", label)
			}
			return label, value, nil
		},
	}
	if v.Evolves {
		made.Settled = func(data []byte) bool {
			tree, err := jsontext.Decode(data, nil)
			return err == nil && hasGeneration(tree) && l.use().PrunedAndDefaulted(tree)
		}
		made.Complete = func(obj meta.Typed) bool {
			u := obj.(*scheme.Unstructured)
			return u.Generation != 0 && l.use().PrunedAndDefaulted(u.Content)
		}
	}
	return made
}

// hasGeneration reports whether an object has a generation. Only objects that very old servers
// stored have none.
func hasGeneration(tree any) bool {
	object, _ := tree.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	return metadata["generation"] != nil
}

// dynamic implements Kind with a schema for each version.
type dynamic struct {
	gk       meta.GroupKind
	hub      string
	hubless  bool
	versions []*Version
	convert  Converter
}

func (k *dynamic) GroupKind() meta.GroupKind { return k.gk }
func (k *dynamic) Versions() []*Version      { return k.versions }
func (k *dynamic) Stored() []*Version        { return nil }

func (k *dynamic) New() meta.Object {
	u := &scheme.Unstructured{}
	u.SetGroupVersionKind(In(k, k.hub).GVK)
	return u
}

// Prune implements Kind by the schema of the object's version. It does nothing to an object in a
// version that k does not have.
func (k *dynamic) Prune(ctx context.Context, obj meta.Typed) error {
	u := obj.(*scheme.Unstructured)
	version := In(k, u.GroupVersionKind().Version)
	if version == nil {
		return nil
	}
	_, err := version.prune(meter.New(ctx), u.Content)
	return err
}

// prune removes unknown fields from a tree and returns their names. It also coerces the metadata of
// embedded resources.
func (v *Version) prune(m *meter.Meter, tree map[string]any) (unknown []string, err error) {
	unknown = v.rules().Prune(m, tree)
	if wrong := v.rules().Coerce(m, nil, tree); wrong != nil {
		return unknown, wrong
	}
	return unknown, m.Err()
}

// Default implements Kind by the schema of the object's version. It does nothing to an object in a
// version that k does not have.
func (k *dynamic) Default(ctx context.Context, obj meta.Typed) error {
	u := obj.(*scheme.Unstructured)
	version := In(k, u.GroupVersionKind().Version)
	if version == nil {
		return nil
	}
	if u.Content == nil {
		u.Content = map[string]any{}
	}
	err := version.rules().SetDefaults(meter.New(ctx), u.Content)
	if errors.Is(err, schema.ErrTooLarge) {
		return meta.NewRequestEntityTooLarge(err.Error())
	}
	return err
}

// notRegistered returns the error for a group, version or kind that this kind does not have.
func (k *dynamic) notRegistered(gvk meta.GroupVersionKind) error {
	return &scheme.NotRegisteredError{Scheme: "coracle", GVK: gvk}
}

// Hub implements Kind. Strategies of a hubless kind see the version that the client uses.
func (k *dynamic) Hub(version string) string {
	if k.hubless {
		return version
	}
	return scheme.InternalVersion
}

// Check implements Kind by the schema of the hub. It finds nothing for a hubless kind, whose
// strategies validate its objects.
func (k *dynamic) Check(ctx context.Context, obj, old meta.Object, _ string) field.ErrorList {
	if k.hubless {
		return nil
	}
	var before any
	if old != nil {
		before = old.(*scheme.Unstructured).Content
	}
	s, tree, m := In(k, k.hub).rules(), obj.(*scheme.Unstructured).Content, meter.New(ctx)
	return slices.Concat(s.Validate(m, nil, tree, before), s.ValidateResources(m, nil, tree),
		s.ValidateLists(m, nil, tree, before))
}
