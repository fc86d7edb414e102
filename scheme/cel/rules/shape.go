package rules

import (
	"github.com/google/cel-go/cel"

	"github.com/coracle-project/coracle/scheme/schema"
)

// Shapes: schemas as expressions see them, with the types and the largest sizes of values. Rules
// are compiled and estimated by shapes, and values are shown through them (value.go). The numbers
// here decide the estimates, so they are Kubernetes'.

// form is the kind of CEL value that shows a value.
type form uint8

const (
	hidden    form = iota // not visible to expressions
	preserved             // not visible, but part of comparisons
	intOrString
	list
	entries // a map
	object
	text
	bytes
	duration
	date
	datetime
	boolean
	double
	integer
)

// Sizes of values in JSON, in bytes. maxRequest is the size of the largest request; from it follows
// how many values, and how long ones, an object can have where the schema sets no bound.
const (
	maxRequest  = 3 << 20
	maxDuration = 32
	maxDatetime = 32
	dateSize    = 12
)

// A shape is a schema as expressions see it. Shapes are immutable.
type shape struct {
	schema *schema.Schema
	form   form
	// exposed says that expressions can name the value: its schema has a type or is int-or-string,
	// and the items of a list or the described entries of a map are exposed as well. A value that
	// is not exposed is still part of comparisons.
	exposed bool
	// fields are the fields of an object by name; nil if the schema has no properties.
	fields map[string]*shape
	// idents are the exposed fields by their identifiers in expressions.
	idents map[string]*shape
	item   *shape // of the elements of a list or the entries of a map
	// The key fields of a list of type map, by their identifiers.
	keys []string
	// most is the largest length of the value: bytes of a string, elements or entries. least is its
	// smallest size in JSON.
	most, least int64
}

// shapeOf returns the shape of a schema. head says that values are whole resources: they have
// apiVersion, kind, and the names in metadata, whatever the schema says.
func shapeOf(s *schema.Schema, head bool) *shape {
	if head {
		s = withHead(s)
	}
	s = s.Target()
	sh := &shape{schema: s, exposed: true}
	switch {
	case s.IntOrString:
		sh.form, sh.least, sh.most = intOrString, 1, maxLength(s)
	case s.Type == schema.Array:
		sh.list(s)
	case s.Type == schema.Object:
		sh.object(s)
	case s.Type == schema.String:
		sh.text(s)
	case s.Type == schema.Boolean:
		sh.form, sh.least = boolean, 4
	case s.Type == schema.Number:
		sh.form, sh.least = double, 1
	case s.Type == schema.Integer:
		sh.form, sh.least = integer, 1
	default:
		if sh.exposed = false; s.PreserveUnknown {
			sh.form = preserved
		}
	}
	return sh
}

// list sets the shape of a list.
func (sh *shape) list(s *schema.Schema) {
	sh.form, sh.least = list, 2
	if s.Items == nil {
		sh.exposed = false
		return
	}
	sh.item = shapeOf(s.Items, s.Items.EmbeddedResource)
	sh.exposed = sh.item.exposed
	sh.most = (maxRequest - 2) / (sh.item.least + 1)
	if l := s.Limits; l != nil && l.MaxItems != nil {
		sh.most = max(*l.MaxItems, 0)
	}
	for _, key := range s.ListKeys {
		// Kubernetes looks for keys in the elements by identifier, not by name, and so does not
		// find keys that must be escaped: all elements with only such a key are the same one there,
		// and here.
		if ident, ok := escape(key); ok {
			key = ident
		}
		sh.keys = append(sh.keys, key)
	}
}

// object sets the shape of an object or map. A member takes its name and value and four bytes of
// JSON: two quotes, a colon and a comma. The name of an entry is taken to be two bytes long. If a
// schema has both properties and additionalProperties, the type of its values is a map of the
// latter (typeOf), but expressions find only the properties. Definitions may not have both.
func (sh *shape) object(s *schema.Schema) {
	sh.form, sh.least = object, 2
	if more := s.AdditionalProperties; isDescribed(more) {
		sh.item = shapeOf(more, more.EmbeddedResource)
		sh.exposed = sh.item.exposed
		sh.most = (maxRequest - 2) / (sh.item.least + 6)
		if l := s.Limits; l != nil && l.MaxProperties != nil {
			sh.most = max(*l.MaxProperties, 0)
		}
		if len(s.Properties) == 0 {
			sh.form = entries
			return
		}
	}
	if len(s.Properties) == 0 {
		return
	}
	sh.fields = make(map[string]*shape, len(s.Properties))
	sh.idents = make(map[string]*shape, len(s.Properties))
	for name, p := range s.Properties {
		f := shapeOf(p, p.EmbeddedResource)
		sh.fields[name] = f
		if ident, ok := escape(name); ok && f.exposed {
			sh.idents[ident] = f
		}
	}
	for _, name := range s.Required {
		if f := sh.fields[name]; f != nil && f.exposed && s.Properties[name].Default == nil {
			sh.least += int64(len(name)) + f.least + 4
		}
	}
}

// text sets the shape of a string, by its format.
func (sh *shape) text(s *schema.Schema) {
	sh.form, sh.least, sh.most = text, 2, maxLength(s)
	switch s.Format {
	case "byte":
		sh.form, sh.most = bytes, maxRequest-2
		if l := s.Limits; l != nil && l.MaxLength != nil {
			sh.most = max(*l.MaxLength, 0)
		}
	case "duration":
		sh.form, sh.least, sh.most = duration, 3, maxDuration
	case "date":
		sh.form, sh.least, sh.most = date, dateSize, dateSize
	case "date-time":
		sh.form, sh.least, sh.most = datetime, 21, maxDatetime
	}
}

// maxLength returns the largest length of a string in bytes: four per character that the schema
// allows, or the length of the longest literal in enum.
func maxLength(s *schema.Schema) (most int64) {
	if l := s.Limits; l != nil && l.MaxLength != nil {
		return 4 * max(*l.MaxLength, 0)
	}
	if s.IntOrString || len(s.Enum) == 0 {
		return maxRequest - 2
	}
	for _, literal := range s.Enum {
		if text, ok := literal.(string); ok {
			most = max(most, int64(len(text)))
		}
	}
	return most
}

// isDescribed reports whether the schema of entries says anything about them.
func isDescribed(s *schema.Schema) bool {
	return s != nil && (s.Type != "" || s.IntOrString || s.PreserveUnknown || s.Model != nil)
}

// withHead returns the schema s with apiVersion, kind, and the names in metadata. If s describes
// these three completely, it is returned itself; otherwise what it says about them is replaced.
func withHead(s *schema.Schema) *schema.Schema {
	s = s.Target()
	if isA(s.Properties["kind"], schema.String) && isA(s.Properties["apiVersion"], schema.String) {
		metadata := s.Properties["metadata"]
		if isA(metadata, schema.Object) && isA(metadata.Properties["name"], schema.String) &&
			isA(metadata.Properties["generateName"], schema.String) {
			return s
		}
	}
	out := *s
	out.Items = nil
	out.Properties = make(map[string]*schema.Schema, len(s.Properties)+3)
	for name, p := range s.Properties {
		out.Properties[name] = p
	}
	text := &schema.Schema{Type: schema.String}
	out.Properties["kind"], out.Properties["apiVersion"] = text, text
	out.Properties["metadata"] = &schema.Schema{
		Type: schema.Object, Properties: map[string]*schema.Schema{"name": text, "generateName": text},
	}
	return &out
}

// isA reports whether the schema s, which may be nil, has the given type.
func isA(s *schema.Schema, typ string) bool { return s != nil && s.Type == typ }

// typeOf returns the CEL type of values of the shape. An object gets a type called name, and
// objects in it get names made of name and the path to them. named is called with each.
func (sh *shape) typeOf(name string, named func(name string, object *shape)) *cel.Type {
	switch sh.form {
	case list:
		return cel.ListType(sh.item.typeOf(name+".@idx", named))
	case entries:
		return cel.MapType(cel.StringType, sh.item.typeOf(name+".@elem", named))
	case object:
		if sh.item != nil {
			return cel.MapType(cel.StringType, sh.item.typeOf(name+".@elem", named))
		}
		named(name, sh)
		return cel.ObjectType(name)
	case text:
		return cel.StringType
	case bytes:
		return cel.BytesType
	case duration:
		return cel.DurationType
	case date, datetime:
		return cel.TimestampType
	case boolean:
		return cel.BoolType
	case double:
		return cel.DoubleType
	case integer:
		return cel.IntType
	}
	return cel.DynType
}

// sizes implements cel.Sizes for expressions about values of the shape. path[0] is self or oldSelf.
func (sh *shape) sizes(path []string) (most uint64, known bool) {
	at := sh
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			at = at.item
		case "@keys":
			if at.item == nil || at.form == list {
				return 0, false
			}
			at = &shape{}
		default:
			at = at.idents[name]
		}
		if at == nil {
			return 0, false
		}
	}
	return uint64(at.most), true
}

// holders returns how many values of the shape one object can have at most, by the size of a
// request.
func (sh *shape) holders() uint64 { return uint64(maxRequest / (sh.least + 1)) }
