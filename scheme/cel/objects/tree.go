package objects

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// This file converts views to trees of JSON, for results that leave the expressions.

// treeable is implemented by views.
type treeable interface{ tree() any }

// IsView reports whether a value is a view.
func IsView(v ref.Val) bool {
	_, ok := v.(treeable)
	return ok
}

// Tree returns the tree of JSON that a view shows. It reports false for a value that is no view.
func Tree(v ref.Val) (any, bool) {
	if view, ok := v.(treeable); ok {
		return view.tree(), true
	}
	return nil, false
}

func (m *mapping[K]) tree() any {
	tree := make(map[string]any, m.of.size())
	for key := range m.of.keys {
		tree[key] = plain(m.of.find(key))
	}
	return tree
}

func (l *list) tree() any {
	tree := make([]any, l.len())
	for i := range tree {
		tree[i] = plain(l.element(i))
	}
	return tree
}

// plain returns the tree of a value inside a view.
func plain(v ref.Val) any {
	if tree, ok := Tree(v); ok {
		return tree
	}
	if v == types.NullValue {
		return nil
	}
	return v.Value()
}

// toNative converts a view to a Go type as cel-go converts the value of its tree.
func toNative(v treeable, to reflect.Type) (any, error) {
	return types.DefaultTypeAdapter.NativeToValue(v.tree()).ConvertToNative(to)
}
