package storage

import "context"

// Some engines can do more than a Store has to. Each such ability is an interface of its own. As
// finds it, also behind wrappers.

// Sized is a store that keeps its entries in a database file.
type Sized interface {
	// Size returns the bytes of the file, and how many of them are in use.
	Size() (file, used int64)
}

// Bounded is a store that refuses writes before its disk is full.
type Bounded interface {
	// Free returns the bytes that were free on the disk a moment ago, and whether that is known.
	Free() (bytes int64, known bool)
}

// Defragmenter is a store that can make its database file smaller.
type Defragmenter interface {
	// Defragment gives the unused bytes of the file back to the disk, while reads and writes go on.
	Defragment(ctx context.Context) (Defragmented, error)
}

// Defragmented is what a defragmentation has done: the bytes of the database file before and after.
type Defragmented struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// Reviewer is a store whose entries other programs may change without the store, as files, and
// which refuses wrong entries.
type Reviewer interface {
	// Review checks the entries under a prefix of keys again, because the rules for them have
	// changed.
	Review(prefix string)
	// Refused returns the number of files that are refused at the moment.
	Refused() int
}

// Wrapper is a store that stands in front of another one. A wrapper without Unwrap hides the
// abilities behind it.
type Wrapper interface {
	Store
	// Unwrap returns the store behind this one, nil if there is none yet.
	Unwrap() Store
}

// As returns the first store that is a T: s, or a store behind s. T is an ability or an engine. A
// nil s is no T.
//
// The caller sees the entries as that store has them: a store behind the encryption wrapper has
// encrypted values.
func As[T any](s Store) (found T, ok bool) {
	for s != nil {
		if found, ok = s.(T); ok {
			return found, true
		}
		w, wraps := s.(Wrapper)
		if !wraps {
			break
		}
		s = w.Unwrap()
	}
	return found, false
}
