package openapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// parameter is a parameter of a path or a query. Parameters compare with ==.
type parameter struct {
	name        string
	in          string // path or query
	typ         string
	description string
	required    bool
}

// Parameters that many operations have.
var (
	namespaceParameter = parameter{"namespace", "path", schema.String, "namespace of the object", true}
	pathParameter      = parameter{"path", "path", schema.String, "path behind the resource", true}
	pretty             = []parameter{{"pretty", "query", schema.String, "If 'true', the answer is indented.", false}}
)

// parameters joins lists of parameters and sorts the result by name.
func parameters(lists ...[]parameter) []parameter {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b parameter) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.in, b.in))
	})
	return all
}

// typeParameters returns the query parameters that the fields of an options type are.
func (b *builder) typeParameters(m Model) []parameter {
	if m.Type == nil {
		return schemaParameters(m.Schema())
	}
	if found, ok := b.options[m.Type]; ok {
		return found
	}
	found := schemaParameters(b.compiler.Type(m.Type))
	b.options[m.Type] = found
	return found
}

// schemaParameters returns the query parameters that the properties of a schema are. Objects have
// no form in a query.
func schemaParameters(s *schema.Schema) []parameter {
	var out []parameter
	for name, p := range s.Properties {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		typ := p.Target().Type
		switch typ {
		case schema.Array:
			typ = schema.String // a list is a repeated parameter
		case schema.Object, "":
			continue
		}
		out = append(out, parameter{name: name, in: "query", typ: typ, description: p.Description})
	}
	return out
}

// optionParameters returns the query parameters of the options type T.
func optionParameters[T any](b *builder) []parameter {
	return b.typeParameters(Model{Type: typeinfo.For[T]()})
}

// deleteCollectionParameters returns the query parameters of deletecollection: those of a list that
// is no watch, and those of a delete.
func deleteCollectionParameters(b *builder) []parameter {
	list := slices.DeleteFunc(slices.Clone(optionParameters[meta.ListOptions](b)), func(p parameter) bool {
		return p.name == "watch" || p.name == "allowWatchBookmarks"
	})
	return slices.Concat(list, optionParameters[meta.DeleteOptions](b))
}
