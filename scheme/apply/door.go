package apply

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Versions are the versions of a kind, as ownership needs them.
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
	// Reset has, by apiVersion, what keeps the fields out that nobody can own here; without one nothing is.
	Reset map[string]Filter
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

// Update returns the managedFields of obj, which by, with any write but an application, has made of live.
//
// What the client says of managedFields in obj counts if it can be decoded: an empty list, or one with an empty entry, makes
// the server forget them all. Errors are those of conversions, and of trees that do not fit the schema.
func (d *Door) Update(ctx context.Context, live, obj Object, by Writer) ([]meta.ManagedFieldsEntry, error) {
	panic("not written yet")
}

// Applied is what an application makes of an object.
type Applied struct {
	// Tree is the object with what was applied, without defaults. It is nil if it is as it was.
	Tree    any
	Managed []meta.ManagedFieldsEntry
}

// Apply puts config, what a client applies, into live. The errors are *meta.StatusError: 409 with a cause for each conflict, unless
// force is set; 400 for a config of another kind, and one with managedFields; and others for what cannot be merged, in
// kube-apiserver's words.
func (d *Door) Apply(ctx context.Context, live Object, config map[string]any, by Writer, force bool) (Applied, error) {
	panic("not written yet")
}
