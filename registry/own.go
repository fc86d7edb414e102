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

// owner keeps record of who owns the fields of the objects of a Store, for those who write in one
// version. It is immutable.
type owner struct {
	apply.Door
	version string
	form    uint32              // of objects in the version as JSON
	empty   func() (any, error) // what a create starts from
	scale   *apply.Scale        // nil unless the store shows something else than the object
}

// openOwners makes the owners of all versions of the store. What reset names, or in a version
// resetIn, cannot be owned through it. At the resource itself kube-apiserver knows what is reset in
// the version of the request alone, where versions differ.
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
			Door:    apply.Door{Versions: all, Kind: shown, Subresource: s.subresource, Reset: reset, Custom: kind.In(s.kind, shown.Version).Type == nil},
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

// replicasIn is where objects have the replicas in a version, nil if they have none.
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

// fieldPath is the path to what names such as "spec.replicas" lead to.
func fieldPath(names string) apply.Path {
	var p apply.Path
	for name := range strings.SplitSeq(names, ".") {
		p = append(p, apply.Field(name))
	}
	return p
}

// owner is that of the version of the request; nil if nobody records who owns what is written.
func (w *write) owner() *owner {
	if w.req.Manager == "" {
		return nil
	}
	return w.s.owners[cmp.Or(w.req.Version, w.s.reader.home.GVK.Version)]
}

// writer is who writes, in the present try.
func (w *write) writer() apply.Writer { return apply.Writer{Manager: w.req.Manager, Now: w.s.now()} }

// maxOwned is how long an object may be, in bytes of JSON, whose fields have owners: about what
// engines take. To find the fields of one that is not going to be stored would take much memory.
const maxOwned = 3 << 19

// own records in hub who owns the fields of obj, which is complete, the same in the version of the
// request, and made of current. An object whose owners cannot be told has none. The error is that
// of ctx.
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
	if !o.Custom { // conversions of Go types complete objects: what it comes back as, as in Kubernetes
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

// current is the state that a change starts from. Through a door with a kind of its own it says who
// owns what, which nobody sees otherwise.
func (w *write) current(ctx context.Context, cur *cache.Object) (request.Encoded, error) {
	o := w.owner()
	if w.s.project == nil || o == nil {
		return w.s.present(ctx, cur, ToChange)
	}
	shown, err := w.s.show(w.old, ToChange)
	if err != nil {
		return nil, w.s.namedError(ctx, cur, err)
	}
	if entries, err := o.scale.Of(ctx, w.old.GetObjectMeta().ManagedFields); err == nil { // else nobody can tell
		shown.GetObjectMeta().ManagedFields = entries
	}
	return w.s.encodeShown(ctx, cur, shown)
}

// live is the state that a try starts from, as the client sees it.
func (w *write) live(ctx context.Context, o *owner, current request.Encoded) (apply.Object, error) {
	if current == nil {
		tree, err := o.empty()
		return apply.Object{Tree: tree}, err
	}
	data, form := current.Stored()
	if form != o.form {
		var err error
		data, err = current.Form(o.form, func() ([]byte, error) { return w.s.Encode(ctx, current, o.version, codec.Media{}) })
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

// apply puts what the client applies into the current object, and returns what it becomes, in the
// hub.
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

// applied makes the object of a tree in the version of the request, which config was merged into;
// nil stands for the object as it is.
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
	obj, err := decodeTree(k, tree, o.Kind, meter.For(ctx, 0))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, meta.NewBadRequest(fmt.Sprintf("failed to convert new object (%s) to proper version: %v", o.NameOf(config), err))
	}
	if err := k.Default(ctx, obj); err != nil {
		return nil, err
	}
	return toHub(ctx, k, obj, w.version())
}

// keepOwners puts the entries back that stood in the metadata before admission, if what it has made
// of them cannot be read.
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

// mayDisown reports whether a write that failed is worth a try without entries, which may be much
// of an object. What is applied is nothing without them.
func (w *write) mayDisown(err error) bool {
	return err != nil && storage.KindOf(err) == storage.TooLarge && w.req.Manager != "" && w.req.Apply == nil
}

// keepTimes takes back the times of entries if they are all that an update changes: then it changes
// nothing.
func (w *write) keepTimes() {
	m, before := w.obj.GetObjectMeta(), w.old.GetObjectMeta().ManagedFields
	after := m.ManagedFields
	if !onlyTimes(after, before) {
		return
	}
	m.ManagedFields = before
	*w.obj.GetTypeMeta() = *w.old.GetTypeMeta() // which says the same, or nothing
	if !scheme.EqualObjects(w.obj, w.old) {
		m.ManagedFields = after
	}
}

// onlyTimes reports whether entries differ from others in times, and in nothing else.
func onlyTimes(after, before []meta.ManagedFieldsEntry) bool {
	if len(after) != len(before) {
		return false
	}
	later := false
	for i := range after {
		a, b := &after[i], &before[i]
		if a.Manager != b.Manager || a.Operation != b.Operation || a.APIVersion != b.APIVersion || a.Subresource != b.Subresource ||
			a.FieldsType != b.FieldsType || !scheme.Equal(a.FieldsV1, b.FieldsV1) {
			return false
		}
		later = later || !a.Time.Equal(b.Time)
	}
	return later
}
