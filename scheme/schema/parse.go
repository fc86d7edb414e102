package schema

import (
	"math"
	"regexp"
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// parse.go reads the schemas of custom resources from JSON. Package registry/extensions calls Parse
// for each CustomResourceDefinition.

// Parse reads the schema of a kind from JSON, as a CustomResourceDefinition has it in
// openAPIV3Schema: OpenAPI 3.0 with the x-kubernetes extensions. path is the path of the schema in
// its object. Unknown keywords are errors, and so are keywords of OpenAPI that Kubernetes does not
// accept. The other rules for structural schemas are not checked.
//
// The result is a Resource. If there are errors, it has everything that could be read. Defaults are
// pruned by the schemas that declare them, and the metadata of embedded resources in them is
// coerced.
func Parse(path *field.Path, data []byte) (*Schema, field.ErrorList) { return parse(path, data, true) }

// ParseLiteral reads a schema as Parse does, but leaves its defaults as they are written.
// Validation of a definition uses it to report unknown fields in defaults.
func ParseLiteral(path *field.Path, data []byte) (*Schema, field.ErrorList) {
	return parse(path, data, false)
}

// parse is Parse if prune is true, and ParseLiteral if it is false.
func parse(path *field.Path, data []byte, prune bool) (*Schema, field.ErrorList) {
	tree, err := jsontext.Decode(data, nil)
	if err != nil {
		return &Schema{Resource: true}, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	p := parser{prune: prune}
	s := p.schema(path, tree)
	s.Resource = true
	return s, p.errs
}

// parser reads one schema and collects its errors.
type parser struct {
	prune    bool // whether to prune and coerce defaults
	errs     field.ErrorList
	patterns map[string]*regexp.Regexp // by text, because schemas repeat their patterns
}

// fail records an error, unless the list is full.
func (p *parser) fail(err *field.Error) {
	if !p.errs.Full() {
		p.errs = append(p.errs, err)
	}
}

// schema reads a schema and the schemas below it.
func (p *parser) schema(at *field.Path, tree any) *Schema {
	s := &Schema{}
	p.members(at, tree, func(at *field.Path, name string, v any) { p.keyword(at, s, name, v) })
	s.noteConcerns()
	if s.Default != nil && p.prune {
		s.prune(nil, s.Default, true)
		_ = s.Coerce(nil, nil, s.Default) // ValidateDefaults reports the error
	}
	return s
}

// noneDefaulted is the defaulted of all schemas without a property that has a default. It is shared
// and never written to.
var noneDefaulted = map[string]*Schema{}

// noteConcerns sets resources, lists and defaulted of s, after the schemas below s have been read.
func (s *Schema) noteConcerns() {
	s.resources, s.lists = s.EmbeddedResource, s.ListType == "set" || s.ListType == "map"
	note := func(below *Schema) {
		s.resources, s.lists = s.resources || below.resources, s.lists || below.lists
	}
	s.defaulted = noneDefaulted
	for name, below := range s.Properties {
		note(below)
		if below.Default == nil {
			continue
		}
		if len(s.defaulted) == 0 {
			s.defaulted = map[string]*Schema{}
		}
		s.defaulted[name] = below
	}
	for _, below := range []*Schema{s.AdditionalProperties, s.Items} {
		if below != nil {
			note(below)
		}
	}
}

// members calls each for the members of an object that are not null, in the order of their names.
func (p *parser) members(at *field.Path, v any, each func(at *field.Path, name string, v any)) {
	var members map[string]any
	if !read(p, at, v, &members) {
		return
	}
	for _, name := range jsontext.Keys(members) {
		if v := members[name]; v != nil {
			each(at.Child(name), name, v)
		}
	}
}

// properties reads a map of schemas.
func (p *parser) properties(at *field.Path, v any, to *map[string]*Schema) {
	var fields map[string]any
	if !read(p, at, v, &fields) {
		return
	}
	*to = make(map[string]*Schema, len(fields))
	for _, name := range jsontext.Keys(fields) {
		(*to)[name] = p.schema(at.Key(name), fields[name])
	}
}

// additional reads additionalProperties: a schema, true for any value, or false for none.
func (p *parser) additional(at *field.Path, v any) *Schema {
	if allowed, ok := v.(bool); ok {
		return &Schema{Forbidden: !allowed}
	}
	return p.schema(at, v)
}

// schemas reads a list of schemas.
func (p *parser) schemas(at *field.Path, v any, to *[]*Schema) {
	var list []any
	if !read(p, at, v, &list) {
		return
	}
	for i, each := range list {
		*to = append(*to, p.schema(at.Index(i), each))
	}
}

// read stores v in to and returns true if v is of the type T, else reports an error.
func read[T any](p *parser, at *field.Path, v any, to *T) bool {
	t, ok := v.(T)
	if !ok {
		p.fail(field.TypeInvalid(at, typeOf(v), "must be of type "+typeOf(any(*new(T)))))
		return false
	}
	*to = t
	return true
}

// number reads a limit that may have a fraction.
func (p *parser) number(at *field.Path, v any, to **float64) {
	switch v.(type) {
	case int64, float64:
		f := asFloat(v)
		*to = &f
	default:
		p.fail(field.TypeInvalid(at, typeOf(v), "must be of type number"))
	}
}

// count reads a limit on a number of things. JSON such as 1.0 or 1e3 counts as an integer.
func (p *parser) count(at *field.Path, v any, to **int64) {
	n, ok := v.(int64)
	if f, isFloat := v.(float64); isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n, ok = int64(f), true
	}
	if !ok {
		p.fail(field.TypeInvalid(at, typeOf(v), "must be of type integer"))
		return
	}
	*to = &n
}

// strings reads a list of strings.
func (p *parser) strings(at *field.Path, v any, to *[]string) {
	var list []any
	if !read(p, at, v, &list) {
		return
	}
	for i, each := range list {
		var s string
		if read(p, at.Index(i), each, &s) {
			*to = append(*to, s)
		}
	}
}

// word reads a string that must be one of the allowed ones.
func (p *parser) word(at *field.Path, v any, to *string, allowed ...string) {
	if read(p, at, v, to) && !slices.Contains(allowed, *to) {
		p.fail(field.NotSupported(at, *to, allowed))
	}
}
