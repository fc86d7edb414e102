package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Versions are the versions of a kind, as ownership needs them. They are always the same: what changes gets other Versions.
type Versions interface {
	// Schema returns that of objects in an apiVersion such as "apps/v1"; nil if there is no such version any more.
	Schema(apiVersion string) *schema.Schema
	// Convert returns an object in another apiVersion, of those that have a schema. Neither tree is changed afterwards.
	Convert(ctx context.Context, tree any, from, to string) (any, error)
	// Empty returns a new object of an apiVersion.
	Empty(apiVersion string) (any, error)
}

// Door is a way to the objects of a kind: a resource in a version, or a subresource of it. It is immutable.
type Door struct {
	Versions    Versions
	Kind        meta.GroupVersionKind // that is written here
	Subresource string
	// Reset are the fields, by apiVersion, that nobody can own here, and neither what is in them, as they are reset.
	Reset map[string]*Set
	// Custom is set for kinds without a Go type, of which kube-apiserver knows less: what is owned in a version that there is not is
	// an error, rather than nobody's; and what the door resets may be anything, which is an error as well.
	Custom bool
}

// Object is an object in the version of a Door.
type Object struct {
	Tree any
	// Managed are its managedFields; what the tree says of them does not count.
	Managed []meta.ManagedFieldsEntry
	// Stored is set if the object exists. One that does not is that of Versions.Empty.
	Stored bool
}

// Writer is who writes, and when.
type Writer struct {
	Manager string // "" counts as "unknown"
	Now     time.Time
}

// manager returns who writes here.
func (d *Door) manager(by Writer, operation meta.ManagedFieldsOperationType) manager {
	m := manager{name: by.Manager, operation: operation, subresource: d.Subresource}
	if m.name == "" {
		m.name = "unknown"
	}
	if operation == meta.ManagedFieldsOperationUpdate {
		m.apiVersion = d.Kind.GroupVersion().String()
	}
	return m
}

func (w Writer) time() *meta.Time {
	now := meta.NewTime(w.Now)
	return &now
}

// unowned are the fields that nobody owns.
var unowned = SetOf(
	Path{Field("apiVersion")},
	Path{Field("kind")},
	Path{Field("metadata")},
	Path{Field("metadata"), Field("name")},
	Path{Field("metadata"), Field("namespace")},
	Path{Field("metadata"), Field("creationTimestamp")},
	Path{Field("metadata"), Field("selfLink")},
	Path{Field("metadata"), Field("uid")},
	Path{Field("metadata"), Field("clusterName")},
	Path{Field("metadata"), Field("generation")},
	Path{Field("metadata"), Field("managedFields")},
	Path{Field("metadata"), Field("resourceVersion")},
)

// Update returns the managedFields of obj, which by, with any write but an application, has made of live. They share parts
// with those that it was given.
//
// What the client says of managedFields in obj counts if it can be decoded: an empty list, or one with an empty entry, makes
// the server forget them all, until somebody applies. Through a subresource it never counts.
//
// Errors are those of conversions, and of trees that do not fit the schema where one differs from
// the other. They keep nobody from writing: who owns what is not known then, and the object is
// stored without managedFields, which are returned as nil. If ctx is over its error is returned.
func (d *Door) Update(ctx context.Context, live, obj Object, by Writer) ([]meta.ManagedFieldsEntry, error) {
	w := d.write(ctx)
	owners := w.claims(live, obj)
	if len(owners) == 0 && live.Stored {
		return nil, w.meter.Err()
	}
	owners, err := w.update(live.Tree, obj.Tree, owners, by)
	entries := encode(&w.meter, owners)
	if err := cmp.Or(w.meter.Err(), err); err != nil { // what a walk that has ended says of an object means nothing
		return nil, err
	}
	return entries, nil
}

// claims returns who owns what in obj as far as the client and live are concerned.
func (w *write) claims(live, obj Object) []owner {
	if w.Subresource == "" && !slices.EqualFunc(obj.Managed, live.Managed, sameEntry) {
		if forget(obj.Managed) {
			return nil
		}
		if owners, err := decode(&w.meter, obj.Managed); err == nil && len(owners) > 0 {
			for i := range owners {
				owners[i].text = nil // clients write it as they like
			}
			return owners
		}
	}
	owners, _ := decode(&w.meter, live.Managed) // nothing is better than what cannot be read
	return owners
}

func sameEntry(a, b meta.ManagedFieldsEntry) bool {
	if a.FieldsV1 == nil || b.FieldsV1 == nil || string(a.FieldsV1.Raw) != string(b.FieldsV1.Raw) || !a.Time.Equal(b.Time) {
		return false
	}
	b.FieldsV1, b.Time = a.FieldsV1, a.Time
	return a == b
}

// forget reports whether what a client says of managedFields is that there shall be none.
func forget(managed []meta.ManagedFieldsEntry) bool {
	switch len(managed) {
	case 0:
		return managed != nil
	case 1:
		return managed[0] == meta.ManagedFieldsEntry{}
	}
	return false
}

// update returns who owns what in a tree that by has made of another.
func (w *write) update(from, to any, owners []owner, by Writer) ([]owner, error) {
	if err := w.begin(from); err != nil {
		return nil, err
	}
	owners, err := w.reconcile(owners)
	if err != nil {
		return nil, err
	}
	w.after = to
	if w.Custom {
		if err := w.checkReset(to); err != nil {
			return nil, err
		}
	}
	own, err := w.difference(w.before.version)
	if err != nil {
		return nil, err
	}
	self := owner{manager: w.manager(by, meta.ManagedFieldsOperationUpdate), version: w.before.version}
	if i := find(owners, self.manager); i >= 0 {
		self = owners[i]
	}
	fields := own.changed.Subtract(&w.meter, unowned)
	if owners, err = w.take(owners, self.manager); err != nil {
		return nil, err
	}
	owners = slices.DeleteFunc(owners, func(o owner) bool { return o.manager == self.manager })
	if self.exchange(&w.meter, own.touched, fields); !fields.Empty() {
		self.time = by.time()
	}
	if !self.fields.Empty() {
		owners = append(owners, self)
	}
	return capped(&w.meter, owners), nil
}

// Applied is what an application makes of an object.
type Applied struct {
	// Tree is the object with what was applied, without defaults. It is nil if it is as it was.
	Tree    any
	Managed []meta.ManagedFieldsEntry
}

// Apply puts config, what a client applies, into live. The errors are *meta.StatusError: 409 with a cause for each conflict, unless
// force is set; and 400 for a config of another kind, one with managedFields, and one that cannot be merged. Others say what is wrong
// with live, which is not this client's doing. If ctx is over its error is returned.
func (d *Door) Apply(ctx context.Context, live Object, config map[string]any, by Writer, force bool) (Applied, error) {
	w := d.write(ctx)
	applied, err := w.apply(live, config, by, force)
	if ended := w.meter.Err(); ended != nil { // what else was found means nothing
		return Applied{}, ended
	}
	switch err.(type) {
	case nil, *meta.StatusError:
		return applied, err
	}
	if ctx.Err() != nil {
		return Applied{}, ctx.Err()
	}
	if _, ok := err.(liveError); ok {
		return Applied{}, err
	}
	return Applied{}, meta.NewBadRequest(err.Error())
}

// liveError is what is wrong with an object that somebody applies to.
type liveError struct{ error }

func (w *write) apply(live Object, config map[string]any, by Writer, force bool) (Applied, error) {
	owners, err := decode(&w.meter, live.Managed)
	if err != nil {
		return Applied{}, liveError{fmt.Errorf("failed to decode managed fields: %w", err)}
	}
	if kind := kindOf(config); kind != w.Kind {
		return Applied{}, meta.NewBadRequest("invalid object type: " + meta.Excerpt(kind.String()))
	}
	if len(owners) == 0 && live.Stored {
		if owners, err = w.first(live.Tree, by); err != nil {
			return Applied{}, liveError{fmt.Errorf("failed to create manager for existing fields: %w", err)}
		}
	}
	if claimsFields(config) {
		return Applied{}, meta.NewBadRequest("metadata.managedFields must be nil")
	}
	if err := w.begin(live.Tree); err != nil {
		return Applied{}, err
	}
	if err := Check(&w.meter, config, w.before.schema, false); err != nil {
		return Applied{}, fmt.Errorf("failed to create typed patch object (%s): %w", w.NameOf(config), err)
	}
	if err := Check(&w.meter, live.Tree, w.before.schema, true); err != nil {
		return Applied{}, liveError{fmt.Errorf("failed to create typed live object (%s): %w", w.NameOf(live.Tree), err)}
	}
	before := timeOf(owners, w.manager(by, meta.ManagedFieldsOperationApply))
	if owners, err = w.reconcile(owners); err != nil {
		return Applied{}, err
	}

	merged, err := Merge(&w.meter, live.Tree, config, w.before.schema)
	if err != nil {
		return Applied{}, fmt.Errorf("failed to merge config: %w", err)
	}
	fields, err := FieldsOf(&w.meter, config, w.before.schema)
	if err != nil {
		return Applied{}, fmt.Errorf("failed to get field set: %w", err)
	}
	return w.finish(application{merged, config, fields, before}, owners, by, force)
}

// application is what somebody applies: to an object, with which it is merged already.
type application struct {
	merged any
	config map[string]any
	fields *Set       // of config
	time   *meta.Time // of the last one that changed something
}

// finish is apply from there on where the application is merged.
func (w *write) finish(a application, owners []owner, by Writer, force bool) (Applied, error) {
	self := w.manager(by, meta.ManagedFieldsOperationApply)
	i := find(owners, self)
	if i < 0 {
		i = len(owners)
		owners = append(owners, owner{manager: self, time: a.time})
	}
	last := owners[i]
	owners[i].version = w.before.version
	owners[i].own(w.filter(w.before.version, a.fields))

	var err error
	if w.after, err = w.prune(a.merged, owners, owners[i], last); err != nil {
		return Applied{}, fmt.Errorf("failed to prune fields: %w", err)
	}
	losses, err := w.losses(owners, self)
	if err != nil {
		return Applied{}, err
	}
	if len(losses) > 0 && !force {
		if by.Manager == kubectl {
			was := w.lastApplied()
			for i := range losses {
				losses[i].fields = losses[i].fields.Subtract(&w.meter, was)
			}
		}
		if err := w.conflict(losses); err != nil {
			return Applied{}, err
		}
	}
	if owners, err = w.take(owners, self); err != nil {
		return Applied{}, err
	}

	changed := !w.isNone()
	if i = find(owners, self); i >= 0 {
		if changed {
			owners[i].time = by.time()
		}
		switch fields := owners[i].fields.Subtract(&w.meter, unowned); {
		case fields.Empty():
			owners = slices.Delete(owners, i, i+1)
		case fields.Equal(&w.meter, last.fields):
			owners[i].fields, owners[i].text = last.fields, last.text
		default:
			owners[i].own(fields)
		}
	}
	if by.Manager == kubectl {
		noted, err := noteApplied(&w.meter, w.after, a.config)
		if err != nil {
			return Applied{}, fmt.Errorf("failed to build last-applied annotation: %w", err)
		}
		if noted != nil {
			w.after, changed = noted, true
		}
	}
	if !changed {
		w.after = nil
	}
	return Applied{w.after, encode(&w.meter, owners)}, nil
}

// first returns who owns what in an object that nobody has applied to before: one manager, all.
func (w *write) first(tree any, by Writer) ([]owner, error) {
	version := w.Kind.GroupVersion().String()
	s := w.Versions.Schema(version)
	if s == nil {
		return nil, noType(w.Kind)
	}
	empty, err := w.Versions.Empty(version)
	if err != nil {
		return nil, fmt.Errorf("failed to create empty object of type %v: %w", w.Kind, err)
	}
	if err := Check(&w.meter, tree, s, true); err != nil {
		return nil, fmt.Errorf("failed to convert new object (%s) to smd typed: %w", w.NameOf(tree), err)
	}
	by.Manager = "before-first-apply"
	owners, err := w.update(empty, tree, nil, by)
	if err != nil {
		return nil, fmt.Errorf("failed to update ManagedFields (%s): %w", w.NameOf(tree), err)
	}
	return owners, nil
}

// NameOf names an object of the door, or a config, as messages do.
func (d *Door) NameOf(tree any) string {
	namespace, _ := at(tree, "metadata", "namespace").(string)
	name, _ := at(tree, "metadata", "name").(string)
	return meta.Excerpt(namespace) + "/" + meta.Excerpt(name) + "; " + d.Kind.String()
}

// kindOf returns what kind config says it is.
func kindOf(config map[string]any) meta.GroupVersionKind {
	apiVersion, _ := at(config, "apiVersion").(string)
	kind, _ := at(config, "kind").(string)
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return meta.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}

// claimsFields reports whether config has entries of managedFields, or the lack of any. What is none does not count.
func claimsFields(config map[string]any) bool {
	entries, ok := at(config, "metadata", "managedFields").([]any)
	return ok && !slices.ContainsFunc(entries, func(e any) bool {
		_, ok := at(e).(map[string]any)
		return !ok
	})
}

// at returns the value at a path in a tree, which may be lazy, looked into one level deep.
func at(tree any, path ...string) any {
	tree = open(tree)
	for _, name := range path {
		object, _ := tree.(map[string]any)
		tree = open(object[name])
	}
	return tree
}

func open(v any) any {
	if r, ok := v.(jsontext.Raw); ok {
		v, _ = r.Look(0)
	}
	return v
}
