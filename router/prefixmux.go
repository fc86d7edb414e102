package router

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// PrefixMux finds the handler of paths outside of the API's resources: an exact path first, then
// the longest registered prefix. It may be changed while it serves; a request sees one state.
type PrefixMux struct {
	mu    sync.Mutex
	state atomic.Pointer[prefixState]
}

// prefixState is one state of a PrefixMux. It is immutable once stored.
type prefixState struct {
	exact    map[string]http.Handler
	prefixes []prefixRoute   // longest first
	hidden   map[string]bool // paths that the index does not list
}

// prefixRoute is a registered prefix, which ends in "/".
type prefixRoute struct {
	prefix  string
	handler http.Handler
}

// NewPrefixMux returns an empty mux.
func NewPrefixMux() *PrefixMux {
	m := &PrefixMux{}
	m.state.Store(&prefixState{})
	return m
}

// Handle registers the handler of a path. If the path ends in "/" and is not "/" itself, the
// handler serves all paths below it and the path without the slash. Registering a path twice is an
// error.
func (m *PrefixMux) Handle(path string, h http.Handler) error { return m.change(path, h, false) }

// HandleHidden is Handle for a path that the index at / does not list.
func (m *PrefixMux) HandleHidden(path string, h http.Handler) error { return m.change(path, h, true) }

// Remove removes a registered path. It does nothing if the path is not registered.
func (m *PrefixMux) Remove(path string) { m.change(path, nil, false) }

// change registers h at path, or removes path if h is nil. hidden says that the index does not list
// the path; it is false for a removal.
func (m *PrefixMux) change(path string, h http.Handler, hidden bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.state.Load().clone()
	isPrefix := strings.HasSuffix(path, "/") && path != "/"
	if h != nil {
		if _, taken := next.exact[path]; taken || isPrefix && next.find(path) >= 0 {
			return fmt.Errorf("router: path %q is registered twice", path)
		}
	}
	switch {
	case isPrefix && h == nil:
		if i := next.find(path); i >= 0 {
			next.prefixes = append(next.prefixes[:i], next.prefixes[i+1:]...)
		}
	case isPrefix:
		next.prefixes = append(next.prefixes, prefixRoute{path, h})
		sort.SliceStable(next.prefixes, func(i, j int) bool {
			return len(next.prefixes[i].prefix) > len(next.prefixes[j].prefix)
		})
	case h == nil:
		delete(next.exact, path)
	default:
		next.exact[path] = h
	}
	if hidden {
		next.hidden[path] = true
	} else {
		delete(next.hidden, path)
	}
	m.state.Store(next)
	return nil
}

// clone returns a copy whose maps and slice may be changed.
func (s *prefixState) clone() *prefixState {
	c := &prefixState{exact: map[string]http.Handler{}, hidden: map[string]bool{}}
	for k, v := range s.exact {
		c.exact[k] = v
	}
	for k := range s.hidden {
		c.hidden[k] = true
	}
	c.prefixes = append(c.prefixes, s.prefixes...)
	return c
}

// find returns the index of a prefix, or -1.
func (s *prefixState) find(prefix string) int {
	for i := range s.prefixes {
		if s.prefixes[i].prefix == prefix {
			return i
		}
	}
	return -1
}

// Match returns the handler of a path, or nil.
func (m *PrefixMux) Match(path string) http.Handler {
	s := m.state.Load()
	if h, ok := s.exact[path]; ok {
		return h
	}
	for i := range s.prefixes {
		if p := s.prefixes[i].prefix; strings.HasPrefix(path, p) || len(path) == len(p)-1 && path == p[:len(p)-1] {
			return s.prefixes[i].handler
		}
	}
	return nil
}

// Paths lists the registered paths that are not hidden, sorted, for the index at /.
func (m *PrefixMux) Paths() []string {
	s := m.state.Load()
	var paths []string
	for p := range s.exact {
		if !s.hidden[p] {
			paths = append(paths, p)
		}
	}
	for _, r := range s.prefixes {
		if !s.hidden[r.prefix] {
			paths = append(paths, r.prefix)
		}
	}
	sort.Strings(paths)
	return paths
}
