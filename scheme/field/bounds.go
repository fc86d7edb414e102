package field

import (
	"iter"
	"reflect"
	"slices"
	"unicode/utf8"
)

// MaxErrors is how many errors of one object are shown. Checks collect one more, which says that
// there are more, and stop: what is wrong with each of a million elements helps nobody, and takes a
// gigabyte.
const MaxErrors = 100

// Full reports whether there are enough errors: it is time to stop checking.
func (l ErrorList) Full() bool { return len(l) > MaxErrors }

// Each yields the elements of a list and their indexes until errs is full. Whatever checks each
// element of a list that comes from a client goes by it:
//
//	for i, port := range field.Each(&errs, ports) {
//		errs = append(errs, checkPort(p.Index(i), port)...)
//	}
func Each[T any](errs *ErrorList, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if errs.Full() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Entries is Each for the entries of a map, in the order of their keys.
func Entries[K ~string, V any](errs *ErrorList, m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var room [fewKeys]K // on the stack
		for _, key := range sortedKeys(m, room[:0]) {
			if errs.Full() || !yield(key, m[key]) {
				return
			}
		}
	}
}

// fewKeys is how many keys a map of an object has as a rule, or fewer.
const fewKeys = 8

// sortedKeys returns the keys of m, in room if that is large enough.
func sortedKeys[K ~string, V any](m map[K]V, room []K) []K {
	for key := range m {
		room = append(room, key)
	}
	slices.Sort(room)
	return room
}

// MaxText is how much is shown of one value, path or detail, in bytes, and maxList of all errors of
// an object: what goes beyond is not shown any more.
const (
	MaxText = 4 << 10
	maxList = 64 << 10
)

// Cut returns at most limit bytes of a text, and marks where it was cut.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// fits takes about as much off room as v has text in JSON, reports whether there was enough, and
// stops when there is not.
func fits(v reflect.Value, room *int) bool {
	*room--
	switch v.Kind() {
	case reflect.String:
		*room -= v.Len()
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || fits(v.Elem(), room)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && *room >= 0; i++ {
			fits(v.Index(i), room)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && *room >= 0; i++ {
			fits(v.Field(i), room)
		}
	case reflect.Map:
		for entry := v.MapRange(); *room >= 0 && entry.Next(); {
			fits(entry.Key(), room)
			fits(entry.Value(), room)
		}
	}
	return *room >= 0
}
