package robust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"
)

// change is the change at one revision. Object is nil for a deletion, before is nil for a creation.
type change struct {
	rv             int64
	key            string
	before, object *Object
}

func (c *change) String() string {
	return fmt.Sprintf("%d %s: %v, before: %v", c.rv, c.key, c.object, c.before)
}

// event returns the event that a watch must send for the change, nil if the watch does not select
// it.
func (c *change) event(s Scope) *Event {
	switch was, is := s.has(c.before), s.has(c.object); {
	case was && is:
		return &Event{Type: modified, RV: c.rv, Object: c.object}
	case is:
		return &Event{Type: added, RV: c.rv, Object: c.object}
	case was:
		return &Event{Type: deleted, RV: c.rv, Object: c.before}
	}
	return nil
}

// span is a range of revisions that is fully known: the state at from, and all changes up to to.
type span struct {
	from, to int64
	state    map[string]*Object
	changes  []*change
}

// history is the sequence of all changes, taken from the watches of everything. The revisions
// between its spans are unknown: an engine without history was killed before it showed them to any
// client.
type history struct {
	spans   []*span
	changes map[int64]*change
	first   map[string]time.Duration // when somebody first saw a value
	gone    map[string]time.Duration // when somebody first saw that a UID was deleted

	// The newest revision that clients had seen at each time. Both slices rise.
	times     []time.Duration
	revisions []int64
}

// newHistory combines the events of the watches of everything. It reports events that contradict
// each other.
func newHistory(rec *Record, report func(check, format string, args ...any)) *history {
	h := &history{spans: spansOf(rec), changes: map[int64]*change{}, first: map[string]time.Duration{}, gone: map[string]time.Duration{}}
	for _, s := range rec.Sessions {
		if !s.Scope.whole() {
			continue
		}
		for _, e := range s.live() {
			if e.Object != nil {
				h.learn(s, &e, report)
			}
		}
	}
	for _, sp := range h.spans {
		slices.SortFunc(sp.changes, func(a, b *change) int { return cmp.Compare(a.rv, b.rv) })
		state := maps.Clone(sp.state)
		for _, c := range sp.changes {
			c.before = state[c.key]
			apply(state, c)
		}
	}
	h.look(rec)
	return h
}

func apply(state map[string]*Object, c *change) {
	if c.object == nil {
		delete(state, c.key)
	} else {
		state[c.key] = c.object
	}
}

// spansOf returns the spans that sessions of everything cover, without their changes.
func spansOf(rec *Record) []*span {
	var pieces []*span
	for _, s := range rec.Sessions {
		p := &span{from: s.From}
		if s.From == 0 {
			p.state, p.from = s.state()
		}
		if !s.Scope.whole() || p.from == 0 {
			continue
		}
		p.to = p.from
		for _, e := range s.live() {
			p.to = max(p.to, e.RV)
		}
		pieces = append(pieces, p)
	}
	slices.SortFunc(pieces, func(a, b *span) int { return cmp.Compare(a.from, b.from) })
	spans := []*span{{from: rec.Start, to: rec.Start, state: map[string]*Object{}}}
	for _, p := range pieces {
		if last := spans[len(spans)-1]; p.from <= last.to {
			last.to = max(last.to, p.to)
		} else if p.state != nil {
			spans = append(spans, p)
		}
	}
	return spans
}

// learn adds the change of an event.
func (h *history) learn(s *Session, e *Event, report func(check, format string, args ...any)) {
	sp := h.span(e.RV)
	if sp == nil || e.RV == sp.from {
		return
	}
	c := &change{rv: e.RV, key: e.Object.Key}
	if e.Type != deleted {
		c.object = e.Object
	}
	have := h.changes[e.RV]
	if have == nil {
		h.changes[e.RV] = c
		sp.changes = append(sp.changes, c)
	} else if have.key != c.key || !same(have.object, c.object) {
		report("watches disagree", "two watches tell different things of one revision:\n%v\n%v\n%v", have, e, s)
	}
}

// same reports whether two objects show the same state.
func same(a, b *Object) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.RV == b.RV && a.Hash == b.Hash && a.Key == b.Key
}

// look visits everything that a client saw, and records the time of the first sight.
func (h *history) look(rec *Record) {
	newest := map[time.Duration]int64{}
	saw := func(t time.Duration, rv int64, o *Object) {
		newest[t] = max(newest[t], rv)
		if o != nil {
			earliest(h.first, o.V, t)
		}
	}
	for _, op := range rec.Ops {
		if op.Object != nil {
			saw(op.Return, op.Object.RV, op.Object)
		}
		for _, p := range op.Pages {
			saw(op.Return, p.RV, nil)
			for _, o := range p.Items {
				saw(op.Return, o.RV, o)
			}
		}
	}
	for _, s := range rec.Sessions {
		for _, e := range s.Events {
			saw(e.Time, e.RV, e.Object)
			if e.Type == deleted && s.Scope.Selector == 0 {
				earliest(h.gone, e.Object.UID, e.Time)
			}
		}
	}
	top := rec.Start
	for _, t := range slices.Sorted(maps.Keys(newest)) {
		if newest[t] > top {
			top = newest[t]
			h.times, h.revisions = append(h.times, t), append(h.revisions, top)
		}
	}
}

func earliest(times map[string]time.Duration, of string, t time.Duration) {
	if first, seen := times[of]; !seen || t < first {
		times[of] = t
	}
}

// known is the newest revision that anybody had seen before a time.
func (h *history) known(t time.Duration) int64 {
	i := sort.Search(len(h.times), func(i int) bool { return h.times[i] >= t })
	if i == 0 {
		return 0
	}
	return h.revisions[i-1]
}

// span returns the span that a revision is in, or nil.
func (h *history) span(rv int64) *span {
	for _, sp := range h.spans {
		if sp.from <= rv && rv <= sp.to {
			return sp
		}
	}
	return nil
}

// state returns the objects that a list at a revision must show, and false if they are not known.
func (h *history) state(s Scope, rv int64) (map[string]*Object, bool) {
	sp := h.span(rv)
	if sp == nil {
		return nil, false
	}
	state := maps.Clone(sp.state)
	for _, c := range sp.changes[:sp.index(rv+1)] {
		apply(state, c)
	}
	maps.DeleteFunc(state, func(_ string, o *Object) bool { return !s.has(o) })
	return state, true
}

// between returns the events that a watch must send after one revision and up to another, and false
// if they are not known.
func (h *history) between(s Scope, after, to int64) ([]*Event, bool) {
	sp := h.span(after)
	if sp == nil || to > sp.to {
		return nil, false
	}
	var events []*Event
	for _, c := range sp.changes[sp.index(after+1):] {
		if c.rv > to {
			break
		}
		if e := c.event(s); e != nil {
			events = append(events, e)
		}
	}
	return events, true
}

// index returns the index of the first change at a revision or later.
func (sp *span) index(rv int64) int {
	return sort.Search(len(sp.changes), func(i int) bool { return sp.changes[i].rv >= rv })
}

// around returns the changes of an object near a revision, as text.
func (h *history) around(key string, rv int64) string {
	var near []*change
	for _, sp := range h.spans {
		for _, c := range sp.changes {
			if c.key == key {
				near = append(near, c)
			}
		}
	}
	i := sort.Search(len(near), func(i int) bool { return near[i].rv >= rv })
	text := ""
	for _, c := range near[max(0, i-3):min(len(near), i+3)] {
		text += "\n\tchange " + c.String()
	}
	return text
}
