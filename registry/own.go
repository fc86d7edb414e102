package registry

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file records who owns which fields of an object, in metadata.managedFields (server-side
// apply, KEP-555), over scheme/apply. The steps of create.go call own, apply, keepOwners and
// keepTimes; action.go uses owner for objects that are not stored.

// owner records who owns the fields of a Store's objects, for clients that write in one version. It
// is immutable.
type owner struct {
	apply.Door
	version string
	form    uint32              // the form of JSON in the version
	empty   func() (any, error) // the tree of an object without fields, which a create starts from
	scale   *apply.Scale        // nil unless the door shows a Scale
}

// openOwners makes the owner of each version. Nobody can own the fields in reset through this
// Store; resetIn, if not nil, lists them by version instead. With resetIn, the owners of the
// resource itself reset fields in the version of the request only, as kube-apiserver does.
func (s *Store) openOwners(reset []string, resetIn map[string][]string) {
	s.reset, s.resetIn, s.owners = reset, resetIn, map[string]*owner{}
	list, replicas := s.kind.Versions(), map[string]apply.Path{}
	if s.project != nil {
		list = s.reader.kind.Versions()
	}
	resets := map[string]*apply.Set{}
	for _, v := range list {
		apiVersion := v.GVK.GroupVersion().String()
		if resetIn != nil {
			reset = resetIn[v.GVK.Version]
		}
		if len(reset) > 0 {
			resets[apiVersion] = apply.Fields(reset...)
		}
		if s.project != nil {
			replicas[apiVersion] = s.replicasIn(v.GVK.Version)
		}
	}
	all := versions{s.kind, s.cfg.Kinds}
	for _, v := range list {
		shown, reset := s.shown(v.GVK.Version), resets
		if apiVersion := v.GVK.GroupVersion().String(); resetIn != nil && s.subresource == "" {
			reset = map[string]*apply.Set{apiVersion: resets[apiVersion]}
		}
		o := &owner{
			Door: apply.Door{
				Versions: all, Kind: shown, Subresource: s.subresource, ResetFields: reset,
				Custom: kind.In(s.kind, shown.Version).Type == nil,
			},
			version: v.GVK.Version,
			form:    s.FormOf(v.GVK.Version, codec.Media{}),
			empty:   sync.OnceValues(func() (any, error) { return all.empty(all.kind, shown) }),
		}
		if s.project != nil {
			o.scale = &apply.Scale{APIVersion: v.GVK.GroupVersion().String(), Replicas: replicas}
		}
		s.owners[v.GVK.Version] = o
	}
}

// replicasIn returns the path of the field that a Scale shows as spec.replicas, in a version; nil
// if the version has none.
func (s *Store) replicasIn(version string) apply.Path {
	at := s.project.Replicas
	if s.project.ReplicasIn != nil {
		at = s.project.ReplicasIn[version]
	}
	if at == "" {
		return nil
	}
	return fieldPath(at)
}

// fieldPath parses names such as "spec.replicas".
func fieldPath(names string) apply.Path {
	var p apply.Path
	for name := range strings.SplitSeq(names, ".") {
		p = append(p, apply.Field(name))
	}
	return p
}

// owner returns the owner for the version of the request. It is nil if the request has no field
// manager: then the write leaves managedFields as they are.
func (w *write) owner() *owner {
	if w.req.Manager == "" {
		return nil
	}
	return w.s.owners[cmp.Or(w.req.Version, w.s.reader.home.GVK.Version)]
}

// writer returns the manager and time that the present try records.
func (w *write) writer() apply.Writer { return apply.Writer{Manager: w.req.Manager, Now: w.s.now()} }

// maxOwned is the largest object, in bytes of JSON, whose owners are recorded: about the largest
// that engines store. A larger object will be refused, and finding its fields would cost much
// memory.
const maxOwned = 3 << 19

// own sets the managedFields of hub. obj is the same object in the version of the request, complete
// with defaults; current is the state that the change started from, nil for a create. A request
// without a field manager leaves managedFields as they are. If the owners cannot be determined, or
// the object is too large to be stored with them (disowned), it gets none: that is no reason to
// fail the write. The only error is that of ctx.
func (w *write) own(ctx context.Context, current request.Encoded, obj meta.Typed, hub meta.Object) error {
	o := w.owner()
	if o == nil {
		return nil
	}
	m := hub.GetObjectMeta()
	sent := m.ManagedFields
	m.ManagedFields = nil
	if w.disowned {
		return nil
	}
	live, err := w.live(ctx, o, current)
	if err != nil {
		return ctx.Err()
	}
	// Conversions of Go types complete objects: as in Kubernetes, the owners are those of the
	// fields that the object has after a conversion to the hub and back.
	if !o.Custom {
		obj = hub
	}
	tree, err := encodeTree(ctx, w.s.kind, obj, o.Kind)
	if err != nil || len(tree) > maxOwned {
		return ctx.Err()
	}
	m.ManagedFields, err = o.Update(ctx, live, apply.Object{Tree: tree, Managed: sent, Stored: live.Stored}, w.writer())
	if err != nil {
		return ctx.Err()
	}
	return nil
}

// current returns the state that a change starts from, as the door shows it. A door with a kind of
// its own adds managedFields, which its reads do not show, so that the change can be attributed.
func (w *write) current(ctx context.Context, cur *cache.Object) (request.Encoded, error) {
	o := w.owner()
	if w.s.project == nil || o == nil {
		return w.s.present(ctx, cur, ToChange)
	}
	shown, err := w.s.show(w.old, ToChange)
	if err != nil {
		return nil, w.s.namedError(ctx, cur, err)
	}
	// else the entries cannot be read
	if entries, err := o.scale.Of(ctx, w.old.GetObjectMeta().ManagedFields); err == nil {
		shown.GetObjectMeta().ManagedFields = entries
	}
	return w.s.encodeShown(ctx, cur, shown)
}

// live returns the state that a try starts from in the version of the request, with its
// managedFields.
func (w *write) live(ctx context.Context, o *owner, current request.Encoded) (apply.Object, error) {
	if current == nil {
		tree, err := o.empty()
		return apply.Object{Tree: tree}, err
	}
	data, form := current.Stored()
	if form != o.form {
		var err error
		data, err = current.Form(o.form, func() ([]byte, error) {
			return w.s.Encode(ctx, current, o.version, codec.Media{})
		})
		if err != nil {
			return apply.Object{}, err
		}
	}
	entries, err := w.old.GetObjectMeta().ManagedFields, error(nil)
	if o.scale != nil {
		entries, err = o.scale.Of(ctx, entries)
	}
	return apply.Object{Tree: jsontext.RawOf(data), Managed: entries, Stored: true}, err
}

// apply merges the client's applied configuration into the current object, and returns the result
// in the hub.
func (w *write) apply(ctx context.Context, current request.Encoded) (meta.Object, error) {
	a, o := w.req.Apply, w.owner()
	live, err := w.live(ctx, o, current)
	if err != nil {
		return nil, err
	}
	applied, err := o.Apply(ctx, live, a.Config, w.writer(), a.Force)
	if err != nil {
		return nil, err
	}
	hub, err := w.applied(ctx, o, a.Config, applied.Tree)
	if err != nil {
		return nil, err
	}
	m := hub.GetObjectMeta()
	m.ManagedFields = applied.Managed
	return hub, a.Check(m, w.old != nil)
}

// applied decodes the merged tree, which is in the version of the request, and completes it. A nil
// tree says that the apply changes nothing. config is only named in errors.
func (w *write) applied(ctx context.Context, o *owner, config, tree any) (meta.Object, error) {
	k := w.s.kind
	switch {
	case tree != nil:
	case w.old == nil:
		return k.New(), nil
	case w.s.project != nil:
		return w.s.show(w.old, ToChange)
	default:
		return scheme.Copy(w.old).(meta.Object), nil
	}
	obj, err := decodeTree(k, tree, o.Kind, meter.ForSize(ctx, 0))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, meta.NewBadRequest(
			fmt.Sprintf("failed to convert new object (%s) to proper version: %v", o.NameOf(config), err),
		)
	}
	if err := k.Default(ctx, obj); err != nil {
		return nil, err
	}
	return toHub(ctx, k, obj, w.version())
}

// keepOwners restores the managedFields from before admission if a mutator has made entries that
// cannot be decoded, and warns the client.
func (w *write) keepOwners(ctx context.Context, m *meta.ObjectMeta, before []meta.ManagedFieldsEntry) {
	after := m.ManagedFields
	if len(after) == len(before) && (len(after) == 0 || &after[0] == &before[0]) {
		return
	}
	if err := apply.Decodable(ctx, after); err != nil {
		m.ManagedFields = before
		w.attrs.Warn(fmt.Sprintf(".metadata.managedFields was in an invalid state after admission; this could be caused by an "+
			"outdated mutating admission controller; please fix your requests: %v", err))
	}
}

// mayDisown reports whether a write that failed is tried again without managedFields: the object
// was too large, and managedFields may be much of it. An apply is not, because the next apply would
// need them.
func (w *write) mayDisown(err error) bool {
	return err != nil && storage.KindOf(err) == storage.TooLarge && w.req.Manager != "" && w.req.Apply == nil
}

// keepTimes restores the old managedFields if an update changes nothing but the times in them. The
// update then changes nothing, and nothing is written.
func (w *write) keepTimes() {
	m, before := w.obj.GetObjectMeta(), w.old.GetObjectMeta().ManagedFields
	after := m.ManagedFields
	if !onlyTimes(after, before) {
		return
	}
	m.ManagedFields = before
	*w.obj.GetTypeMeta() = *w.old.GetTypeMeta() // apiVersion and kind are equal or empty
	if !scheme.EqualObjects(w.obj, w.old) {
		m.ManagedFields = after
	}
}

// onlyTimes reports whether two lists of entries differ, and only in their times.
func onlyTimes(after, before []meta.ManagedFieldsEntry) bool {
	if len(after) != len(before) {
		return false
	}
	later := false
	for i := range after {
		a, b := &after[i], &before[i]
		if a.Manager != b.Manager || a.Operation != b.Operation || a.APIVersion != b.APIVersion ||
			a.Subresource != b.Subresource ||
			a.FieldsType != b.FieldsType || !scheme.Equal(a.FieldsV1, b.FieldsV1) {
			return false
		}
		later = later || !a.Time.Equal(b.Time)
	}
	return later
}
