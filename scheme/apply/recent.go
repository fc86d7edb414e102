package apply

import (
	"strings"
	"sync"
	syncatomic "sync/atomic"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// read is a set that was read from FieldsV1.
type read struct {
	fields *Set
	// fits is a schema by which there is nothing to reconcile; nil if none is known.
	fits syncatomic.Pointer[schema.Schema]
}

// recent has the sets that were read last, by their text: that of an object is read at each write to it, and is often the same
// in all objects that one program makes.
//
// They are kept in two generations. When the young one is full it becomes the old one; what is used again gets young again.
type recent struct {
	mu         sync.Mutex
	young, old map[string]*read
	room       int // that the young one has left, in bytes of text
}

// maxRecent is how much text a generation has, and maxRecentText the longest, in bytes. A set takes up to twenty times as much.
const (
	maxRecent     = 128 << 10
	maxRecentText = 8 << 10
)

var sets recent

// parse is ParseFields of text, which may be that of a set that is known. The set shares no memory with text.
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

func (r *recent) put(text string, known *read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(text, known)
}

// add adds a set to the young generation. r.mu is held.
func (r *recent) add(text string, known *read) {
	if r.room < len(text) {
		r.young, r.old, r.room = map[string]*read{}, r.young, maxRecent
	}
	r.young[text] = known
	r.room -= len(text)
}
