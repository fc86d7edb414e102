// Package kind represents a kind of objects as one value, a Kind: all that registry, router and
// OpenAPI need to handle its objects. They cannot see how a Kind is implemented.
//
// There are two implementations. Types makes kinds from the Go types of a Scheme; everything about
// them follows from their type descriptors. Dynamic makes a kind from schemas that arrive at run
// time, as those of custom resources do; its objects are trees (scheme.Unstructured). A kind of
// either sort can be added to a running server, replaced by another Kind of the same name, and
// removed.
//
// Words: a kind has versions and one hub, which is the form that strategies, admission and
// validation see. Objects are decoded in a version, completed with defaults, and converted to the
// hub; before they are written to a client they are converted back. A conversion may do nothing,
// call a function, or call a webhook: so Convert takes a context and may fail.
//
// Laws, for every Kind:
//   - An object that Decode returned, and every object that Convert made of it, can be encoded.
//     Convert says why if an object cannot be in a version.
//   - A kind may be hubless and show each object in the version in which the client wrote.
//     Methods that take objects of the hub then take objects of any version; the objects of one
//     call have the same version.
//   - Convert to the version that an object is in returns the object itself. A converted object
//     shares no memory with the original. Objects of another kind do not convert.
//   - A Kind never changes. A caller that holds a Kind which has been replaced can go on using
//     it.
//
// All functions and methods may be called concurrently.
//
// Not here: which resources have the kind (registry), what a client may change (strategies).
//
// Reading order: kind.go; typed.go; dynamic.go, dynamiccodec.go, dynamicconvert.go, dynamicpaths.go
// and lazy.go.
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

// Kind is a kind of objects in all its versions. Typed and dynamic kinds implement it.
type Kind interface {
	// GroupKind returns the kind's group and name.
	GroupKind() meta.GroupKind
	// Versions returns the versions that objects can be in, the preferred one first. The hub is
	// among them only if it is one of the served versions. The caller must not change the slice.
	Versions() []*Version
	// Stored returns further versions that objects in the store may be in, but in which none is
	// served. They may be of other groups. The caller must not change the slice.
	Stored() []*Version
	// New returns an empty object of the hub.
	New() meta.Object
	// Decode decodes an object of any version of Versions or Stored. req.Default supplies what the
	// data does not say about its kind. See codec.Factory.Decode. The result may be an object of
	// another kind, so the caller has to compare Decoded.GVK.
	Decode(req codec.DecodeRequest) (codec.Decoded, error)
	// Prune removes from an object of any version, in place, the unknown fields that Decode removes
	// unless the request says Unpruned. It returns an error of the kinds that Decode returns, or
	// that of ctx.
	Prune(ctx context.Context, obj meta.Typed) error
	// Default completes an object of any version with defaults, in place. The error is a
	// *meta.StatusError with code 413 if the object would become too large, or that of ctx; the
	// object then has only part of its defaults.
	Default(ctx context.Context, obj meta.Typed) error
	// Convert returns obj in a version; scheme.InternalVersion stands for the hub. The result is
	// obj itself if it is in that version already.
	Convert(ctx context.Context, obj meta.Typed, version string) (meta.Typed, error)
	// Batch returns a function that converts many objects in one call, each as Convert does; nil if
	// the kind has no converter, that is, if a conversion is cheap and leaves labels alone. The
	// results are in the order of the objects, and may be the objects themselves. An error about
	// one of the objects is an *ObjectError.
	Batch() func(ctx context.Context, objs []meta.Typed, version string) ([]meta.Typed, error)
	// Hub returns the version in which strategies see an object that a client wrote in the given
	// version: scheme.InternalVersion, or for a hubless kind the given version.
	Hub(version string) string
	// Check validates an object of the hub against the declaration of the kind: against the tags of
	// the hub and, if the client wrote in another version, against the tags of that version. The
	// declaration of a dynamic kind is the schema of its hub. old is the object before an update,
	// or nil. Once ctx has ended the list is not complete, so the caller has to check ctx.
	Check(ctx context.Context, obj, old meta.Object, version string) field.ErrorList
	// Append appends the encoding of an object of any version. The error is a *meta.StatusError
	// with code 406 if the kind has no encoding of media type m.
	Append(dst []byte, obj meta.Typed, m codec.Media) ([]byte, error)
	// Keeper returns a function that undoes changes: it sets the fields of obj at the given paths,
	// such as "status" or "spec.finalizers", to their values in old. If others is true, it instead
	// resets all fields except these paths and the metadata. Both objects are of the hub. The error
	// names a path that does not exist; for a lazy kind (scheme.AddLazy) the returned function
	// finds this at its first call, and panics.
	Keeper(paths []string, others bool) (func(obj, old meta.Object), error)
	// Differ returns a function that reports whether two objects of the hub differ in a field at
	// one of the paths. Values that scheme.Equal calls equal do not differ. It reports paths that
	// do not exist as Keeper does.
	Differ(paths []string) (func(a, b meta.Object) bool, error)
}

// Version describes a kind in one version. It is immutable.
type Version struct {
	GVK meta.GroupVersionKind
	// Schema returns the schema of objects in the version. The first call compiles it.
	Schema func() *schema.Schema
	// Type returns the descriptor of the Go type; the field is nil if there is no Go type, and so
	// no protobuf and no strategic merge. For a lazy kind the first call compiles the descriptor.
	Type func() *typeinfo.Type
	// Lazy says that Type may not have been called yet. A caller that can wait calls Type only when
	// it has an object.
	Lazy bool
	// Protobuf says that objects of the version have a protobuf encoding: the fields of the Go type
	// have numbers.
	Protobuf bool
	// Settled reports whether data, JSON that is stored in the version, is the same after decoding
	// and defaulting. It is nil if no change of a schema can have left objects in the store
	// incomplete: for all typed kinds (see Needs), and for dynamic versions without Evolves.
	Settled func(data []byte) bool
	// Complete reports the same as Settled for an object of the version that has not been encoded.
	// It is nil if Settled is nil.
	Complete func(obj meta.Typed) bool
	// Needs makes the functions that find out whether stored bytes, JSON or protobuf, may lack a
	// field that Default adds. nil means that objects never lack one, or that Settled says so.
	Needs *codec.Needs
	// FieldLabel checks and converts one requirement of a field selector.
	FieldLabel scheme.FieldLabelFunc

	// Selectable lists the fields that field selectors may name besides metadata.name and
	// metadata.namespace. Only dynamic kinds set it.
	Selectable []string

	rules func() *schema.Schema // returns Schema, and keeps it in memory; only dynamic kinds set it
}

// In returns the description of one version of kind k, nil if k has no such version.
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

// ToHub converts an object of any version to the hub.
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
	// Kind returns the kind of that name, nil if there is none.
	Kind(gk meta.GroupKind) Kind
}
