package field

import (
	"iter"
	"reflect"
	"slices"
	"unicode/utf8"
)

// MaxErrors is the number of errors that are shown for one object. Checks collect one more, which
// tells that there are more, and then stop: a message for each of a million elements helps nobody,
// and takes a gigabyte.
const MaxErrors = 100

// Full reports whether the list has more than MaxErrors errors, so that checks should stop.
func (l ErrorList) Full() bool { return len(l) > MaxErrors }

// Each yields the elements of a list with their indexes until errs is full. A check of each element
// of a client's list uses it:
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

// Entries yields the keys and values of a map, in the order of the keys, until errs is full.
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

// fewKeys is the number of keys up to which Entries allocates nothing. Most maps have fewer.
const fewKeys = 8

// sortedKeys returns the keys of m in order. It appends them to room, which is empty.
func sortedKeys[K ~string, V any](m map[K]V, room []K) []K {
	for key := range m {
		room = append(room, key)
	}
	slices.Sort(room)
	return room
}

// MaxText bounds each value, path and detail that is shown, in bytes. maxList bounds the text of
// all errors of an object, in bytes: once it is exceeded, further errors are only counted.
const (
	MaxText = 4 << 10
	maxList = 64 << 10
)

// Cut returns text if it has at most limit bytes, else its beginning of about limit bytes and
// "...". It cuts between characters.
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

// fits subtracts about the length of v in JSON, in bytes, from room. It returns false as soon as
// room is negative, so its work is bounded by room, however large v is.
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
