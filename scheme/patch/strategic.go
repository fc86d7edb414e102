package patch

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// strategic.go applies strategic merge patches for the PATCH handler. mergeObject merges two
// objects key by key; mergeKey merges objects and lists within them by the strategies of the type;
// mergeList merges lists. Each carries out the directives that it finds. The steps, their order and
// the messages are those of apimachinery's strategicpatch, because messages show the half-merged
// trees.

// The directives of a strategic merge patch.
const (
	directive      = "$patch" // merge, replace or delete
	retainKeys     = "$retainKeys"
	deleteFromList = "$deleteFromPrimitiveList" // followed by /field
	elementOrder   = "$setElementOrder"         // followed by /field
)

// The refusals of malformed directives, in Kubernetes' words.
var (
	errDeleteList   = malformed("invalid patch format of primitive list")
	errRetainKeys   = malformed("invalid patch format of retainKeys")
	errElementOrder = malformed("invalid patch format of setElementOrder list")
	errListOfLists  = inapplicable("lists of lists are not supported")
)

// Strategic applies a strategic merge patch to an object of type t and returns the new document.
// The error is that of the Meter, or an *Error of kind Malformed, Inapplicable or Unmergeable.
//
// The merge follows the keys of the patch in sorted order, so the result is always the same. In
// Kubernetes the order is random. That matters if one patch deletes from a list of scalars and adds
// to it; here the deletion comes first, because $ sorts before letters.
func Strategic(doc, patch []byte, t *typeinfo.Type, m *meter.Meter) ([]byte, error) {
	merged, _, err := strategic(doc, patch, t, m)
	if err != nil {
		return nil, err
	}
	out := appendTree(make([]byte, 0, len(doc)+len(patch)), merged)
	return out, m.Step(len(out))
}

// StrategicText returns the patch as Kubernetes prints it in the error about a merge result that is
// not a valid object: as fmt prints a Go map, without the directives that the merge has removed. It
// runs the merge again, and costs as much.
func StrategicText(doc, patch []byte, t *typeinfo.Type, m *meter.Meter) string {
	_, changes, _ := strategic(doc, patch, t, m)
	return text(changes)
}

// strategic decodes both inputs and merges them. changes is the patch as the merge has left it.
func strategic(doc, patch []byte, t *typeinfo.Type, m *meter.Meter) (merged, changes object, err error) {
	if err := m.Step(len(doc) + len(patch)); err != nil {
		return nil, nil, err
	}
	syntax, number := check(patch)
	if syntax != nil {
		return nil, nil, malformed(syntax.Error())
	}
	switch patch := jsontext.RawOf(patch); {
	case patch[0] != '{' && !patch.IsNull():
		return nil, nil, malformed(notObject(patch))
	case number != nil:
		return nil, nil, malformed(number.Error())
	}
	changes = parse(patch, m)
	into, ok := look(jsontext.RawOf(doc), startDepth(len(doc)), m).(object)
	if over := m.Err(); over != nil {
		return nil, changes, over
	}
	if !ok {
		return nil, changes, inapplicable("invalid JSON document")
	}
	merged, err = mergeObject(into, changes, shape{t: t, m: m})
	if over := m.Err(); over != nil { // other errors follow from it
		err = over
	}
	return merged, changes, err
}

// shape is the declared type of the values that are merged. t is nil for a type without a
// descriptor, such as the elements of []byte. It is not the shape that shapeOf and elementShape
// name, which is the Go type of a decoded value, whatever type is declared.
type shape struct {
	t       *typeinfo.Type
	pointer bool
	m       *meter.Meter
}

// of returns the shape of a field or element of type t.
func (s shape) of(t *typeinfo.Type, pointer bool) shape { return shape{t, pointer, s.m} }

// kind returns the name of the Go kind (reflect.Kind), for messages.
func (s shape) kind() string {
	switch {
	case s.pointer:
		return "ptr"
	case s.t == nil:
		return "uint8"
	}
	return s.t.Go.Kind().String()
}

// field returns the descriptor of the field called key, and the shape of its value. As in
// Kubernetes, a name matches case-insensitively if no name matches exactly.
func (s shape) field(key string) (shape, *typeinfo.Field, error) {
	plain := shape{t: s.t}
	if kind := plain.kind(); kind != "struct" {
		return shape{}, nil, unmergeable("merging an object in json but data type is not struct, instead is: " + kind)
	}
	f := s.t.Field(key)
	for i := 0; f == nil && i < len(s.t.Fields); i++ {
		if strings.EqualFold(s.t.Fields[i].Name, key) {
			f = s.t.Fields[i]
		}
	}
	if f == nil {
		return shape{}, nil, unmergeable(fmt.Sprintf("unable to find api field in struct %s for the json field %q",
			s.t.Go.Name(), key))
	}
	return s.of(f.Type, f.Pointer), f, nil
}

// listField returns the descriptor of the field called key, which must hold a list, and the shape
// of its elements.
func (s shape) listField(key string) (shape, *typeinfo.Field, error) {
	of, f, err := s.field(key)
	switch {
	case err != nil:
		return shape{}, nil, err
	case of.kind() == "slice" && of.t.Elem != nil && !of.t.ElemPointer && (shape{t: of.t.Elem}).kind() == "slice":
		return shape{}, nil, unmergeable("unexpected slice of slice")
	case of.t.Go.Kind().String() == "slice":
		return s.of(of.t.Elem, of.t.ElemPointer), f, nil
	case of.pointer:
		return s.of(of.t, false), f, nil
	}
	return shape{}, nil, unmergeable("expected slice or array type, but got: " + s.kind())
}

// mergeObject merges a patch into an object and returns the result. It changes both in place. It
// carries out $patch first, then $retainKeys, then $setElementOrder, then merges the other keys.
func mergeObject(into, patch object, s shape) (object, error) {
	if d, ok := patch[directive]; ok {
		switch d {
		case "replace":
			delete(patch, directive)
			return patch, nil
		case "delete":
			return object{}, nil
		}
		return nil, unknownDirective(d, patch)
	}
	if into == nil {
		into = object{}
	}
	if err := retain(into, patch, s); err != nil {
		return nil, err
	}
	if err := mergeOrdered(into, patch, s); err != nil {
		return nil, err
	}
	for _, key := range jsontext.Keys(patch) {
		if err := mergeKey(into, key, patch[key], s); err != nil {
			return nil, err
		}
	}
	return into, nil
}

func unknownDirective(d any, in object) error {
	return unmergeable(fmt.Sprintf("unknown patch type: %s in map: %s", native(d), text(in)))
}

// retain carries out $retainKeys: it removes all keys of the object that are not listed. A patch
// that sets a key that is not listed is refused.
func retain(into, patch object, s shape) error {
	value, ok := patch[retainKeys]
	if !ok {
		return nil
	}
	delete(patch, retainKeys)
	keys, ok := value.(list)
	if !ok {
		return errRetainKeys
	}
	if err := s.m.Step(len(keys) + len(into) + len(patch)); err != nil {
		return err
	}
	named := indexOf(keys, itself)
	for k, v := range patch {
		if v == nil || strings.HasPrefix(k, deleteFromList) || strings.HasPrefix(k, elementOrder) {
			continue
		}
		if named.of(k) < 0 {
			return errRetainKeys
		}
	}
	for k := range into {
		if named.of(k) < 0 {
			delete(into, k)
		}
	}
	return nil
}

// mergeKey merges one key of a patch. It removes the key for null, and replaces the old value if
// that is missing or of another shape; otherwise objects and lists merge as the type says. The key
// $deleteFromPrimitiveList/name removes elements of the list called name.
func mergeKey(into object, key string, change any, s shape) error {
	if err := s.m.Step(len(key)); err != nil {
		return err
	}
	deleting := strings.HasPrefix(key, deleteFromList)
	if deleting {
		_, name, ok := strings.Cut(key, "/")
		if !ok || len(key) != len(deleteFromList)+1+len(name) {
			return errDeleteList
		}
		if name != "" {
			key = name
		}
	}
	if change == nil {
		delete(into, key)
		return nil
	}
	old, ok := lookup(into, key, s.m)
	if !ok || shapeOf(old) != shapeOf(change) {
		if !deleting {
			dropNulls(change)
			assign(into, key, change)
		}
		return nil
	}
	switch change := change.(type) {
	case object:
		sub, f, err := s.field(key)
		if err != nil {
			return err
		}
		merged := change
		if !f.PatchReplace {
			if merged, err = mergeObject(old.(object), change, sub); err != nil {
				return err
			}
		}
		into[key] = merged
	case list:
		sub, f, err := s.listField(key)
		if err != nil {
			return err
		}
		merged := change
		if f.PatchMerge || deleting {
			if merged, err = mergeList(old.(list), change, listRules{sub, f.PatchKey, deleting}); err != nil {
				return err
			}
		}
		into[key] = merged
	default:
		into[key] = change
	}
	return nil
}

// assign sets a key to a value of the patch without the directives in it. It removes the key if the
// value itself is an object with a directive.
func assign(into object, key string, value any) {
	if value, keep := withoutDirectives(value); keep {
		into[key] = value
	} else {
		delete(into, key)
	}
}

// listRules say how two lists merge.
type listRules struct {
	element  shape
	key      string // merge key; empty for scalars
	deleting bool   // the patch lists scalars to remove ($deleteFromPrimitiveList)
}

// mergeList merges the list of a patch into an old list. Scalars become a set; an object merges
// with the old object that has the same merge key. New elements are appended, and then all elements
// are ordered (see order.go). If r.deleting is set and the elements are scalars, mergeList instead
// returns old without the elements of patch, in the order of old. A list of lists is an error.
//
// old and patch belong to mergeList, which merges into their elements and may put merged objects
// into the array of old.
func mergeList(old, patch list, r listRules) (list, error) {
	if len(old) == 0 && len(patch) == 0 {
		return old, nil
	}
	kind, err := elementShape(old, patch)
	if err != nil {
		return nil, err
	}
	m := r.element.m
	if err := m.Step(len(old) + len(patch)); err != nil {
		return nil, err
	}
	var merged list
	switch {
	case kind != objectShape && r.deleting:
		kept, gone := make(list, 0, len(old)), indexOf(patch, itself)
		for _, v := range old {
			if gone.of(v) < 0 {
				kept = append(kept, v)
			}
		}
		return kept, nil
	case kind != objectShape:
		merged = distinct(append(old, patch...))
	case r.key == "":
		return nil, unmergeable("cannot merge lists without merge key for " + r.element.kind())
	default:
		if old, patch, err = applyElementDirectives(old, patch, r.key, m); err != nil {
			return nil, err
		}
		if merged, err = mergeElements(old, patch, r); err != nil {
			return nil, err
		}
	}
	patched, others, err := partition(merged, patch, r.key, m)
	if err != nil {
		return nil, err
	}
	return order(patched, others, &ordering{patch, old, r.key, kind, m})
}

// elementShape returns the shape of all elements of the lists. It is an error if they differ, or if
// there are no elements.
func elementShape(lists ...list) (string, error) {
	first := ""
	for _, l := range lists {
		for _, v := range l {
			shape := shapeOf(v)
			switch {
			case first == "" && shape == listShape:
				return "", errListOfLists
			case first == "" && v != nil:
				first = shape
			case first != shape:
				all := make([]any, len(lists))
				for i, l := range lists {
					all[i] = native(l)
				}
				return "", unmergeable("list element types are not identical: " + fmt.Sprint(all))
			}
		}
	}
	if first == "" {
		return "", unmergeable("no elements in any of the given slices")
	}
	return first, nil
}

// applyElementDirectives carries out the $patch directives among the elements of a patch, and
// returns the lists that are left to merge: old without deleted elements, and the patch without
// directives. If an element says $patch: replace, the other elements of the patch are returned as
// old, because they take the place of the old list, and there is nothing left to merge.
func applyElementDirectives(old, patch list, key string, m *meter.Meter) (list, list, error) {
	plain, gone := list{}, list(nil)
	replace := false
	for _, v := range patch {
		element := v.(object)
		d, ok := element[directive]
		if !ok {
			plain = append(plain, v)
			continue
		}
		switch d {
		case "delete":
			value, ok := element[key]
			if !ok {
				return nil, nil, noMergeKey(element, key)
			}
			gone = append(gone, value)
		case "replace":
			replace = true
		case "merge":
			return nil, nil, unmergeable("merging lists cannot yet be specified in the patch")
		default:
			return nil, nil, unknownDirective(d, element)
		}
	}
	if len(gone) > 0 {
		old = without(old, key, gone, m)
	}
	if replace {
		return plain, nil, nil
	}
	return old, plain, nil
}

// mergeElements merges each element of the patch into the old element with the same merge key, or
// appends it if there is none.
func mergeElements(old, patch list, r listRules) (list, error) {
	x := keyedBy(old, r.key, r.element.m)
	for _, v := range patch {
		element := v.(object)
		value, ok := element[r.key]
		if !ok {
			return nil, noMergeKey(element, r.key)
		}
		i, err := x.find(value)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			x.append(v, value)
			continue
		}
		merged, err := mergeObject(x.l[i].(object), element, r.element)
		if err != nil {
			return nil, err
		}
		x.l[i] = merged
		if _, still := merged[r.key]; !still { // the patch has null for the key
			x.drop(value)
		}
	}
	return x.l, nil
}

func noMergeKey(element object, key string) error {
	return unmergeable("map: " + text(element) + " does not contain declared merge key: " + key)
}
