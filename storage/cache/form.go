package cache

import (
	"sync"
	"sync/atomic"
	"weak"
)

// A form is an object in another version or encoding than the stored one. This file finds, adds and
// drops forms, and bounds their memory (shelf). Readers that serve an object call Form, FormObject
// and KeepForm.
//
// Finding a form is a walk over a short linked list without a lock. Adding and dropping happen
// under shelf.mu.

// form is one entry of an object's list of forms.
type form struct {
	id     uint32
	used   atomic.Bool // a reader found it since the shelf last came past it
	data   []byte
	object *Object              // the form as an Object, of KeepForm; nil if only bytes were made, by Form
	next   atomic.Pointer[form] // the next form of the same object
}

// Form returns the bytes of the object in the form id. The first caller makes them with build; they
// are kept beside the object while there is room (Config.FormBytes), and forms that have not been
// used for long are dropped first. Concurrent first callers may each call build. id is a small
// number that the caller assigns to a form. Finding a form takes no lock and allocates nothing. The
// bytes are shared: read only.
func (o *Object) Form(id uint32, build func() ([]byte, error)) ([]byte, error) {
	if f := o.useForm(id); f != nil {
		return f.data, nil
	}
	data, err := build()
	if err != nil || o.shelf == nil {
		return data, err
	}
	return o.shelf.keep(o, &form{id: id, data: data}).data, nil
}

// FormObject returns the object in the form id if KeepForm has made it and it has not been dropped
// since, else nil.
func (o *Object) FormObject(id uint32) *Object {
	if f := o.useForm(id); f != nil {
		return f.object
	}
	return nil
}

// KeepForm returns an object that shows d, which is o in the form d.Form, at the key and the
// revision of o and with the labels and fields of d, as if d had been stored. The object is kept
// beside o like the bytes of other forms, and Form finds its bytes, too.
func (o *Object) KeepForm(d Decoded) *Object {
	d.shelf = o.shelf
	made := newObject(o.Key, o.Rev, &d)
	if o.shelf == nil {
		return made
	}
	return o.shelf.keep(o, &form{id: d.Form, data: made.data, object: made}).object
}

// useForm finds a form and marks it as used. It writes the mark only if it is not set, so that the
// cache line stays shared between processors.
func (o *Object) useForm(id uint32) *form {
	f := o.findForm(id)
	if f != nil && !f.used.Load() {
		f.used.Store(true)
	}
	return f
}

// findForm returns the form id of the object, or nil.
func (o *Object) findForm(id uint32) *form {
	f := o.forms.Load()
	for f != nil && f.id != id {
		f = f.next.Load()
	}
	return f
}

// addForm adds f to the object's list. The caller holds shelf.mu.
func (o *Object) addForm(f *form) {
	f.next.Store(o.forms.Load())
	o.forms.Store(f)
}

// dropForm removes f from the object's list. A reader that has reached f goes on from f's next. The
// caller holds shelf.mu.
func (o *Object) dropForm(f *form) {
	at := &o.forms
	for at.Load() != f {
		at = &at.Load().next
	}
	at.Store(f.next.Load())
}

// shelf counts the forms of the objects of a resource and drops those that have not been used, by
// the clock algorithm: forms stand in a queue. A form that comes to the front is dropped, unless it
// was used since it joined the queue; then it joins again at the end.
//
// The queue refers to objects weakly. When an object has been replaced and nobody reads it, the
// garbage collector frees it together with its forms; a later sweep finds the queue's entry empty.
type shelf struct {
	least  int64        // Config.FormBytes
	stored atomic.Int64 // bytes of the objects in the present state

	mu struct {
		sync.Mutex
		queue []queuedForm // from front on
		front int
		bytes int64 // sum of the sizes in the queue
	}
}

// queuedForm is one form in the queue.
type queuedForm struct {
	object weak.Pointer[Object]
	id     uint32
	size   uint32
}

const (
	// formOverhead is the memory of a form besides its data, in bytes: the form, its queue entry
	// and its share of the weak pointer.
	formOverhead = 96
	// maxSweep bounds how many queue entries one sweep looks at, so that the lock is held for
	// microseconds.
	maxSweep = 64
)

// keep adds f to o and returns f, or the form of the same id that another caller has added
// meanwhile. If there is no room, it returns f without adding it.
func (s *shelf) keep(o *Object, f *form) *form {
	object := weak.Make(o)
	size := int64(formOverhead)
	switch data := f.data; {
	case f.object != nil:
		size += f.object.size()
	case len(data) == 0 || len(o.data) == 0 || &data[0] != &o.data[0]: // bytes shared with the object cost nothing more
		size += int64(cap(data))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch there := o.findForm(f.id); {
	case there != nil && (there.object != nil || f.object == nil):
		return there
	case there != nil: // the kept form has bytes only; f has the object, too, and replaces it
		o.dropForm(there)
		o.addForm(f)
		return f
	}
	if limit := s.limit(); size > limit || !s.sweepLocked(size, limit) {
		return f
	}
	o.addForm(f)
	s.mu.queue = append(s.mu.queue, queuedForm{object: object, id: f.id, size: uint32(size)})
	s.mu.bytes += size
	return f
}

// limit returns how many bytes all forms may take. It changes with every change of the resource.
func (s *shelf) limit() int64 { return max(s.least, s.stored.Load()) }

// sweepLocked drops forms until there is room for size bytes under limit, and reports whether there
// is. It gives up after maxSweep queue entries. The caller passes size <= limit, so the queue is
// not empty when there is no room.
func (s *shelf) sweepLocked(size, limit int64) bool {
	for range maxSweep {
		if s.mu.bytes+size <= limit {
			return true
		}
		p := s.mu.queue[s.mu.front]
		s.mu.front++
		if s.mu.front > len(s.mu.queue)/2 {
			s.compactLocked()
		}
		if o := p.object.Value(); o != nil {
			f := o.findForm(p.id)
			if f.used.Swap(false) {
				s.mu.queue = append(s.mu.queue, p)
				continue
			}
			o.dropForm(f)
		}
		s.mu.bytes -= int64(p.size)
	}
	return s.mu.bytes+size <= limit
}

// compactLocked moves the queue to the start of an array, of at most about twice its length if the
// old one has become too large.
func (s *shelf) compactLocked() {
	rest := s.mu.queue[s.mu.front:]
	if cap(s.mu.queue) > 4*len(rest)+16 {
		rest = append(make([]queuedForm, 0, 2*len(rest)), rest...)
	} else {
		rest = append(s.mu.queue[:0], rest...)
	}
	s.mu.queue, s.mu.front = rest, 0
}

// trim drops forms until they are within the limit, which shrinks when objects are deleted. It
// releases the lock between sweeps.
func (s *shelf) trim() {
	for done := false; !done; {
		s.mu.Lock()
		done = s.sweepLocked(0, s.limit())
		s.mu.Unlock()
	}
}

// size returns how many forms the queue holds and their bytes, those of freed objects included.
func (s *shelf) size() (forms int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.queue) - s.mu.front, s.mu.bytes
}
