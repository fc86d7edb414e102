package typeinfo

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
)

// kubernetesOwn reports whether a type is one of Kubernetes itself. Those have their lists judged
// by hand: some sets, such as metadata.finalizers, may repeat, and of others the keys are reported
// in words of their own.
func kubernetesOwn(t reflect.Type) bool { return strings.HasPrefix(ModelName(t), "io.k8s.") }

// unique reports the elements of a list that repeat others. A list in which some did before may go
// on with it.
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

// repeated returns the indexes of the elements of a set that are the second of their kind, or of a
// list of type map those whose keys are.
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

// distinct returns what must not repeat of an element, as messages print it.
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
