// Package kind makes a kind of objects a value: what registry, router and OpenAPI need to handle its objects, and no
// way to ask what stands behind it.
//
// There are two sorts of kinds. Typed makes one of Go types that a Scheme knows; everything follows from their
// descriptors. Dynamic makes one of schemas that arrived at run time; its objects are trees (scheme.Unstructured).
// Either can be added to a running server, replaced by another of the same name, and taken away.
//
// Words. A kind has versions, and one hub: the form that strategies, admission and validation see. Objects of a version
// are decoded, completed with defaults, and converted to the hub; on the way out they are converted back. That a
// conversion is free, a function or a question to another server is the kind's business: it takes a context and may fail.
//
// Laws, for every kind:
//   - What Decode returned, and Convert made of it, can be encoded in every version, or Convert says why not.
//   - A kind may do without a hub, and show each object in the version in which it comes: then what says "of the hub" takes
//     objects of any version, those of one call in the same.
//   - Convert to the version that an object is in returns it as it is. A converted object owns its memory. An object of
//     another kind does not convert.
//   - A Kind never changes. Whoever holds on to one that has been replaced goes on with it.
//
// Everything here is safe for concurrent use. Not here: which resources have the kind (registry), what a client may
// change (strategies).
//
// Read: kind.go, typed.go, dynamic.go, dynamicconvert.go.
package kind

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Kind is a kind of objects in all its versions.
type Kind interface {
	// GroupKind is its name.
	GroupKind() meta.GroupKind
	// Versions are those that objects can be in, the preferred one first. The hub is not among them, unless it is one
	// of them. The slice is shared.
	Versions() []*Version
	// Stored are further versions that objects in the store may be in, which nobody is served in. They
	// may be of other groups. The slice is shared.
	Stored() []*Version
	// New returns an empty object of the hub.
	New() meta.Object
	// Decode decodes an object of any of the versions, or of those of Stored. What the data leaves open
	// about its kind, req.Default says. See codec.Factory.Decode; objects that turn out to be of
	// another kind may be returned, too: compare Decoded.GVK.
	Decode(req codec.DecodeRequest) (codec.Decoded, error)
	// Prune takes out of an object, of any version, in place, what Decode takes out unless it is told to leave the object unpruned.
	// The errors are among those of Decode, or that of ctx.
	Prune(ctx context.Context, obj meta.Typed) error
	// Default completes an object, of any version, in place. The error is a *meta.StatusError with
	// code 413, if the object would become too large, or that of ctx. Then the object has part of
	// its defaults.
	Default(ctx context.Context, obj meta.Typed) error
	// Convert returns obj in a version; scheme.InternalVersion asks for the hub. The result is obj itself if it is in
	// that version already. Errors are those of the conversion.
	Convert(ctx context.Context, obj meta.Typed, version string) (meta.Typed, error)
	// Batch returns what converts many objects at once, as Convert does each; nil if the kind has no converter, which may take long
	// and change labels. The results are in the order of the objects, and may be these. An error about one of them is an ObjectError.
	Batch() func(ctx context.Context, objs []meta.Typed, version string) ([]meta.Typed, error)
	// Hub is the version that strategies see objects in which clients write in a version: scheme.InternalVersion, but of kinds
	// without a hub that version itself.
	Hub(version string) string
	// Check applies what the declaration of the kind demands to an object of the hub: what the tags
	// of the hub say, and, if the client wrote in another version, what the tags of that version
	// say of the object in it. old is the object before an update, or nil. Once ctx has ended the
	// rest is not judged: the caller has to ask ctx.
	Check(ctx context.Context, obj, old meta.Object, version string) field.ErrorList
	// Append encodes an object of any version. The error is a *meta.StatusError with code 406 if m is a form that the
	// kind does not have.
	Append(dst []byte, obj meta.Typed, m codec.Media) ([]byte, error)
	// Keeper returns a function that takes changes back: it sets the fields of obj at the given paths, such as "status"
	// or "spec.finalizers", to what old has there; or, if others is set, all fields but these and the metadata. Both
	// objects are of the hub. The error names a path that does not exist; a lazy kind (scheme.AddLazy) finds it when the function
	// is called, and panics.
	Keeper(paths []string, others bool) (func(obj, old meta.Object), error)
	// Differ returns a function that reports whether two objects of the hub differ in one of the fields at the given paths.
	// Values that mean the same, as scheme.Equal has it, do not. The error is as that of Keeper.
	Differ(paths []string) (func(a, b meta.Object) bool, error)
}

// Version is what is known of a kind in one version. It is immutable.
type Version struct {
	GVK meta.GroupVersionKind
	// Schema returns the schema of objects in the version; it is compiled by the first who asks.
	Schema func() *schema.Schema
	// Type describes the Go type; nil if there is none. Without it there is no protobuf and no strategic merge. Of a lazy kind
	// it is compiled by the first who asks.
	Type func() *typeinfo.Type
	// Lazy says that nobody needs to have asked for Type yet. Who can wait asks for it with the first
	// object.
	Lazy bool
	// Protobuf says that objects of the version have a protobuf form: the fields of the Go type are numbered.
	Protobuf bool
	// Settled reports of JSON that is stored in the version whether it is what decoding and completing it gives. nil: it is,
	// always, since nothing changes about the version while there are objects.
	Settled func(data []byte) bool
	// Complete is Settled of an object of the version that has not been encoded. nil if Settled is.
	Complete func(obj meta.Typed) bool
	// Needs makes what finds out whether stored bytes, JSON or protobuf, may lack something that
	// Default adds. nil: objects of the version never lack anything, or Settled says so.
	Needs *codec.Needs
	// FieldLabel checks and converts one requirement of a field selector.
	FieldLabel scheme.FieldLabelFunc

	// Selectable are the fields that field selectors may name beside metadata.name and metadata.namespace; of dynamic kinds.
	Selectable []string

	rules func() *schema.Schema // Schema for those who handle objects; of dynamic kinds
}

// In returns what k knows of a version, nil if it has no such version.
func In(k Kind, version string) *Version {
	for _, v := range k.Versions() {
		if v.GVK.Version == version {
			return v
		}
	}
	return nil
}

// StoredIn returns the version of Versions or Stored in which objects with an apiVersion are
// stored, nil if there is none.
func StoredIn(k Kind, apiVersion string) *Version {
	for _, list := range [][]*Version{k.Versions(), k.Stored()} {
		for _, v := range list {
			if v.GVK.GroupVersion().String() == apiVersion {
				return v
			}
		}
	}
	return nil
}

// ToHub returns an object of any version in that of the hub.
func ToHub(ctx context.Context, k Kind, obj meta.Typed) (meta.Object, error) {
	hub, err := k.Convert(ctx, obj, scheme.InternalVersion)
	if err != nil {
		return nil, err
	}
	object, ok := hub.(meta.Object)
	if !ok {
		return nil, fmt.Errorf("%s has no object metadata", k.GroupKind())
	}
	return object, nil
}

// Finder finds kinds by name.
type Finder interface {
	// Kind returns nil if there is none of that name.
	Kind(gk meta.GroupKind) Kind
}
