// Package jsonpath finds values in trees by kubectl's dialect of JSONPath. Definitions of custom
// resources use it for their printer columns (additionalPrinterColumns) and for other references to
// fields.
//
// Words: a template is text with actions in braces; an action is a chain of steps, such as
// .spec.ports[0].name; a part of a template is an action or the text between two actions.
//
// Laws:
//   - A step that finds nothing yields nothing, without an error. A step that cannot be taken,
//     such as an index into a number, is an error.
//   - Results and errors are kubectl's, with two exceptions: members of objects are visited in
//     the order of their names, and loops (range, end) are parsed but not run.
//   - Paths and trees may come from clients: a search that visits more than maxValues values
//     ends with an error.
//
// A Path is immutable and safe for concurrent use.
//
// Not here: how a cell of a table shows what was found (registry/extensions).
//
// Read: jsonpath.go, parse.go, find.go, compare.go.
package jsonpath

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Path is a parsed template.
type Path struct {
	parts []part
	// names are the field names of a template that is one action with only names, which is the
	// usual case and needs no search; nil for other templates.
	names []string
}

// part is the list of steps of an action; for text between actions it is one step that yields the
// text.
type part []step

// step yields values for a list of values. Values are trees, and what templates contain: strings,
// int, float64 and bool.
type step interface {
	walk(s *search, in []any) ([]any, error)
}

// First returns the first value that the first part of the template yields; ok is false if it
// yields none.
func (p *Path) First(tree any) (value any, ok bool, err error) {
	if p.names != nil {
		value, ok = descend(tree, p.names)
		return value, ok, nil
	}
	found, err := p.Find(tree)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil, false, err
	}
	return found[0][0], true, nil
}

// descend follows field names from object to object; it reports false if one is missing.
func descend(value any, names []string) (any, bool) {
	for _, name := range names {
		object, _ := value.(map[string]any)
		next, ok := object[name]
		if !ok {
			return nil, false
		}
		value = next
	}
	return value, true
}

// Find returns the values that each part of the template yields for a tree.
func (p *Path) Find(tree any) ([][]any, error) {
	s := &search{left: maxValues}
	found := make([][]any, 0, len(p.parts))
	for _, part := range p.parts {
		values, err := s.run(part, []any{tree})
		if err != nil {
			return nil, err
		}
		found = append(found, values)
	}
	return found, nil
}

// Text returns a value as kubectl prints it.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return "<no value>"
	case string:
		return v
	case map[string]any, []any:
		text, err := jsontext.AppendTree(nil, v, jsontext.HTML)
		if err != nil {
			return ""
		}
		return string(text)
	}
	return fmt.Sprint(value)
}
