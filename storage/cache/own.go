package cache

import (
	"bytes"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// writes are this server's writes under way or just done, so that their events need not be decoded.
type writes struct {
	mu struct {
		sync.Mutex
		byKey map[string]*write
		bytes int // of the values in byKey
	}
}

// write is one of them. Whoever comes first, the writer or the event, makes the object.
type write struct {
	key   string
	value []byte
	dec   Decoded
	obj   *Object // guarded by writes.mu; made at most once
}

// maxWrites bounds the values remembered, in bytes; beyond, events are decoded.
const maxWrites = 16 << 20

// add announces that value is about to be written.
func (ws *writes) add(key string, value []byte, d Decoded) *write {
	w := &write{key: key, value: value, dec: d}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.dropLocked(ws.mu.byKey[key])
	if ws.mu.byKey == nil {
		ws.mu.byKey = map[string]*write{}
	}
	if ws.mu.bytes+w.size() <= maxWrites {
		ws.mu.byKey[key] = w
		ws.mu.bytes += w.size()
	}
	return w
}

func (w *write) size() int { return 512 + len(w.value) }

func (ws *writes) dropLocked(w *write) {
	if w != nil {
		delete(ws.mu.byKey, w.key)
		ws.mu.bytes -= w.size()
	}
}

// done returns the object of a write that got rev.
func (ws *writes) done(w *write, rev storage.Revision) *Object {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return w.objectLocked(rev)
}

func (w *write) objectLocked(rev storage.Revision) *Object {
	if w.obj == nil {
		w.obj = newObject(w.key, rev, &w.dec)
	}
	return w.obj.At(rev)
}

// fail forgets a write that did not happen or whose outcome is unknown.
func (ws *writes) fail(w *write) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.mu.byKey[w.key] == w {
		ws.dropLocked(w)
	}
}

// take returns the object of an own write and forgets the write; nil if the event is somebody else's.
func (ws *writes) take(key string, value []byte, rev storage.Revision) *Object {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.mu.byKey[key]
	if w == nil || !bytes.Equal(w.value, value) || w.obj != nil && w.obj.Rev != rev {
		return nil
	}
	ws.dropLocked(w)
	return w.objectLocked(rev)
}

// latest returns the object of a finished write whose event has not come yet, or nil.
func (ws *writes) latest(key string) *Object {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.mu.byKey[key]; w != nil {
		return w.obj
	}
	return nil
}

func (ws *writes) forget() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.mu.byKey, ws.mu.bytes = nil, 0
}
