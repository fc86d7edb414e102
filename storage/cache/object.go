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

// An Object is what the cache holds for one key: the stored bytes with the resourceVersion
// inserted, the labels and the selectable fields. Decoded is what a DecodeFunc makes of an entry;
// newObject turns a Decoded into an Object. They are made by decode (resource.go), the writes of
// this server (own.go) and the history (past.go).

// Pair is one label or selectable field.
type Pair struct{ Key, Value string }

// Pairs are labels or selectable fields, sorted by key, each key once.
type Pairs []Pair

// Get returns the value of key, and whether the key is there. Up to 16 pairs it searches one after
// the other, which is faster than the binary search for so few.
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

// Decoded is a stored object as the cache serves it. A DecodeFunc returns it; from then on it
// belongs to the cache, Data, Labels and Fields included.
type Decoded struct {
	// Data is the object as it is stored. In JSON, metadata has no resourceVersion.
	Data []byte
	// Form is the caller's number for the form that Data is in once resourceVersion has been
	// inserted; see Object.Form.
	Form uint32
	// Splice is the offset in Data at which `"resourceVersion":"N",` is inserted: the `"` that
	// begins another member of metadata. With 0 nothing is inserted: bytes that are not JSON are
	// kept without resourceVersion, which Object.Rev has.
	Splice int
	// Head is the length of the leading `{"kind":...,"apiVersion":...,` of JSON; see Object.Head.
	Head int
	// Labels and Fields are sorted by key. Their strings may alias Data.
	Labels, Fields Pairs
	// Stale says that a write would store the object in another form, for example because it is
	// stored in an older version. Then even an update that changes nothing is written.
	Stale bool

	shelf *shelf // of the resource
}

// Object is one object at one revision. It is immutable, apart from the list of its forms, and
// shared by all readers, watchers and states that hold it.
type Object struct {
	Key            string
	Rev            storage.Revision
	Labels, Fields Pairs

	data         []byte // the stored bytes with resourceVersion, unless splice is 0; the error's text if broken
	form         uint32 // number of the form that data is in
	splice, head uint32 // see Decoded
	inserted     uint8  // length of the resourceVersion member, 0 if there is none
	stale        bool   // see Decoded
	broken       bool   // the stored bytes cannot be read
	sealed       bool   // broken, and the cause is that the store could not decrypt the bytes

	forms atomic.Pointer[form] // list of the forms made so far; changed under shelf.mu, read without
	shelf *shelf               // counts the forms; nil if broken
}

// newObject makes the object of d at rev and takes over d. If rev is 0, nothing is inserted: the
// object has no resourceVersion.
func newObject(key string, rev storage.Revision, d *Decoded) *Object {
	o := &Object{Key: key, Rev: rev, Labels: d.Labels, Fields: d.Fields, data: d.Data,
		form: d.Form, splice: uint32(d.Splice), head: uint32(d.Head), stale: d.Stale, shelf: d.shelf}
	if rev == 0 || d.Splice == 0 {
		return o
	}
	o.insert(d.Data[:d.Splice], d.Data[d.Splice:], rev)
	// The strings alias d.Data. They have to alias the new bytes, or else they would keep the old
	// bytes in memory.
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

// move makes each string of pairs that aliases from alias the same text in o.data. Text behind the
// splice lies behind the inserted member there.
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

// brokenObject returns an object that stands for an entry that cannot be read. It has a key, a
// revision and the text of the error, and no labels or fields.
func brokenObject(e storage.Entry, err error) *Object {
	if inner := (*storage.Error)(nil); errors.As(err, &inner) && inner.Err != nil {
		err = inner.Err // corrupt adds the outer error again
	}
	return &Object{Key: e.Key, Rev: e.Rev, data: []byte(err.Error()), broken: true, sealed: e.Err != nil}
}

// Err returns an error of Kind storage.Corrupt if the object cannot be read, else nil.
func (o *Object) Err() error {
	if !o.broken {
		return nil
	}
	return o.corrupt("decode")
}

// corrupt returns the error of a broken object. op is the operation that fails. If the store could
// not decrypt it, the op "decode" becomes "read", because nobody tried to decode it.
func (o *Object) corrupt(op string) *storage.Error {
	if o.sealed && op == "decode" {
		op = "read"
	}
	return &storage.Error{Op: op, Key: o.Key, Kind: storage.Corrupt, Rev: o.Rev, Err: brokenError(o.data)}
}

// brokenError is the cause of Corrupt. Only the text is kept, because the bytes of a broken object
// are its error's text.
type brokenError string

func (e brokenError) Error() string { return string(e) }

// Stored returns the object in the form in which it is stored, and the number of that form. JSON
// includes resourceVersion; other encodings do not (see Decoded.Splice). The bytes are shared: read
// only.
func (o *Object) Stored() (data []byte, form uint32) { return o.data, o.form }

// Revision returns Rev as a number, as the API shows it in resourceVersion.
func (o *Object) Revision() uint64 { return uint64(o.Rev) }

// JSON returns the whole object, resourceVersion included, if it is stored as JSON. The bytes are
// shared: read only.
func (o *Object) JSON() []byte { return o.data }

// Head returns the length of the leading `{"kind":...,"apiVersion":...,` of JSON, which lists leave
// out of their items. It is 0 for other encodings.
func (o *Object) Head() int { return int(o.head) }

// Value returns the bytes as they are stored. For JSON that is a copy without resourceVersion;
// other encodings are shared: read only.
func (o *Object) Value() []byte {
	if o.inserted == 0 {
		return o.data
	}
	before, after := o.parts()
	return append(bytes.Clone(before), after...)
}

// parts returns the stored bytes before and after the inserted resourceVersion member.
func (o *Object) parts() (before, after []byte) {
	return o.data[:o.splice], o.data[o.splice+uint32(o.inserted):]
}

// At returns an object with the state of o and with rev as its revision and resourceVersion. With 0
// there is no resourceVersion. It returns o itself if o has that revision or is broken.
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

// same reports whether o and d have the same stored bytes. It copies nothing.
func (o *Object) same(d *Decoded) bool {
	if o.broken || d.Splice != int(o.splice) || len(d.Data)+int(o.inserted) != len(o.data) {
		return false
	}
	before, after := o.parts()
	return bytes.Equal(before, d.Data[:d.Splice]) && bytes.Equal(after, d.Data[d.Splice:])
}

// size estimates how many bytes of memory o holds, without its forms.
func (o *Object) size() int64 {
	return int64(192 + len(o.Key) + len(o.data) + 32*(len(o.Labels)+len(o.Fields)))
}
