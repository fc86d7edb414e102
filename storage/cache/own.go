package cache

import (
	"bytes"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// writes are the writes of this server whose events have not come yet. The event of such a write
// takes the object that the write has made, so that it need not be decoded again.
type writes struct {
	mu struct {
		sync.Mutex
		byKey map[string]*write // the last own write of each key
		bytes int               // sum of the sizes of byKey
	}
}

// write is one write under way or just done. The writer or the event makes the object, depending on
// which comes first.
type write struct {
	key   string
	value []byte
	dec   Decoded
	obj   *Object // guarded by writes.mu; made at most once, nil until then
}

// maxWrites bounds the values that are remembered, in bytes. The events of other writes are
// decoded.
const maxWrites = 16 << 20

// add announces that value is about to be written at key. It replaces an earlier write of the key.
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

// size estimates the memory of a write in bytes.
func (w *write) size() int { return 512 + len(w.value) }

// dropLocked removes w, which may be nil, from the table.
func (ws *writes) dropLocked(w *write) {
	if w != nil {
		delete(ws.mu.byKey, w.key)
		ws.mu.bytes -= w.size()
	}
}

// done returns the object of a write to which the store gave revision rev.
func (ws *writes) done(w *write, rev storage.Revision) *Object {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return w.objectLocked(rev)
}

// objectLocked returns the object of the write at rev, and makes it the first time.
func (w *write) objectLocked(rev storage.Revision) *Object {
	if w.obj == nil {
		w.obj = newObject(w.key, rev, &w.dec)
	}
	return w.obj.At(rev)
}

// fail forgets a write that did not happen, or whose outcome is unknown.
func (ws *writes) fail(w *write) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.mu.byKey[w.key] == w {
		ws.dropLocked(w)
	}
}

// take returns the object of an own write when its event arrives, and forgets the write. It returns
// nil if the event is that of another server's write: the values differ, or the own write got
// another revision.
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

// forget forgets all writes, when an epoch ends and their events will not come.
func (ws *writes) forget() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.mu.byKey, ws.mu.bytes = nil, 0
}
