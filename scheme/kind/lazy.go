package kind

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/coracle-project/coracle/scheme/schema"
)

// lazy is a schema that is loaded when it is first needed. After use has been called, it stays in
// memory. If only show is called, as for discovery and OpenAPI, the garbage collector may drop it,
// and the next call loads it again.
type lazy struct {
	load func() *schema.Schema

	mu   sync.Mutex // guards writes of kept, and seen
	kept atomic.Pointer[schema.Schema]
	seen weak.Pointer[schema.Schema]
}

// use returns the schema for handling objects, and keeps it.
func (l *lazy) use() *schema.Schema {
	if s := l.kept.Load(); s != nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.getLocked()
	l.kept.Store(s)
	return s
}

// show returns the schema for describing the kind, without keeping it.
func (l *lazy) show() *schema.Schema {
	if s := l.kept.Load(); s != nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.getLocked()
}

// getLocked returns the schema and loads it if neither kept nor seen has it. l.mu is held.
func (l *lazy) getLocked() *schema.Schema {
	if s := l.kept.Load(); s != nil {
		return s
	}
	if s := l.seen.Value(); s != nil {
		return s
	}
	s := l.load()
	l.seen = weak.Make(s)
	return s
}
