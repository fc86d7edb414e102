package apply

import (
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file translates a schema.Schema into what ownership needs to know of a value: which types it
// may have, and whether its parts are owned one by one. It follows structured-merge-diff's schemas,
// as kube-openapi makes them. The walkers ask it at each value they visit.

// shape is what a schema means for the ownership of one value. It is computed at each visit,
// without an allocation.
//
// A shape may allow a scalar, a list, an object, or several of these. The zero shape allows none:
// it is the shape of a field that the schema does not declare.
type shape struct {
	scalar scalar
	list   relation
	object relation
	// preserve says that unknown fields are kept, by this schema or by one around it within the
	// same model.
	preserve bool
	// parts says which parts are allowed that the schema does not describe.
	parts  parts
	schema *schema.Schema // nil inside of values that no schema describes
}

// scalar says which scalars a value may be.
type scalar uint8

const (
	noScalar scalar = iota
	anyScalar
	numberScalar
	stringScalar
	boolScalar
)

// relation says whether a value may be a list (or an object) and, if so, whether its parts are
// owned one by one.
type relation uint8

const (
	impossible relation = iota // the value is no list (or object)
	atomic                     // it is owned as one field
	granular                   // its parts are owned: those of an object by name, those of a list by key or value
)

// parts says which parts of a value are allowed that its schema does not describe, and who can own
// them.
type parts uint8

const (
	unknown   parts = iota // they are not allowed
	deduced                // all are allowed: objects in them are granular, lists atomic
	untouched              // all are allowed, and are atomic
)

// Shapes of values that no schema describes: anyGranular where unknown fields are kept, anyAtomic
// in RawExtensions and in lists without a schema for their elements.
var (
	anyGranular = shape{scalar: anyScalar, list: atomic, object: granular, parts: deduced}
	anyAtomic   = shape{scalar: anyScalar, list: atomic, object: atomic, parts: untouched}
)

// These models have a shape that does not follow from their schema.
const (
	quantityModel     = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	rawExtensionModel = "io.k8s.apimachinery.pkg.runtime.RawExtension"
)

// rootShape is the shape of a whole object.
func rootShape(s *schema.Schema) shape { return shapeOf(s, false) }

// shapeOf returns the shape of the values that schema s describes. preserve is that of the shape
// around it.
func shapeOf(s *schema.Schema, preserve bool) shape {
	mapType := s.MapType
	if s.Model != nil {
		if s = s.Model; mapType == "" {
			mapType = s.MapType
		}
		preserve = false
	}
	switch s.Name {
	case quantityModel:
		return shape{scalar: anyScalar}
	case rawExtensionModel:
		return anyAtomic
	}
	sh := shape{schema: s, preserve: preserve || s.KeepsUnknown()}
	typ := s.Type
	if s.IntOrString {
		typ = "" // in OpenAPI v3, from which kube-apiserver makes its schemas, it has a oneOf and no type
	}
	switch typ {
	case schema.Object:
		sh.object = granular
	case schema.Array:
		sh.list = listRelation(s)
	case schema.Integer, schema.Number:
		sh.scalar = numberScalar
	case schema.Boolean:
		sh.scalar = boolScalar
	case schema.String:
		if sh.scalar = stringScalar; s.Format != "" && s.Format != "byte" {
			sh.scalar = anyScalar
		}
	default:
		sh.scalar, sh.list, sh.object = anyScalar, listRelation(s), granular
	}
	if sh.object != impossible && mapType == "atomic" {
		sh.object = atomic
	}
	if s.AdditionalProperties == nil && (sh.preserve || len(s.Properties) == 0 && !hasHead(s)) {
		sh.parts = deduced
	}
	return sh
}

// listRelation returns whether a list is granular. Without a list type the patch strategy decides,
// as in kube-openapi.
func listRelation(s *schema.Schema) relation {
	switch s.ListType {
	case "set", "map":
		return granular
	case "":
		if s.PatchStrategy == "merge" || s.PatchStrategy == "merge,retainKeys" {
			return granular
		}
	}
	return atomic
}

// key returns the name of the i-th key that identifies the elements of a list; "" if there are no
// more keys.
func (sh shape) key(i int) string {
	switch {
	case sh.schema == nil:
	case sh.schema.ListType == "map" && i < len(sh.schema.ListKeys):
		return sh.schema.ListKeys[i]
	case sh.schema.ListType == "" && i == 0:
		return sh.schema.PatchMergeKey
	}
	return ""
}

// keys returns the names of all keys that identify the elements of a list.
func (sh shape) keys() (names []string) {
	for i := 0; sh.key(i) != ""; i++ {
		names = append(names, sh.key(i))
	}
	return names
}

// items returns the shape of a list's elements.
func (sh shape) items() shape {
	if sh.schema != nil && sh.schema.Items != nil {
		return shapeOf(sh.schema.Items, sh.preserve)
	}
	return anyAtomic
}

// field returns the shape of an object's field. declared is false if the name is an entry of a map,
// or unknown to the schema.
func (sh shape) field(name string) (_ shape, declared bool) {
	if p := sh.property(name); p != nil {
		return shapeOf(p, sh.preserve), true
	}
	return sh.entries(), false
}

// property returns the schema of a declared field, nil if the field is not declared.
func (sh shape) property(name string) *schema.Schema {
	if sh.schema == nil {
		return nil
	}
	if hasHead(sh.schema) {
		if p := head()[name]; p != nil {
			return p
		}
	}
	return sh.schema.Properties[name]
}

// entries returns the shape of fields that are not declared; the zero shape if there may be none.
func (sh shape) entries() shape {
	switch {
	case sh.schema != nil && sh.schema.AdditionalProperties != nil:
		return shapeOf(sh.schema.AdditionalProperties, sh.preserve)
	case sh.parts == deduced:
		return anyGranular
	case sh.parts == untouched:
		return anyAtomic
	}
	return shape{}
}

// known reports whether the shape allows at least one class of values.
func (sh shape) known() bool {
	return sh.scalar != noScalar || sh.list != impossible || sh.object != impossible
}

// free reports whether the shape allows every value, with anything in it, so that there is nothing
// to check.
func (sh shape) free() bool {
	return sh.schema == nil && sh.scalar == anyScalar && sh.object != impossible
}

// given narrows a shape to class c of the value at hand. If the shape does not allow c, it stays as
// it is.
func (sh shape) given(c class) shape {
	switch {
	case c.isScalar() && sh.scalar != noScalar:
		sh.list, sh.object = impossible, impossible
	case c == listClass && sh.list != impossible:
		sh.scalar, sh.object = noScalar, impossible
	case c == objectClass && sh.object != impossible:
		sh.scalar, sh.list = noScalar, impossible
	}
	return sh
}

// hasHead reports whether objects of schema s have apiVersion, kind and metadata although s does
// not declare them, as custom resources do.
func hasHead(s *schema.Schema) bool { return s.Go == nil && (s.Resource || s.EmbeddedResource) }

// head has the schemas of apiVersion, kind and metadata.
var head = sync.OnceValue(func() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"apiVersion": {Type: schema.String},
		"kind":       {Type: schema.String},
		"metadata":   {Model: schema.FromType(typeinfo.For[meta.ObjectMeta]())},
	}
})
