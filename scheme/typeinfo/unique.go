package typeinfo

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
)

// kubernetesOwn reports whether t is one of Kubernetes' own types. Their lists are not checked
// here, because hand-written validation checks them: some of their sets, such as
// metadata.finalizers, may hold duplicates, and the errors of some keys have their own wording.
func kubernetesOwn(t reflect.Type) bool { return strings.HasPrefix(ModelName(t), "io.k8s.") }

// unique reports the duplicates in a list. It reports nothing if the old list had duplicates, so
// that an object that was stored before the check existed can still be updated.
func (c *checker) unique(f *Field, now, before reflect.Value) {
	twice := repeated(f, now)
	if len(twice) == 0 || before.IsValid() && len(repeated(f, before)) > 0 {
		return
	}
	for _, i := range twice {
		if c.errs.Full() {
			return
		}
		c.way = append(c.way, wayStep{kind: List, index: i})
		c.report(field.Duplicate(c.path(), distinct(f, now.Index(i))))
		c.way = c.way[:len(c.way)-1]
	}
}

// repeated returns the indexes of the duplicates in a list: elements of a set, or keys in a list of
// type map. A value that occurs three times is reported once, at its second index.
func repeated(f *Field, list reflect.Value) []int {
	if list.Len() < 2 {
		return nil
	}
	var found []int
	times := make(map[string]int, list.Len())
	for i := range list.Len() {
		var id string
		if f.ListType == "set" {
			id = fmt.Sprint(plain(list.Index(i)))
		} else if id = listKey(f.Type.Elem, f.ListKeys, list.Index(i)); id == "" {
			continue
		}
		if times[id]++; times[id] == 2 {
			found = append(found, i)
		}
	}
	return found
}

// distinct returns the part of an element that must be unique, as messages print it: the element of
// a set, or the keys of an element of a list of type map.
func distinct(f *Field, item reflect.Value) any {
	if f.ListType == "set" {
		return plain(item)
	}
	item = reflect.Indirect(item)
	keys := map[string]any{}
	for _, name := range f.ListKeys {
		if value := reflect.Indirect(item.FieldByIndex(f.Type.Elem.Field(name).Index)); value.IsValid() {
			keys[name] = plain(value)
		}
	}
	return keys
}
