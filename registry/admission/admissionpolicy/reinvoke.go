package admissionpolicy

import (
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decides which calls of mutating policies are made again in the second run of the
// mutators. A call is made again if three things hold: its policy asks for it (reinvocationPolicy),
// the call was made in the first run, and something changed the object after it.

// state says in the second run what happened in the first.
type state struct {
	called map[callKey]bool // the calls since the last change that may be made again
	again  map[callKey]bool // the calls to make again
	output meta.Typed       // a copy of the object as the run left it; nil if called is empty
}

// callKey identifies a call in both runs: by its policy, its binding and its object of params.
type callKey struct{ policy, binding, namespace, name string }

func (c *call) key() callKey {
	k := callKey{policy: c.rule.name, binding: c.binding.name}
	if param, ok := c.param.(meta.Object); ok {
		m := param.GetObjectMeta()
		k.namespace, k.name = m.Namespace, m.Name
	}
	return k
}

// stateOf returns the state of a request at the start of a run.
func stateOf(a *admission.Attributes) *state {
	s, _ := a.Kept(mutatingName).(*state)
	if s == nil {
		s = &state{}
		a.Keep(mutatingName, s)
	}
	if a.Reinvoked && len(s.called) > 0 &&
		(a.Object == nil || s.output == nil || !scheme.EqualObjects(s.output, a.Object)) {
		s.changed() // a plugin after this one changed the object
	}
	return s
}

// add notes a call that may be made again.
func (s *state) add(key callKey) {
	if s.called == nil {
		s.called = map[callKey]bool{}
	}
	s.called[key] = true
}

// changed notes that the object has changed: all calls that may be made again and came before the
// change are made again.
func (s *state) changed() {
	if s.again == nil {
		s.again = map[callKey]bool{}
	}
	for key := range s.called {
		s.again[key] = true
	}
	s.called = nil
}

// ended keeps a copy of the object as the first run leaves it, so that stateOf sees whether a later
// plugin changed it. If no call could be made again, no copy is kept.
func (s *state) ended(a *admission.Attributes) {
	s.output = nil
	if len(s.called) > 0 && a.Object != nil && !a.Reinvoked {
		s.output = scheme.Copy(a.Object)
	}
}
