package scheme

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Objects without a Go type: custom resources. The registry and the codec treat them like typed
// objects, because their metadata is typed. Package scheme/kind decodes them by the schemas of
// their definitions.

// Unstructured is an object of a kind without a Go type, such as a custom resource: typed metadata
// beside a tree of JSON values. It must not be changed while others use it. Its tree has the values
// of package jsontext; a decoded or copied object owns its tree.
type Unstructured struct {
	meta.TypeMeta
	meta.ObjectMeta
	// Content holds all fields of the object except apiVersion, kind and metadata.
	Content map[string]any
}

// UnstructuredList is a list of Unstructured objects of one kind.
type UnstructuredList struct {
	meta.TypeMeta
	meta.ListMeta
	// Items are the objects of the list, in order.
	Items []*Unstructured
}

// ErrNotObject is the error for JSON that is not an object.
var ErrNotObject = errors.New("not a JSON object")

// At returns the value at a path of field names in the content. It reports false if there is none
// or it is not of type T. The value is shared with the object.
func At[T any](u *Unstructured, path ...string) (T, bool) {
	var value any = u.Content
	for _, name := range path {
		object, _ := value.(map[string]any)
		next, ok := object[name]
		if !ok {
			var zero T
			return zero, false
		}
		value = next
	}
	t, ok := value.(T)
	return t, ok
}

// Set stores value, which must be a tree, at a path of field names in the content, and makes
// missing objects on the path. The object owns value afterwards. The error names the element of the
// path that is not an object.
func (u *Unstructured) Set(value any, path ...string) error {
	if len(path) == 0 {
		return errors.New("no path given")
	}
	switch path[0] {
	case "apiVersion", "kind", "metadata":
		return fmt.Errorf("%s is not part of the content", path[0])
	}
	if u.Content == nil {
		u.Content = map[string]any{}
	}
	object := u.Content
	for i, name := range path[:len(path)-1] {
		switch next := object[name].(type) {
		case map[string]any:
			object = next
		case nil:
			made := map[string]any{}
			object[name] = made
			object = made
		default:
			return fmt.Errorf("%s is not an object but %T", strings.Join(path[:i+1], "."), next)
		}
	}
	object[path[len(path)-1]] = value
	return nil
}

// Remove deletes the field at a path. It does nothing if there is none.
func (u *Unstructured) Remove(path ...string) {
	if len(path) == 0 {
		return
	}
	if object, ok := At[map[string]any](u, path[:len(path)-1]...); ok {
		delete(object, path[len(path)-1])
	}
}

// DeepCopy returns a copy that shares nothing with u.
func (u *Unstructured) DeepCopy() *Unstructured { return typeinfo.Copy(u) }

// MarshalJSON encodes the object with its fields in alphabetical order, as Kubernetes does for
// objects without a type.
func (u *Unstructured) MarshalJSON() ([]byte, error) {
	fields := maps.Clone(u.Content)
	if fields == nil {
		fields = map[string]any{}
	}
	setTypeMeta(fields, u.TypeMeta)
	delete(fields, "metadata")
	var zero meta.ObjectMeta
	if head, err := json.Marshal(&u.ObjectMeta); err != nil {
		return nil, err
	} else if none, _ := json.Marshal(&zero); !bytes.Equal(head, none) {
		fields["metadata"] = jsontext.RawOf(head)
	}
	return jsontext.AppendTree(nil, fields, jsontext.Plain)
}

// UnmarshalJSON replaces u by the object in data. It drops unknown fields of the metadata. Field
// names are case-sensitive.
func (u *Unstructured) UnmarshalJSON(data []byte) error {
	tree, err := decodeObject(data)
	if err != nil {
		return err
	}
	made, err := FromTree(tree)
	if err != nil {
		return err
	}
	*u = *made
	return nil
}

// FromTree turns a tree into an object, which owns the tree afterwards. It drops unknown fields of
// the metadata.
func FromTree(tree map[string]any) (*Unstructured, error) {
	u := &Unstructured{Content: tree}
	var err error
	if u.TypeMeta, err = takeTypeMeta(tree); err == nil {
		err = takeMetadata(tree, &u.ObjectMeta)
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// MarshalJSON encodes the list. items is never omitted.
func (l *UnstructuredList) MarshalJSON() ([]byte, error) {
	items := l.Items
	if items == nil {
		items = []*Unstructured{}
	}
	fields := map[string]any{"items": items, "metadata": &l.ListMeta}
	setTypeMeta(fields, l.TypeMeta)
	return jsontext.AppendTree(nil, fields, jsontext.Plain)
}

// UnmarshalJSON replaces l by the list in data.
func (l *UnstructuredList) UnmarshalJSON(data []byte) error {
	tree, err := decodeObject(data)
	if err != nil {
		return err
	}
	var made UnstructuredList
	if made.TypeMeta, err = takeTypeMeta(tree); err == nil {
		err = takeMetadata(tree, &made.ListMeta)
	}
	if err != nil {
		return err
	}
	var items struct {
		Items []*Unstructured `json:"items"`
	}
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	made.Items = items.Items
	*l = made
	return nil
}

// setTypeMeta sets apiVersion and kind among the fields of an object.
func setTypeMeta(fields map[string]any, tm meta.TypeMeta) {
	for name, value := range map[string]string{"apiVersion": tm.APIVersion, "kind": tm.Kind} {
		delete(fields, name)
		if value != "" {
			fields[name] = value
		}
	}
}

// decodeObject decodes a JSON object into a tree.
func decodeObject(data []byte) (map[string]any, error) {
	v, err := jsontext.Decode(data, nil)
	if err != nil {
		return nil, err
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, ErrNotObject
	}
	return tree, nil
}

// takeTypeMeta moves apiVersion and kind out of a tree.
func takeTypeMeta(tree map[string]any) (tm meta.TypeMeta, err error) {
	for name, to := range map[string]*string{"apiVersion": &tm.APIVersion, "kind": &tm.Kind} {
		switch value := tree[name].(type) {
		case string:
			*to = value
		case nil:
		default:
			return tm, fmt.Errorf("%s is not a string but %T", name, value)
		}
		delete(tree, name)
	}
	return tm, nil
}

// takeMetadata moves the metadata out of a tree into a struct. It first drops the fields that the
// struct does not have under exactly that name, because encoding/json would match names in any
// letter case.
func takeMetadata[T any](tree map[string]any, to *T) error {
	head, ok := tree["metadata"]
	delete(tree, "metadata")
	if !ok || head == nil {
		return nil
	}
	if _, ok := head.(map[string]any); !ok {
		return fmt.Errorf("metadata is not an object but %T", head)
	}
	keepKnown(typeinfo.For[T](), head)
	text, err := jsontext.AppendTree(nil, head, jsontext.Plain)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// keepKnown removes the fields that t does not have from a tree.
func keepKnown(t *typeinfo.Type, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, held := range v {
			switch {
			case t.Kind == typeinfo.Map:
				keepKnown(t.Elem, held)
			case t.Kind != typeinfo.Struct:
			case t.Field(name) == nil:
				delete(v, name)
			default:
				keepKnown(t.Field(name).Type, held)
			}
		}
	case []any:
		if t.Kind == typeinfo.List {
			for _, held := range v {
				keepKnown(t.Elem, held)
			}
		}
	}
}

// FieldNames returns the names of the fields in the content, sorted.
func (u *Unstructured) FieldNames() []string { return jsontext.Keys(u.Content) }
