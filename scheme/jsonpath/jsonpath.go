// Package jsonpath finds values in trees by kubectl's dialect of JSONPath, in which the columns of custom resources, and what
// refers to fields elsewhere, are written.
//
// A template is text with actions in braces; an action is a chain of steps, such as .spec.ports[0].name. What a step does not find
// is no error and yields nothing; what it cannot do, such as taking an element of a number, is one. Results are those of kubectl,
// but that values of objects come in the order of their names, and that loops (range, end) are parsed and not run.
//
// A Path is immutable and may be used by many goroutines. Paths and trees may come from strangers: a search ends with an error
// when it has come upon too many values.
//
// Not here: how a cell shows what was found (registry/extensions). Read: jsonpath.go, parse.go, find.go, compare.go.
package jsonpath

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Path is a template that was parsed.
type Path struct {
	parts []part
	// names are the fields of a template that is one action of nothing but names; nil for others.
	names []string
}

// part is an action, or the text between two.
type part []step

// step goes on from values to others. Its argument is a list of values from the tree, or of the template's own: texts, int,
// float64 and bool.
type step interface {
	walk(s *search, in []any) ([]any, error)
}

// First returns the first value of the first part of the template, and whether there is one.
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

// descend follows names from object to object.
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

// Find returns the values of each part of the template.
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

// Text is a value as templates print it.
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
