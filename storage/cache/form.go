package cache

import (
	"sync"
	"sync/atomic"
	"weak"
)

// form is an object in another form than the stored one: another version, another encoding.
type form struct {
	id     uint32
	used   atomic.Bool // since the shelf looked last
	data   []byte
	object *Object              // that data is of; nil if nobody has looked into it
	next   atomic.Pointer[form] // of the same object
}

// Form returns the object in another form, made on first demand by build and kept beside it as long as there is room
// (Config.FormBytes); what has not been used for long goes first. Callers that come at once may each build it. id is a
// small number that the caller assigns to a form. Finding a form takes no lock and no memory.
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

// In returns the object in another form as Keep has made it, nil if that is not there (any more).
func (o *Object) In(id uint32) *Object {
	if f := o.useForm(id); f != nil {
		return f.object
	}
	return nil
}

// Keep makes an object of what o is in another form, d.Form: at the same key and revision, with the labels and fields that it has
// there, as if it had been stored so. It is kept beside o as the result of Form is, which finds it, too.
func (o *Object) Keep(d Decoded) *Object {
	d.shelf = o.shelf
	made := newObject(o.Key, o.Rev, &d)
	if o.shelf == nil {
		return made
	}
	return o.shelf.keep(o, &form{id: d.Form, data: made.data, object: made}).object
}

// useForm finds a form and notes that it is used.
func (o *Object) useForm(id uint32) *form {
	f := o.findForm(id)
	if f != nil && !f.used.Load() { // else the line stays shared between processors
		f.used.Store(true)
	}
	return f
}

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

// dropForm takes f out of the object's list. A reader that stands on f goes on from there. The caller holds shelf.mu.
func (o *Object) dropForm(f *form) {
	at := &o.forms
	for at.Load() != f {
		at = &at.Load().next
	}
	at.Store(f.next.Load())
}

// shelf counts the forms of the objects of a resource and drops those that have not been used, by the clock algorithm:
// forms stand in a queue, and one that comes to its front is dropped, or, if it was used since it joined, joins again.
//
// Objects are referred to weakly. Those that have been replaced go when nobody reads them any more, and their forms with
// them; their places in the queue are found empty later.
type shelf struct {
	least  int64        // Config.FormBytes
	stored atomic.Int64 // bytes of the present objects

	mu struct {
		sync.Mutex
		queue []place // from front on
		front int
		bytes int64 // of all in the queue
	}
}

// place is one form in the queue.
type place struct {
	object weak.Pointer[Object]
	id     uint32
	size   uint32
}

const (
	// formOverhead is what a form takes beside its data: the form, its place and its share of the weak pointer, in bytes.
	formOverhead = 96
	// maxSweep bounds how many places are looked at for one form, so that the lock is held for microseconds.
	maxSweep = 64
)

// keep adds f to o and returns it, or the form that somebody else has added meanwhile. Without room it is not kept.
func (s *shelf) keep(o *Object, f *form) *form {
	object := weak.Make(o)
	size := int64(formOverhead)
	switch data := f.data; {
	case f.object != nil:
		size += f.object.size()
	case len(data) == 0 || len(o.data) == 0 || &data[0] != &o.data[0]: // else it is what is stored, and there anyway
		size += int64(cap(data))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch there := o.findForm(f.id); {
	case there != nil && (there.object != nil || f.object == nil):
		return there
	case there != nil: // it was made when there was no room for the object, and f takes its place
		o.dropForm(there)
		o.addForm(f)
		return f
	}
	if limit := s.limit(); size > limit || !s.sweepLocked(size, limit) {
		return f
	}
	o.addForm(f)
	s.mu.queue = append(s.mu.queue, place{object: object, id: f.id, size: uint32(size)})
	s.mu.bytes += size
	return f
}

// limit is what all forms may take, in bytes. It changes at any moment.
func (s *shelf) limit() int64 { return max(s.least, s.stored.Load()) }

// sweepLocked drops forms until there is room for size bytes, which are within limit, and reports whether there is. It
// gives up after maxSweep places.
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

// compactLocked moves the queue to the beginning of an array that is not much larger than it.
func (s *shelf) compactLocked() {
	rest := s.mu.queue[s.mu.front:]
	if cap(s.mu.queue) > 4*len(rest)+16 {
		rest = append(make([]place, 0, 2*len(rest)), rest...)
	} else {
		rest = append(s.mu.queue[:0], rest...)
	}
	s.mu.queue, s.mu.front = rest, 0
}

// trim drops forms until they are within the limit, which may have become less.
func (s *shelf) trim() {
	for done := false; !done; {
		s.mu.Lock()
		done = s.sweepLocked(0, s.limit())
		s.mu.Unlock()
	}
}

// size returns how many forms are kept and their bytes.
func (s *shelf) size() (forms int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.queue) - s.mu.front, s.mu.bytes
}
