package apply

import (
	"strings"
	"sync"
	syncatomic "sync/atomic"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// read is a Set that was read from FieldsV1 text. Several objects may share it.
type read struct {
	fields *Set
	// fits is a schema for which Reconcile has nothing to change in fields; nil if no such schema
	// is known yet.
	fits syncatomic.Pointer[schema.Schema]
}

// recent is a cache of the sets that were read last. Its keys are the texts of the sets. Each write
// to an object reads all its managedFields, and the objects that one program makes often have the
// same text.
//
// It holds two generations. When the young one is full, it replaces the old one; a set that is
// found in the old generation moves to the young one.
type recent struct {
	mu         sync.Mutex
	young, old map[string]*read
	room       int // bytes of text that still fit into young
}

// maxRecent is the capacity of a generation, and maxRecentText the length of the longest text that
// is cached, both in bytes of text. A set takes up to twenty times as much memory as its text.
const (
	maxRecent     = 128 << 10
	maxRecentText = 8 << 10
)

// sets is the cache of the process: all Doors share it.
var sets recent

// parse returns the set that text describes, from the cache if it is there. A cached set shares no
// memory with text.
func (r *recent) parse(m *meter.Meter, text []byte) (*read, error) {
	if len(text) > maxRecentText {
		fields, err := ParseFields(m, text)
		return &read{fields: fields}, err
	}
	if known := r.get(alias.String(text)); known != nil {
		return known, nil
	}
	own := strings.Clone(alias.String(text))
	fields, err := ParseFields(m, alias.Bytes(own))
	if err != nil {
		return nil, err
	}
	known := &read{fields: fields}
	r.put(own, known)
	return known, nil
}

// get returns the cached set of a text, nil if there is none. It clones text before it keeps it.
func (r *recent) get(text string) *read {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.young[text]; known != nil {
		return known
	}
	known := r.old[text]
	if known != nil {
		r.add(strings.Clone(text), known)
	}
	return known
}

// put adds a set to the cache, which keeps text.
func (r *recent) put(text string, known *read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(text, known)
}

// add adds a set to the young generation. The caller holds r.mu.
func (r *recent) add(text string, known *read) {
	if r.room < len(text) {
		r.young, r.old, r.room = map[string]*read{}, r.young, maxRecent
	}
	r.young[text] = known
	r.room -= len(text)
}
