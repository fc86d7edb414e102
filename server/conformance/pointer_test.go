package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A pointer is a JSON pointer (RFC 6901). A segment for a list may also be [key=value], for the
// element whose field key has that value (dots in key separate nested fields), or [=value] for the
// element that equals value. In a pointer for removal, * stands for all children.

func segments(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i, s := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return list
}

// at returns the value at pointer in v, and whether there is one.
func at(v any, pointer string) (any, bool) { return walk(v, segments(pointer)) }

func walk(v any, path []string) (any, bool) {
	if len(path) == 0 {
		return v, true
	}
	switch parent := v.(type) {
	case map[string]any:
		if child, ok := parent[path[0]]; ok {
			return walk(child, path[1:])
		}
	case []any:
		if i := element(parent, path[0]); i >= 0 {
			return walk(parent[i], path[1:])
		}
	}
	return nil, false
}

// element returns the index of the list element that a segment names, or -1.
func element(list []any, segment string) int {
	inner, bracketed := strings.CutPrefix(segment, "[")
	if !bracketed {
		if i, err := strconv.Atoi(segment); err == nil && 0 <= i && i < len(list) {
			return i
		}
		return -1
	}
	key, value, _ := strings.Cut(strings.TrimSuffix(inner, "]"), "=")
	return slices.IndexFunc(list, func(e any) bool {
		if key != "" {
			e, _ = walk(e, strings.Split(key, "."))
		}
		return e != nil && fmt.Sprint(e) == value
	})
}

// without removes the values at path from v, which it changes, and returns v.
func without(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	head, rest := path[0], path[1:]
	switch parent := v.(type) {
	case map[string]any:
		for _, k := range keys(parent) {
			switch {
			case head != "*" && head != k:
			case len(rest) == 0:
				delete(parent, k)
			default:
				parent[k] = without(parent[k], rest)
			}
		}
	case []any:
		if head == "*" && len(rest) == 0 {
			return []any{}
		}
		one := element(parent, head)
		for i := range parent {
			if head == "*" || i == one {
				parent[i] = without(parent[i], rest)
			}
		}
		if one >= 0 && len(rest) == 0 {
			return slices.Delete(parent, one, one+1)
		}
	}
	return v
}

// absent is the value of a pointer that finds nothing.
const absent = "<absent>"

// pick reduces v to the values at the pointers.
func pick(v any, pointers []string) any {
	found := map[string]any{}
	for _, p := range pointers {
		found[p] = any(absent)
		if child, ok := at(v, p); ok {
			found[p] = child
		}
	}
	return found
}
