package schemetest

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// comparison compares samples before and after a round trip and collects the result per field.
type comparison struct { // by path
	fates map[string]*fate
	order []string // the paths of fields that did not always survive, in the order of discovery
}

// fate is what happened to one field in all samples.
type fate struct {
	// The samples in which the field was set, and those of them in which it survived.
	had, kept int
	detail    string // describes the first sample in which the field did not survive; "" if there is none
}

// value compares two values of type t. Lists and maps of different lengths are not compared
// further.
func (c *comparison) value(t *typeinfo.Type, path string, was, is any) {
	wasMap, _ := was.(map[string]any)
	isMap, _ := is.(map[string]any)
	wasList, _ := was.([]any)
	isList, _ := is.([]any)
	switch {
	case t.Kind == typeinfo.Struct && wasMap != nil && isMap != nil:
		for _, f := range t.Fields {
			c.value(f.Type, join(path, f.Name), wasMap[f.Name], isMap[f.Name])
		}
	case t.Kind == typeinfo.Map && wasMap != nil && isMap != nil:
		if c.note(path, was, is, len(wasMap) == len(isMap)) {
			for key := range wasMap {
				c.value(t.Elem, path+"[]", wasMap[key], isMap[key])
			}
		}
	case t.Kind == typeinfo.List && wasList != nil && isList != nil:
		if c.note(path, was, is, len(wasList) == len(isList)) {
			for i := range wasList {
				c.value(t.Elem, path+"[]", wasList[i], isList[i])
			}
		}
	default:
		c.note(path, was, is, reflect.DeepEqual(was, is))
	}
}

// note counts a value and returns whether it survived.
func (c *comparison) note(path string, was, is any, same bool) bool {
	f := c.fates[path]
	if f == nil {
		f = &fate{}
		c.fates[path] = f
	}
	if !isEmpty(was) {
		f.had++
		if same {
			f.kept++
		}
	}
	if same || f.detail != "" {
		return same
	}
	c.order = append(c.order, path)
	if f.detail = "is lost on the way to the hub and back"; !isEmpty(is) {
		f.detail = fmt.Sprintf("is changed on the way to the hub and back, from %s to %s", text(was), text(is))
	}
	return false
}

// isEmpty reports whether JSON has nothing, or the zero value, for v.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case json.Number:
		return v == "0"
	}
	return v == nil || v == "" || v == false
}

// text returns a value as JSON for a message, cut if it is long.
func text(v any) string {
	data, _ := json.Marshal(v) // v was decoded from JSON, so it encodes
	return meta.Excerpt(string(data))
}

// join appends a name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
