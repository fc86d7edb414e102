package apply

import (
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// shape is what a schema means for ownership at a place. It is made anew at each visit, and costs next to nothing.
//
// The value at a place may be a scalar, a list, an object, or one of several of these. The zero shape allows none: so is that
// of a field which the schema does not know.
type shape struct {
	scalar scalar
	list   relation
	object relation
	// preserve says that unknown fields are kept: by this schema, or one around it that is no model of its own.
	preserve bool
	// parts is what the parts are whose schema of does not say.
	parts parts
	of    *schema.Schema // nil where there is none any more, within values that are made of anything
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

// relation says whether a list or an object has parts that are owned by themselves.
type relation uint8

const (
	impossible relation = iota // the value is none
	atomic                     // it is one field
	granular                   // it has fields: an object by name, a list by key or value
)

// parts says what the parts of a value are whose schema is not known.
type parts uint8

const (
	unknown   parts = iota // they are errors
	deduced                // anything: objects are granular, lists are not
	untouched              // anything, in one piece
)

var (
	anyGranular = shape{scalar: anyScalar, list: atomic, object: granular, parts: deduced}
	anyAtomic   = shape{scalar: anyScalar, list: atomic, object: atomic, parts: untouched}
)

// The models that are not what their schema says.
const (
	quantityModel     = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	rawExtensionModel = "io.k8s.apimachinery.pkg.runtime.RawExtension"
)

// rootShape is the shape of a whole object.
func rootShape(s *schema.Schema) shape { return shapeOf(s, false) }

// shapeOf returns the shape of the value that a schema describes.
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
	sh := shape{of: s, preserve: preserve || s.KeepsUnknown()}
	typ := s.Type
	if s.IntOrString {
		typ = "" // of which there is no type either
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

// listRelation is that of a list. Without a type it is the one that strategic merge patches take it for.
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

// key returns the name of the i-th key by which elements of the list are found; "" if there are no more.
func (sh shape) key(i int) string {
	switch {
	case sh.of == nil:
	case sh.of.ListType == "map" && i < len(sh.of.ListKeys):
		return sh.of.ListKeys[i]
	case sh.of.ListType == "" && i == 0:
		return sh.of.PatchMergeKey
	}
	return ""
}

// keys returns the names of all keys.
func (sh shape) keys() (names []string) {
	for i := 0; sh.key(i) != ""; i++ {
		names = append(names, sh.key(i))
	}
	return names
}

// items returns the shape of the elements of a list.
func (sh shape) items() shape {
	if sh.of != nil && sh.of.Items != nil {
		return shapeOf(sh.of.Items, sh.preserve)
	}
	return anyAtomic
}

// field returns the shape of a field of an object; declared is false for entries of maps, and for what the schema does not know.
func (sh shape) field(name string) (_ shape, declared bool) {
	if p := sh.property(name); p != nil {
		return shapeOf(p, sh.preserve), true
	}
	return sh.entries(), false
}

// property returns the schema of a declared field, nil if there is none.
func (sh shape) property(name string) *schema.Schema {
	if sh.of == nil {
		return nil
	}
	if hasHead(sh.of) {
		if p := head()[name]; p != nil {
			return p
		}
	}
	return sh.of.Properties[name]
}

// entries returns the shape of fields that are not declared.
func (sh shape) entries() shape {
	switch {
	case sh.of != nil && sh.of.AdditionalProperties != nil:
		return shapeOf(sh.of.AdditionalProperties, sh.preserve)
	case sh.parts == deduced:
		return anyGranular
	case sh.parts == untouched:
		return anyAtomic
	}
	return shape{}
}

// known reports whether any value is possible.
func (sh shape) known() bool {
	return sh.scalar != noScalar || sh.list != impossible || sh.object != impossible
}

// free reports whether every value is right, whatever is in it.
func (sh shape) free() bool { return sh.of == nil && sh.scalar == anyScalar && sh.object != impossible }

// given returns what is left of the possibilities if the value is of a class; all of them if that is none of them.
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

// hasHead reports whether values have an apiVersion, a kind and metadata without their schema saying so.
func hasHead(s *schema.Schema) bool { return s.Go == nil && (s.Resource || s.EmbeddedResource) }

// head is what an object has besides what is described.
var head = sync.OnceValue(func() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"apiVersion": {Type: schema.String},
		"kind":       {Type: schema.String},
		"metadata":   {Model: schema.FromType(typeinfo.For[meta.ObjectMeta]())},
	}
})
