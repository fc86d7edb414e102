package core

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// same reports whether two values of a type mean the same to the API: unset and empty lists and maps are equal, and so
// are amounts that are written differently. It runs on updates only.
func same[T any](a, b T) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
