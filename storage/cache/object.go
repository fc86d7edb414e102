package cache

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

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
	// Data is the object as it is stored; JSON is without resourceVersion.
	Data []byte
	// Form is the caller's number for the form that Data is in once resourceVersion is in its place; see Object.Form.
	Form uint32
	// Splice is where in JSON `"resourceVersion":"N",` is inserted: at the `"` that begins another member of metadata.
	// 0 inserts nothing: such bytes (protobuf) are served without resourceVersion, which Object.Rev has.
	Splice int
	// Head is the length of the leading `{"kind":...,"apiVersion":...,` of JSON; see Object.Head.
	Head int
	// Labels and Fields are sorted by key. Their strings may alias Data.
	Labels, Fields Pairs
	// Stale says that a write would store the object in another form (an older version, say). An update that changes
	// nothing writes it nevertheless.
	Stale bool

	shelf *shelf // of the resource
}

// Object is one object at one revision. It is immutable and shared.
type Object struct {
	Key            string
	Rev            storage.Revision
	Labels, Fields Pairs

	data         []byte // with resourceVersion, unless splice is 0; the error text if broken
	form         uint32 // that data is in
	splice, head uint32
	inserted     uint8 // length of the resourceVersion member
	stale        bool
	broken       bool // the stored bytes cannot be read
	sealed       bool // of broken: by the store itself, which could not decrypt them

	forms atomic.Pointer[form] // made so far; see Form
	shelf *shelf               // where they are counted; nil if broken
}

// newObject takes over d. Without a revision there is no resourceVersion.
func newObject(key string, rev storage.Revision, d *Decoded) *Object {
	o := &Object{Key: key, Rev: rev, Labels: d.Labels, Fields: d.Fields, data: d.Data,
		form: d.Form, splice: uint32(d.Splice), head: uint32(d.Head), stale: d.Stale, shelf: d.shelf}
	if rev == 0 || d.Splice == 0 {
		return o
	}
	o.insert(d.Data[:d.Splice], d.Data[d.Splice:], rev)
	// Let the strings alias the new bytes, else they would keep the old ones as well.
	move(o.Labels, d.Data, o)
	move(o.Fields, d.Data, o)
	return o
}

// insert sets data to before, the resourceVersion member and after.
func (o *Object) insert(before, after []byte, rev storage.Revision) {
	var buf [48]byte
	member := append(buf[:0], `"resourceVersion":"`...)
	member = strconv.AppendUint(member, uint64(rev), 10)
	member = append(member, `",`...)
	data := make([]byte, 0, len(before)+len(member)+len(after))
	data = append(data, before...)
	data = append(data, member...)
	o.data = append(data, after...)
	o.inserted = uint8(len(member))
}

// move makes strings that lie in the bytes from lie in o.data, at the same text.
func move(pairs Pairs, from []byte, o *Object) {
	moved := func(s string) string {
		off, ok := offsetIn(from, s)
		if !ok {
			return s
		}
		if off >= int(o.splice) {
			off += int(o.inserted)
		}
		return aliasOf(o.data[off : off+len(s)])
	}
	for i := range pairs {
		pairs[i].Key, pairs[i].Value = moved(pairs[i].Key), moved(pairs[i].Value)
	}
}

// brokenObject stands for an object that cannot be read.
func brokenObject(e storage.Entry, err error) *Object {
	if inner := (*storage.Error)(nil); errors.As(err, &inner) && inner.Err != nil {
		err = inner.Err // the rest is said by corrupt
	}
	return &Object{Key: e.Key, Rev: e.Rev, data: []byte(err.Error()), broken: true, sealed: e.Err != nil}
}

// Err returns storage.Corrupt for an object that cannot be read.
func (o *Object) Err() error {
	if !o.broken {
		return nil
	}
	return o.corrupt("decode")
}

// corrupt is the error of a broken object. op says what it was read for; what the store could not read, nobody else has tried to.
func (o *Object) corrupt(op string) *storage.Error {
	if o.sealed && op == "decode" {
		op = "read"
	}
	return &storage.Error{Op: op, Key: o.Key, Kind: storage.Corrupt, Rev: o.Rev, Err: brokenError(o.data)}
}

type brokenError string

func (e brokenError) Error() string { return string(e) }

// Stored returns the object in the form in which it is stored, and the number of that form. JSON has its resourceVersion;
// see Decoded.Splice.
func (o *Object) Stored() (data []byte, form uint32) { return o.data, o.form }

// Revision is Rev as the API shows it.
func (o *Object) Revision() uint64 { return uint64(o.Rev) }

// JSON returns the whole object, resourceVersion included.
func (o *Object) JSON() []byte { return o.data }

// Head is the length of the leading `{"kind":...,"apiVersion":...,` of JSON, without which lists show their items. It is
// 0 of other forms.
func (o *Object) Head() int { return int(o.head) }

// Value returns the bytes as they are stored, which of JSON is a copy without resourceVersion.
func (o *Object) Value() []byte {
	if o.inserted == 0 {
		return o.data
	}
	before, after := o.parts()
	return append(bytes.Clone(before), after...)
}

// parts returns the stored bytes before and behind the resourceVersion member.
func (o *Object) parts() (before, after []byte) {
	return o.data[:o.splice], o.data[o.splice+uint32(o.inserted):]
}

// At returns the same state shown at another revision; 0 shows none.
func (o *Object) At(rev storage.Revision) *Object {
	if rev == o.Rev || o.broken {
		return o
	}
	at := &Object{Key: o.Key, Rev: rev, Labels: o.Labels, Fields: o.Fields,
		form: o.form, splice: o.splice, head: o.head, stale: o.stale, shelf: o.shelf}
	if rev == 0 || o.splice == 0 {
		at.data = o.Value()
		return at
	}
	before, after := o.parts()
	at.insert(before, after, rev)
	return at
}

// same reports whether d is the state that o shows.
func (o *Object) same(d *Decoded) bool {
	if o.broken || d.Splice != int(o.splice) || len(d.Data)+int(o.inserted) != len(o.data) {
		return false
	}
	before, after := o.parts()
	return bytes.Equal(before, d.Data[:d.Splice]) && bytes.Equal(after, d.Data[d.Splice:])
}

// size is what o holds in memory, in bytes, roughly.
func (o *Object) size() int64 {
	return int64(192 + len(o.Key) + len(o.data) + 32*(len(o.Labels)+len(o.Fields)))
}
