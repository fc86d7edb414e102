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

// This file is what the registry calls: Door.Update for every write that is not an application,
// Door.Apply for applications. Both return the managedFields that the object has after the write.
// The steps that depend on versions are in write.go.

// Versions gives a Door the schemas of a kind's versions and the conversions between them. A
// Versions value never changes: when a kind's schema changes, doors with another Versions value are
// made.
type Versions interface {
	// Schema returns the schema of objects in an apiVersion such as "apps/v1"; nil if the kind has
	// no such version.
	Schema(apiVersion string) *schema.Schema
	// Convert returns tree, which is in apiVersion from, in apiVersion to. Both versions have a
	// schema. Neither the caller nor Versions changes either tree afterwards.
	Convert(ctx context.Context, tree any, from, to string) (any, error)
	// Empty returns a new object of an apiVersion, as it is before anybody has set a field.
	Empty(apiVersion string) (any, error)
}

// Door is a way to write the objects of a kind: a resource in one version, or a subresource of it.
// It corresponds to kube-apiserver's FieldManager. It is immutable.
type Door struct {
	Versions    Versions
	Kind        meta.GroupVersionKind // the kind, in the version of this door
	Subresource string
	// ResetFields holds, by apiVersion, the fields that writes through this door cannot change
	// because the server resets them. Nobody can own these fields, or anything in them, through
	// this door.
	ResetFields map[string]*Set
	// Custom is set for custom resources, of which kube-apiserver has no Go type. For them, an
	// entry of managedFields in a version that does not exist is an error (for other kinds its
	// owner is forgotten), and the fields that the door resets are checked against the schema.
	Custom bool
}

// Object is an object in the version of a Door, with its managedFields beside it.
type Object struct {
	Tree any
	// Managed is the object's metadata.managedFields. The copy of managedFields in Tree is ignored.
	Managed []meta.ManagedFieldsEntry
	// Stored is true if the object exists. The Tree of an object that does not exist is that of
	// Versions.Empty.
	Stored bool
}

// Writer is the client that writes, and the time of its write.
type Writer struct {
	Manager string // "" counts as "unknown"
	Now     time.Time
}

// manager returns the manager that managedFields records for client by and a write through this
// door.
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

// time returns the time of the write, for managedFields.
func (w Writer) time() *meta.Time {
	now := meta.NewTime(w.Now)
	return &now
}

// unowned are the fields that never belong to anybody: those that identify the object and those
// that only the server sets.
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

// Update returns the managedFields that obj has after a write that is not an application: the
// client by has changed live into obj. The entries share memory with those of live and obj.
//
// If obj.Managed differs from live.Managed and can be decoded, it replaces the record of who owns
// what. An empty list, or a list with one empty entry, makes the server forget all owners until the
// next application. Through a subresource, obj.Managed is ignored.
//
// An error means that a conversion failed or that a changed value does not fit the schema. The
// caller then stores the object without managedFields, as kube-apiserver does. If ctx has ended,
// Update returns the error of ctx.
func (d *Door) Update(ctx context.Context, live, obj Object, by Writer) ([]meta.ManagedFieldsEntry, error) {
	w := d.write(ctx)
	owners := w.claims(live, obj)
	if len(owners) == 0 && live.Stored {
		return nil, w.meter.Err()
	}
	owners, err := w.update(live.Tree, obj.Tree, owners, by)
	entries := encode(&w.meter, owners)
	if err := cmp.Or(w.meter.Err(), err); err != nil { // once m has ended, other errors mean nothing
		return nil, err
	}
	return entries, nil
}

// claims returns the owners from which an update starts: those that the client sent, if they differ
// from those of live and can be decoded, and otherwise those of live.
func (w *write) claims(live, obj Object) []owner {
	if w.Subresource == "" && !slices.EqualFunc(obj.Managed, live.Managed, sameEntry) {
		if forget(obj.Managed) {
			return nil
		}
		if owners, err := decode(&w.meter, obj.Managed); err == nil && len(owners) > 0 {
			for i := range owners {
				owners[i].text = nil // a client may spell it differently, so it is written anew
			}
			return owners
		}
	}
	owners, _ := decode(&w.meter, live.Managed) // entries that cannot be decoded count as none
	return owners
}

// sameEntry reports whether two entries are equal, including the text of their FieldsV1. An entry
// without FieldsV1 equals none, so a client that sends one back has its managedFields decoded.
func sameEntry(a, b meta.ManagedFieldsEntry) bool {
	if a.FieldsV1 == nil || b.FieldsV1 == nil || string(a.FieldsV1.Raw) != string(b.FieldsV1.Raw) ||
		!a.Time.Equal(b.Time) {
		return false
	}
	b.FieldsV1, b.Time = a.FieldsV1, a.Time
	return a == b
}

// forget reports whether the client asked for the owners to be forgotten: with an empty list, or
// with a list of one empty entry.
func forget(managed []meta.ManagedFieldsEntry) bool {
	switch len(managed) {
	case 0:
		return managed != nil
	case 1:
		return managed[0] == meta.ManagedFieldsEntry{}
	}
	return false
}

// update returns the owners after the client by has changed the tree from into the tree to. The
// client gains the fields that it changed; every other owner loses the fields that the update
// changed or removed.
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
	if i := ownerIndex(owners, self.manager); i >= 0 {
		self = owners[i]
	}
	fields := own.changed.Subtract(&w.meter, unowned)
	if owners, err = w.takeFromOthers(owners, self.manager); err != nil {
		return nil, err
	}
	owners = slices.DeleteFunc(owners, func(o owner) bool { return o.manager == self.manager })
	if self.exchange(&w.meter, own.touched, fields); !fields.Empty() {
		self.time = by.time()
	}
	if !self.fields.Empty() {
		owners = append(owners, self)
	}
	return capUpdaters(&w.meter, owners), nil
}

// Applied is the result of an application.
type Applied struct {
	// Tree is the object with the configuration merged in, before defaulting. It is nil if the
	// application changes nothing.
	Tree    any
	Managed []meta.ManagedFieldsEntry
}

// Apply merges config, the configuration that client by applies, into live.
//
// Errors of type *meta.StatusError are the client's: 409 with a cause for each conflict, which
// force avoids; 400 for a config of another kind, with managedFields, or that cannot be merged. Any
// other error says what is wrong with live, which is not this client's doing. If ctx has ended,
// Apply returns the error of ctx.
func (d *Door) Apply(ctx context.Context, live Object, config map[string]any, by Writer, force bool) (Applied, error) {
	w := d.write(ctx)
	applied, err := w.apply(live, config, by, force)
	if ended := w.meter.Err(); ended != nil { // other errors mean nothing then
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

// liveError is a fault of the live object rather than of the applied configuration.
type liveError struct{ error }

// apply does what Door.Apply describes. It returns a liveError for a fault of live. Every other
// error becomes a 400 if it has no Status.
func (w *write) apply(live Object, config map[string]any, by Writer, force bool) (Applied, error) {
	owners, err := decode(&w.meter, live.Managed)
	if err != nil {
		return Applied{}, liveError{fmt.Errorf("failed to decode managed fields: %w", err)}
	}
	if kind := kindOf(config); kind != w.Kind {
		return Applied{}, meta.NewBadRequest("invalid object type: " + meta.Excerpt(kind.String()))
	}
	if len(owners) == 0 && live.Stored {
		if owners, err = w.initialOwners(live.Tree, by); err != nil {
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

// application is a configuration that has been merged into the live object.
type application struct {
	merged any
	config map[string]any
	fields *Set       // the fields of config
	time   *meta.Time // when this manager's last application changed something; nil if never
}

// finish does the steps of an application that follow the merge: it prunes what the applier no
// longer lists, looks for conflicts, takes the changed fields from the other owners, and encodes
// the owners.
func (w *write) finish(a application, owners []owner, by Writer, force bool) (Applied, error) {
	self := w.manager(by, meta.ManagedFieldsOperationApply)
	i := ownerIndex(owners, self)
	if i < 0 {
		i = len(owners)
		owners = append(owners, owner{manager: self, time: a.time})
	}
	last := owners[i]
	owners[i].version = w.before.version
	owners[i].setFields(w.filter(w.before.version, a.fields))

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
	if owners, err = w.takeFromOthers(owners, self); err != nil {
		return Applied{}, err
	}

	changed := !w.isNone()
	if i = ownerIndex(owners, self); i >= 0 {
		if changed {
			owners[i].time = by.time()
		}
		switch fields := owners[i].fields.Subtract(&w.meter, unowned); {
		case fields.Empty():
			owners = slices.Delete(owners, i, i+1)
		case fields.Equal(&w.meter, last.fields):
			owners[i].fields, owners[i].text = last.fields, last.text
		default:
			owners[i].setFields(fields)
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

// initialOwners returns the owners of an object that has no managedFields yet: the manager
// "before-first-apply" owns all fields.
func (w *write) initialOwners(tree any, by Writer) ([]owner, error) {
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

// NameOf names a tree of this door's kind for a message: "namespace/name; group/version,
// Kind=kind".
func (d *Door) NameOf(tree any) string {
	namespace, _ := at(tree, "metadata", "namespace").(string)
	name, _ := at(tree, "metadata", "name").(string)
	return meta.Excerpt(namespace) + "/" + meta.Excerpt(name) + "; " + d.Kind.String()
}

// kindOf returns the apiVersion and kind that config says it has; the zero kind if its apiVersion
// is malformed.
func kindOf(config map[string]any) meta.GroupVersionKind {
	apiVersion, _ := at(config, "apiVersion").(string)
	kind, _ := at(config, "kind").(string)
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return meta.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}

// claimsFields reports whether config has a metadata.managedFields that is a list of objects, which
// may be empty. Anything else in that place does not count.
func claimsFields(config map[string]any) bool {
	entries, ok := at(config, "metadata", "managedFields").([]any)
	return ok && !slices.ContainsFunc(entries, func(e any) bool {
		_, ok := at(e).(map[string]any)
		return !ok
	})
}

// at returns the value at a path of field names in a tree, nil if there is none. If that value is
// lazy, at opens its first level.
func at(tree any, path ...string) any {
	tree = open(tree)
	for _, name := range path {
		object, _ := tree.(map[string]any)
		tree = open(object[name])
	}
	return tree
}

// open returns v, with its first level decoded if v is lazy; nil if its text is malformed.
func open(v any) any {
	if r, ok := v.(jsontext.Raw); ok {
		v, _ = r.Look(0)
	}
	return v
}
