package cache

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/coracle-project/coracle/storage"
)

// Pair is one label or selectable field.
type Pair struct{ Key, Value string }

// Pairs are sorted by key.
type Pairs []Pair

// Get returns the value of key.
func (p Pairs) Get(key string) (string, bool) {
	if len(p) > 16 {
		i, ok := slices.BinarySearchFunc(p, key, func(a Pair, key string) int { return strings.Compare(a.Key, key) })
		if !ok {
			return "", false
		}
		return p[i].Value, true
	}
	for i := range p {
		if p[i].Key == key {
			return p[i].Value, true
		}
	}
	return "", false
}

// Decoded is a stored object as the cache serves it. It belongs to the cache from then on.
type Decoded struct {
	// JSON is the object without resourceVersion.
	JSON []byte
	// Splice is where in JSON `"resourceVersion":"N",` is inserted: at the `"` that begins another member of metadata.
	Splice int
	// Head is the length of the leading `{"kind":...,"apiVersion":...,`; see Object.Head.
	Head int
	// Labels and Fields are sorted by key. Their strings may alias JSON.
	Labels, Fields Pairs
	// Stale says that a write would store the object in another form (an older version, say). An update that changes
	// nothing writes it nevertheless.
	Stale bool
}

// Object is one object at one revision. It is immutable and shared.
type Object struct {
	Key            string
	Rev            storage.Revision
	Labels, Fields Pairs

	json         []byte // with resourceVersion; the error text if broken
	splice, head uint32
	inserted     uint8 // length of the resourceVersion member
	stale        bool
	broken       bool // the stored bytes could not be decoded
	forms        atomic.Pointer[form]
}

// newObject takes over d. Without a revision there is no resourceVersion.
func newObject(key string, rev storage.Revision, d *Decoded) *Object {
	o := &Object{Key: key, Rev: rev, Labels: d.Labels, Fields: d.Fields, json: d.JSON,
		splice: uint32(d.Splice), head: uint32(d.Head), stale: d.Stale}
	if rev == 0 {
		return o
	}
	o.insert(d.JSON[:d.Splice], d.JSON[d.Splice:], rev)
	// Let the strings alias the new bytes, else they would keep the old ones as well.
	move(o.Labels, d.JSON, o)
	move(o.Fields, d.JSON, o)
	return o
}

// insert sets json to before, the resourceVersion member and after.
func (o *Object) insert(before, after []byte, rev storage.Revision) {
	var buf [48]byte
	member := append(buf[:0], `"resourceVersion":"`...)
	member = strconv.AppendUint(member, uint64(rev), 10)
	member = append(member, `",`...)
	json := make([]byte, 0, len(before)+len(member)+len(after))
	json = append(json, before...)
	json = append(json, member...)
	o.json = append(json, after...)
	o.inserted = uint8(len(member))
}

// move makes strings that lie in the bytes from lie in o.json, at the same text.
func move(pairs Pairs, from []byte, o *Object) {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(from)))
	moved := func(s string) string {
		// A string elsewhere gives an offset beyond from: a smaller address wraps around.
		off := uintptr(unsafe.Pointer(unsafe.StringData(s))) - base
		if len(s) == 0 || off >= uintptr(len(from)) {
			return s
		}
		if off >= uintptr(o.splice) {
			off += uintptr(o.inserted)
		}
		return unsafe.String(&o.json[off], len(s))
	}
	for i := range pairs {
		pairs[i].Key, pairs[i].Value = moved(pairs[i].Key), moved(pairs[i].Value)
	}
}

// brokenObject stands for an object that cannot be decoded.
func brokenObject(key string, rev storage.Revision, err error) *Object {
	return &Object{Key: key, Rev: rev, json: []byte(err.Error()), broken: true}
}

// check returns Corrupt for a broken object.
func (o *Object) check() error {
	if !o.broken {
		return nil
	}
	return &storage.Error{Op: "decode", Key: o.Key, Kind: storage.Corrupt, Rev: o.Rev, Err: decodeError(o.json)}
}

type decodeError string

func (e decodeError) Error() string { return string(e) }

// JSON returns the whole object, resourceVersion included.
func (o *Object) JSON() []byte { return o.json }

// Head is the length of the leading `{"kind":...,"apiVersion":...,` of JSON, without which lists show their items.
func (o *Object) Head() int { return int(o.head) }

// Value returns a copy of JSON without resourceVersion.
func (o *Object) Value() []byte {
	return append(bytes.Clone(o.json[:o.splice]), o.json[o.splice+uint32(o.inserted):]...)
}

// At returns the same state shown at another revision; 0 shows none.
func (o *Object) At(rev storage.Revision) *Object {
	if rev == o.Rev || o.broken {
		return o
	}
	at := &Object{Key: o.Key, Rev: rev, Labels: o.Labels, Fields: o.Fields, splice: o.splice, head: o.head, stale: o.stale}
	if rev == 0 {
		at.json = o.Value()
		return at
	}
	at.insert(o.json[:o.splice], o.json[o.splice+uint32(o.inserted):], rev)
	return at
}

// same reports whether d is the state that o shows.
func (o *Object) same(d *Decoded) bool {
	n := int(o.splice)
	return !o.broken && d.Splice == n && len(o.json) == len(d.JSON)+int(o.inserted) &&
		bytes.Equal(o.json[:n], d.JSON[:n]) && bytes.Equal(o.json[n+int(o.inserted):], d.JSON[n:])
}

// size is what o holds in memory, in bytes, roughly.
func (o *Object) size() int64 {
	return int64(192 + len(o.Key) + len(o.json) + 32*(len(o.Labels)+len(o.Fields)))
}

// form is another encoding of an object. The list of an object only grows, at its head.
type form struct {
	id   uint32
	data []byte
	next *form
}

// maxForms bounds the encodings kept beside an object; further ones are made each time.
const maxForms = 8

// Form returns another encoding of the object, made on first demand by build and kept beside it. Callers that come
// at once may each build it; one result is kept. id is a small number that the caller assigns to an encoding.
func (o *Object) Form(id uint32, build func() ([]byte, error)) ([]byte, error) {
	head := o.forms.Load()
	f, n := head.find(id)
	if f != nil {
		return f.data, nil
	}
	data, err := build()
	if err != nil || n >= maxForms {
		return data, err
	}
	for !o.forms.CompareAndSwap(head, &form{id: id, data: data, next: head}) {
		head = o.forms.Load()
		if f, n = head.find(id); f != nil {
			return f.data, nil
		} else if n >= maxForms {
			break
		}
	}
	return data, nil
}

// find returns the form with id, or nil and the length of the list.
func (f *form) find(id uint32) (*form, int) {
	n := 0
	for ; f != nil; f = f.next {
		if f.id == id {
			return f, n
		}
		n++
	}
	return nil, n
}
