package kind

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/coracle-project/coracle/scheme/schema"
)

// lazy is a schema that is made when it is needed. Once objects are handled by it, it stays; who only wants to describe the kind
// has it until the next collection.
type lazy struct {
	load func() *schema.Schema

	mu   sync.Mutex // of the two below, when they change
	kept atomic.Pointer[schema.Schema]
	seen weak.Pointer[schema.Schema]
}

// use returns the schema to those who handle objects.
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

// show returns the schema to those who describe the kind.
func (l *lazy) show() *schema.Schema {
	if s := l.kept.Load(); s != nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.getLocked()
}

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
