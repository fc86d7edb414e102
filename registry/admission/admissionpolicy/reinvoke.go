package admissionpolicy

import (
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decides which calls of mutating policies are made again in the second run of the
// mutators. A call is made again if its policy asks for it, the call was made in the first run, and
// something changed the object after it.

// state is what the plugin keeps from the first run to the second.
type state struct {
	called map[callKey]bool // the calls since the last change that may be made again
	again  map[callKey]bool // the calls to make again
	output meta.Typed       // a copy of the object as the run left it; nil if called is empty
}

// callKey identifies a call.
type callKey struct{ policy, binding, namespace, name string }

// key returns the key of a call.
func (c *call) key() callKey {
	k := callKey{policy: c.rule.name, binding: c.binding.name}
	if param, ok := c.param.(meta.Object); ok {
		m := param.GetObjectMeta()
		k.namespace, k.name = m.Namespace, m.Name
	}
	return k
}

// stateOf returns the state of a request as a run begins.
func stateOf(a *admission.Attributes) *state {
	s, _ := a.Kept(mutatingName).(*state)
	if s == nil {
		s = &state{}
		a.Keep(mutatingName, s)
	}
	if a.Reinvoked && len(s.called) > 0 &&
		(a.Object == nil || s.output == nil || !scheme.EqualObjects(s.output, a.Object)) {
		s.changed() // by a plugin after this one
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

// changed notes that the object has changed, so that all calls before it are to be made again.
func (s *state) changed() {
	if s.again == nil {
		s.again = map[callKey]bool{}
	}
	for key := range s.called {
		s.again[key] = true
	}
	s.called = nil
}

// ended notes the object that a run leaves. If there are no calls that a change could bring back,
// it is not needed.
func (s *state) ended(a *admission.Attributes) {
	s.output = nil
	if len(s.called) > 0 && a.Object != nil && !a.Reinvoked {
		s.output = scheme.Copy(a.Object)
	}
}
