package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// A door is a Store for a subresource that shows the object, or a part of it: status, scale,
// resize. This file makes the doors of a Store (New and Redeclare call openDoors), and shows and
// changes objects through a door with a kind of its own; create.go and update.go call project and
// present.

// statusField is the name of the status field and of the subresource for it.
const statusField = "status"

// Subresource returns the Store of a declared door that all versions of the resource have; nil if
// there is none of that name. It shares the objects of s. It serves only Get and Update.
func (s *Store) Subresource(name string) *Store { return s.doors[door{name: name}] }

// SubresourceIn returns the Store of a declared door in one version of the resource; nil if that
// version has none of that name.
func (s *Store) SubresourceIn(version, name string) *Store {
	if d := s.doors[door{version, name}]; d != nil {
		return d
	}
	return s.Subresource(name)
}

// door is the key of a subresource in Store.doors: its name, and the version of the resource if the
// versions have different subresources of that name.
type door struct{ version, name string }

// openDoors makes the Stores of the doors. Each is a copy of s with other rules: which fields it
// may change, which changes metadata.generation counts, who can own what.
func (s *Store) openDoors() error {
	if err := s.compile(); err != nil {
		return fmt.Errorf("registry: %s: %w", s.res.GroupResource, err)
	}
	s.openOwners(s.res.ResetFields, s.res.ResetFieldsIn)
	s.doors = map[door]*Store{}
	for i := range s.res.Subresources {
		sub := &s.res.Subresources[i]
		if sub.Create != nil || sub.Connect != nil {
			continue
		}
		d := *s
		d.subresource, d.project = sub.Name, sub.Project
		if sub.Project == nil {
			checks := sub.Metadata
			if checks == MetaCommon && (sub.Validate != nil || sub.ValidateRequest != nil) {
				checks = s.strategy.Metadata.ofDoor()
			}
			d.strategy = &Strategy{
				Metadata: checks, Prepare: sub.Prepare, Validate: sub.Validate, ValidateRequest: sub.ValidateRequest,
				Warnings: sub.Warnings,
			}
		}
		if err := d.narrow(sub); err != nil {
			return fmt.Errorf("registry: %s/%s: %w", s.res.GroupResource, sub.Name, err)
		}
		if sub.Versions == nil {
			d.openOwners(sub.ResetFields, nil)
			s.doors[door{name: sub.Name}] = &d
		}
		for _, version := range sub.Versions {
			of := d
			of.version = version
			of.openOwners(nil, s.resetBy(sub.Name))
			s.doors[door{version, sub.Name}] = &of
		}
	}
	return nil
}

// resetBy returns the ResetFields of the doors of a name, by version. A write needs those of all
// versions, because it also converts the fields that managers own in other versions.
func (s *Store) resetBy(name string) map[string][]string {
	reset := map[string][]string{}
	for i := range s.res.Subresources {
		if sub := &s.res.Subresources[i]; sub.Name == name {
			for _, version := range sub.Versions {
				reset[version] = sub.ResetFields
			}
		}
	}
	return reset
}

// compile turns the field lists of the declaration (Owns, Status, Generation) into the functions
// takeBack, empty and differ.
func (s *Store) compile() error {
	var owned []string // by any door
	for i := range s.res.Subresources {
		owned = append(owned, s.res.Subresources[i].Owns...)
	}
	var err error
	if len(owned) > 0 {
		if s.takeBack, err = s.reader.kind.Keeper(owned, false); err != nil {
			return err
		}
	}
	if st := s.res.Status; st != nil && !st.OnCreate {
		keep, err := s.reader.kind.Keeper([]string{statusField}, false)
		if err != nil {
			return err
		}
		none := s.reader.kind.New()
		s.empty = func(obj meta.Object) { keep(obj, none) }
	}
	if len(s.res.Generation) > 0 {
		if s.differ, err = s.reader.kind.Differ(s.res.Generation); err != nil {
			return err
		}
	}
	return nil
}

// narrow restricts a door to the fields that it owns, and sets the kind of a door with a kind of
// its own.
func (s *Store) narrow(sub *Subresource) error {
	if len(sub.Owns) > 0 { // else takeBack stays that of the resource
		var err error
		if s.takeBack, err = s.reader.kind.Keeper(sub.Owns, true); err != nil {
			return err
		}
		if !overlap(sub.Owns, s.res.Generation) {
			s.differ = nil
		}
	}
	if none := sub.Kind == (meta.GroupVersionKind{}); none != (sub.Project == nil) {
		return errors.New("a door has a kind of its own and a projection, or neither")
	} else if none {
		return nil
	}
	if sub.Prepare != nil || sub.Validate != nil || sub.ValidateRequest != nil || sub.Warnings != nil {
		return errors.New("what a door with a kind of its own changes follows the rules of the resource")
	}
	var err error
	s.kind, err = s.cfg.kindOf(sub.Kind)
	s.fixed = sub.Kind
	return err
}

// overlap reports whether a field of the first list equals, contains or is contained in one of the
// second.
func overlap(fields, others []string) bool {
	return slices.ContainsFunc(fields, func(a string) bool {
		return slices.ContainsFunc(others, func(b string) bool {
			return strings.HasPrefix(a+".", b+".") || strings.HasPrefix(b+".", a+".")
		})
	})
}

// kindOf returns the registered kind of gvk, and fails if it has no such version.
func (c *Config) kindOf(gvk meta.GroupVersionKind) (kind.Kind, error) {
	k := c.Kinds.Kind(gvk.GroupKind())
	if k == nil || kind.In(k, gvk.Version) == nil {
		return nil, fmt.Errorf("the kind %s is not registered", gvk)
	}
	return k, nil
}

// present returns an object as the door shows it. Without a kind of its own that is the object
// itself.
func (s *Store) present(ctx context.Context, obj *cache.Object, to ProjectionPurpose) (request.Encoded, error) {
	if s.project == nil {
		return obj, nil
	}
	hub, err := s.oldIn(ctx, obj, s.version)
	if err != nil {
		return nil, s.namedError(ctx, obj, err)
	}
	shown, err := s.show(hub, to)
	if err != nil {
		return nil, s.namedError(ctx, obj, err)
	}
	return s.encodeShown(ctx, obj, shown)
}

// encodeShown encodes shown, which is what a door with a kind of its own shows of obj.
func (s *Store) encodeShown(ctx context.Context, obj *cache.Object, shown meta.Object) (request.Encoded, error) {
	typed, err := s.kind.Convert(ctx, shown, s.fixed.Version)
	if err != nil {
		return nil, s.namedError(ctx, obj, err)
	}
	typed.GetTypeMeta().SetGroupVersionKind(s.fixed)
	data, err := s.kind.Append(nil, typed, codec.Media{})
	if err != nil {
		return nil, s.namedError(ctx, obj, err)
	}
	return &made{data: data, form: s.FormOf(s.fixed.Version, codec.Media{}), rev: obj.Revision()}, nil
}

// show returns what a door with a kind of its own shows of an object. The metadata are those that
// identify the object. For nil it returns nil.
func (s *Store) show(obj meta.Object, to ProjectionPurpose) (meta.Object, error) {
	if obj == nil {
		return nil, nil
	}
	shown, err := s.project.Show(obj, to)
	if err != nil {
		return nil, err
	}
	m := obj.GetObjectMeta()
	*shown.GetObjectMeta() = meta.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
	}
	return shown, nil
}

// project checks the object of the door's kind that the mutators left in w.obj, and applies it to a
// copy of the stored object, which replaces it in w.obj. w.attrs.Old is the old object as the door
// shows it, w.old the old object itself. project also translates managedFields back to the fields
// of the stored object, unless the request has no field manager.
func (w *write) project(ctx context.Context) error {
	shown := w.obj
	errs := w.s.kind.Check(ctx, shown, w.attrs.Old, w.s.fixed.Version)
	if f := w.s.project.Validate; f != nil {
		errs = append(errs, f(shown)...)
	}
	if len(errs) > 0 {
		return meta.NewInvalid(w.s.kind.GroupKind(), w.req.Name, errs)
	}
	// A UID in the body of an update was compared before. The UID in a patched object was not.
	if want, have := shown.GetObjectMeta().UID, w.old.GetObjectMeta().UID; want != "" && want != have {
		door := w.s.res.GroupResource
		door.Resource += "/" + w.s.subresource
		//lint:ignore ST1005 clients know kube-apiserver's wording
		return meta.NewConflict(door, w.req.Name, fmt.Errorf(
			"Precondition failed: UID in precondition: %s, UID in object meta: %s",
			meta.Excerpt(string(want)), have))
	}
	w.obj = scheme.Copy(w.old).(meta.Object)
	if err := w.s.project.Apply(w.obj, shown); err != nil {
		return err
	}
	o := w.owner()
	if o == nil {
		return nil
	}
	m := w.obj.GetObjectMeta()
	var err error
	m.ManagedFields, err = o.scale.Into(ctx, m.ManagedFields, shown.GetObjectMeta().ManagedFields)
	return err
}

// made is an object that was encoded for one request, and is not in the cache.
type made struct {
	data []byte // JSON
	form uint32
	rev  uint64
}

func (m *made) Stored() ([]byte, uint32) { return m.data, m.form }
func (m *made) Head() int                { return 1 }
func (m *made) Revision() uint64         { return m.rev }

func (m *made) Form(_ uint32, build func() ([]byte, error)) ([]byte, error) { return build() }

// KeepMeta is the Prepare of a door that must not change metadata: labels, annotations, finalizers,
// owner references and the deletion time stay those of the old object.
func KeepMeta[T meta.Object](_ *Request, obj, old T) {
	m, was := obj.GetObjectMeta(), old.GetObjectMeta()
	m.Labels, m.Annotations = scheme.DeepCopy(was.Labels), scheme.DeepCopy(was.Annotations)
	m.Finalizers, m.OwnerReferences = scheme.DeepCopy(was.Finalizers), scheme.DeepCopy(was.OwnerReferences)
	m.DeletionTimestamp = was.DeletionTimestamp
}
