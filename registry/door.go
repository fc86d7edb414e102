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

// statusField is what a status is called, the field as well as the door to it.
const statusField = "status"

// Subresource returns the Store of a declared door, which shares the objects, or nil if there is
// none of that name that all versions have. The verbs of a Store through a door are Get and Update.
func (s *Store) Subresource(name string) *Store { return s.doors[door{name: name}] }

// SubresourceIn is Subresource of one version of the resource.
func (s *Store) SubresourceIn(version, name string) *Store {
	if d := s.doors[door{version, name}]; d != nil {
		return d
	}
	return s.Subresource(name)
}

// door is what leads to a subresource: its name, and the version of the resource if it is not the
// same in all.
type door struct{ version, name string }

// openDoors makes the Stores of the doors, and finds out what each may not change and what a change
// means.
func (s *Store) openDoors() error {
	if err := s.compile(); err != nil {
		return fmt.Errorf("registry: %s: %w", s.res.GroupResource, err)
	}
	s.openOwners(s.res.Reset, s.res.ResetIn)
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
			if checks == MetaCommon && (sub.Validate != nil || sub.Judge != nil) {
				checks = s.strategy.Metadata.ofDoor()
			}
			d.strategy = &Strategy{
				Metadata: checks, Prepare: sub.Prepare, Validate: sub.Validate, Judge: sub.Judge, Warnings: sub.Warnings,
			}
		}
		if err := d.narrow(sub); err != nil {
			return fmt.Errorf("registry: %s/%s: %w", s.res.GroupResource, sub.Name, err)
		}
		if sub.Versions == nil {
			d.openOwners(sub.Reset, nil)
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

// resetBy is what a door resets that is not the same in all versions, or not there: by version, as
// somebody who writes through it meets owners of others.
func (s *Store) resetBy(name string) map[string][]string {
	reset := map[string][]string{}
	for i := range s.res.Subresources {
		if sub := &s.res.Subresources[i]; sub.Name == name {
			for _, version := range sub.Versions {
				reset[version] = sub.Reset
			}
		}
	}
	return reset
}

// compile makes what the declaration says of fields into functions.
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

// narrow lets a door change what it owns, and show the kind that it has of its own.
func (s *Store) narrow(sub *Subresource) error {
	if len(sub.Owns) > 0 { // else the door takes back what others own, as the resource itself does
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
	if sub.Prepare != nil || sub.Validate != nil || sub.Judge != nil || sub.Warnings != nil {
		return errors.New("what a door with a kind of its own changes follows the rules of the resource")
	}
	var err error
	s.kind, err = s.cfg.kindOf(sub.Kind)
	s.fixed = sub.Kind
	return err
}

// overlap reports whether one of some fields is, holds or is part of one of others.
func overlap(fields, others []string) bool {
	return slices.ContainsFunc(fields, func(a string) bool {
		return slices.ContainsFunc(others, func(b string) bool {
			return strings.HasPrefix(a+".", b+".") || strings.HasPrefix(b+".", a+".")
		})
	})
}

// kindOf returns a kind that has a version.
func (c *Config) kindOf(gvk meta.GroupVersionKind) (kind.Kind, error) {
	k := c.Kinds.Kind(gvk.GroupKind())
	if k == nil || kind.In(k, gvk.Version) == nil {
		return nil, fmt.Errorf("the kind %s is not registered", gvk)
	}
	return k, nil
}

// present is an object as the door shows it.
func (s *Store) present(ctx context.Context, obj *cache.Object, to Occasion) (request.Encoded, error) {
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

// encodeShown encodes what a door with a kind of its own shows of an object.
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

// show returns what a door with a kind of its own shows of an object, with the metadata that
// identifies it; nil of nil.
func (s *Store) show(obj meta.Object, to Occasion) (meta.Object, error) {
	if obj == nil {
		return nil, nil
	}
	shown, err := s.project.Show(obj, to)
	if err != nil {
		return nil, err
	}
	m := obj.GetObjectMeta()
	*shown.GetObjectMeta() = meta.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp,
	}
	return shown, nil
}

// project puts what the client changed of what it was shown into the object itself.
func (w *write) project(ctx context.Context) error {
	shown := w.obj
	errs := w.s.kind.Check(ctx, shown, w.attrs.Old, w.s.fixed.Version)
	if f := w.s.project.Validate; f != nil {
		errs = append(errs, f(shown)...)
	}
	if len(errs) > 0 {
		return meta.NewInvalid(w.s.kind.GroupKind(), w.req.Name, errs)
	}
	// An update that names another object has been refused before. A patch has not: it is the
	// patched object that names one.
	if want, have := shown.GetObjectMeta().UID, w.old.GetObjectMeta().UID; want != "" && want != have {
		door := w.s.res.GroupResource
		door.Resource += "/" + w.s.subresource
		//lint:ignore ST1005 clients know kube-apiserver's wording
		return meta.NewConflict(door, w.req.Name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s",
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

// made is an object that was encoded for one request.
type made struct {
	data []byte // JSON
	form uint32
	rev  uint64
}

func (m *made) Stored() ([]byte, uint32) { return m.data, m.form }
func (m *made) Head() int                { return 1 }
func (m *made) Revision() uint64         { return m.rev }

func (m *made) Form(_ uint32, build func() ([]byte, error)) ([]byte, error) { return build() }

// KeepMeta is the Prepare of a door that is for nothing but its own fields: what clients may change
// of metadata stays as it is.
func KeepMeta[T meta.Object](_ *Request, obj, old T) {
	m, was := obj.GetObjectMeta(), old.GetObjectMeta()
	m.Labels, m.Annotations = scheme.DeepCopy(was.Labels), scheme.DeepCopy(was.Annotations)
	m.Finalizers, m.OwnerReferences = scheme.DeepCopy(was.Finalizers), scheme.DeepCopy(was.OwnerReferences)
	m.DeletionTimestamp = was.DeletionTimestamp
}
