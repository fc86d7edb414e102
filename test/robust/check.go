package robust

import (
	"cmp"
	"fmt"
	"maps"
)

// Violation is a broken promise of the server.
type Violation struct {
	Check string
	Text  string
}

// checker compares a record with the history.
type checker struct {
	rec   *Record
	hist  *history
	found []Violation
}

// Check returns all violations in a record.
func Check(rec *Record) []Violation {
	c := &checker{rec: rec}
	for _, text := range rec.Trouble {
		c.report("processes", "%s", text)
	}
	c.hist = newHistory(rec, c.report)
	c.changes()
	for _, op := range rec.Ops {
		c.op(op)
	}
	for _, s := range rec.Sessions {
		c.session(s)
	}
	c.linearizable()
	return c.found
}

func (c *checker) report(check, format string, args ...any) {
	c.found = append(c.found, Violation{check, fmt.Sprintf(format, args...)})
}

// reportOp reports a violation by an operation, with the history of its object around a revision.
func (c *checker) reportOp(check string, op *Op, key string, rv int64, format string, args ...any) {
	c.report(check, "%s\n\t%v%s", fmt.Sprintf(format, args...), op, c.hist.around(key, rv))
}

// changes checks that every change in the history was requested, happened once, and follows from
// the state before it.
func (c *checker) changes() {
	writes, removals := map[string]*Op{}, map[string]bool{}
	for _, op := range c.rec.Ops {
		if op.changes() {
			writes[op.V] = op
		}
		if op.Verb == remove && op.happened() {
			removals[op.Key] = true
		}
	}
	made := map[string]*change{}
	for _, sp := range c.hist.spans {
		for _, ch := range sp.changes {
			var op *Op
			why := ""
			if o := ch.object; o == nil {
				if ch.before == nil || !removals[ch.key] {
					why = "a deletion that nobody asked for"
				}
			} else if op = writes[o.V]; ch.before != nil && ch.before.Hash == o.Hash {
				why = "a revision at which nothing changes"
			} else if op == nil || op.Key != ch.key {
				why = "a write that nobody asked for"
			} else if made[o.V] != nil {
				why = "a write that happened twice, before at " + made[o.V].String()
			} else {
				made[o.V] = ch
				why = follows(op, ch)
			}
			if why != "" {
				c.report("changes", "%s\n\t%v\n\t%v%s", why, ch, op, c.hist.around(ch.key, ch.rv))
			}
		}
	}
}

// follows returns why a change cannot be the result of its write on the state before; "" if it can.
func follows(op *Op, ch *change) string {
	o, before := ch.object, ch.before
	if !op.happened() {
		return "a write that was refused has happened"
	}
	if op.Verb == create {
		if before != nil {
			return "a create over an object"
		}
		before = &Object{UID: o.UID}
	}
	base, color := o.V, op.Color
	switch {
	case before == nil:
		return "a change of what was not there"
	case op.PreRV != 0 && before.RV != op.PreRV, op.TestV != "" && before.V != op.TestV:
		return "a write whose condition did not hold"
	case before.UID != o.UID:
		return "a change of the UID"
	case op.Verb == merge || op.Verb == jsonPatch:
		base, color = before.Base, cmp.Or(op.Color, before.Color)
	}
	if o.Base != base || o.Color != color {
		return fmt.Sprintf("a change to other than base=%s color=%s", base, color)
	}
	return ""
}

// op checks one operation: each state that it shows existed at that time, and its answer is
// possible.
func (c *checker) op(op *Op) {
	known := c.hist.known(op.Call)
	switch {
	case op.Result == refused:
		c.reportOp("answers", op, op.Key, known, "an answer that is not possible here")
	case op.Result == expired && (c.rec.Lasting || op.Match != "Exact" && op.Limit == 0):
		c.reportOp("answers", op, op.Key, known, "history is gone that has to be there")
	}
	if o := op.Object; o != nil {
		c.shown(op, o, true)
		switch {
		case op.Noop && o.RV != op.PreRV:
			c.reportOp("changes", op, op.Key, o.RV, "a write that changes nothing made a revision")
		case op.changes() && (o.V != op.V || o.Key != op.Key):
			c.reportOp("answers", op, op.Key, o.RV, "the answer is not what was written")
		case op.changes() && o.RV <= known:
			c.reportOp("order", op, op.Key, o.RV, "a write has a revision that is not above %d, known before it began", known)
		}
	}
	if items, whole := op.listed(); whole {
		got := map[string]*Object{}
		for i, o := range items {
			if got[o.Key] = o; i > 0 && o.Key <= items[i-1].Key {
				c.reportOp("lists", op, o.Key, o.RV, "items that are not in order, or twice there")
			}
		}
		c.snapshot(op, op.Scope, op.Pages[0].RV, got)
	}
	for i, p := range op.Pages {
		for _, o := range p.Items {
			c.shown(op, o, false)
		}
		switch {
		case p.RV != op.Pages[0].RV:
			c.reportOp("lists", op, "", p.RV, "pages at different revisions")
		case i > 0:
		case op.Match == "" && p.RV < known:
			c.reportOp("lists", op, "", p.RV, "a stale list: %d was known before it was asked for", known)
		case op.Match == "Exact" && p.RV != op.AskRV, p.RV < op.AskRV:
			c.reportOp("lists", op, "", p.RV, "a list at another revision than was asked for")
		}
	}
}

// shown checks that an object in an answer equals the one that was written at its revision.
func (c *checker) shown(op *Op, o *Object, typed bool) {
	if o.Typed != typed {
		c.reportOp("answers", op, o.Key, o.RV, "items of lists, and nothing else, leave out their kind: %v", o)
	}
	if sp := c.hist.span(o.RV); sp == nil || o.RV == sp.from {
		return
	}
	if ch := c.hist.changes[o.RV]; ch == nil || !same(ch.object, o) {
		c.reportOp("reads", op, o.Key, o.RV, "no watch was told of the state that was answered: %v", o)
	}
}

// session checks that a watch sends each change once and in order.
func (c *checker) session(s *Session) {
	bad := func(i int, format string, args ...any) {
		text := fmt.Sprintf(format, args...) + "\n\t" + s.String()
		for j := max(0, i-2); j < min(i+3, len(s.Events)); j++ {
			text += fmt.Sprintf("\n\tevent %d: %v", j, &s.Events[j])
		}
		c.report("watches", "%s", text)
	}
	if s.Code >= 400 && s.Code < 500 && s.Code != 429 && (s.Code != 410 || c.rec.Lasting) {
		bad(0, "a watch was refused")
	}
	at, start := s.From, s.initial()+1
	if state, rv := s.state(); start > 0 {
		at = rv
		c.snapshot(s, s.Scope, rv, state)
		if known := c.hist.known(s.Opened); rv < known {
			bad(start-1, "a stale initial state: %d was known before it was asked for", known)
		}
	}
	for i := range start - 1 {
		if s.Events[i].Type != added {
			bad(i, "an initial state has other events than of objects")
		}
	}
	live := s.live()
	for i := range live {
		e := &live[i]
		if e.Type == failed {
			if e.Code == 410 && c.rec.Lasting {
				bad(start+i, "history is gone that has to be there")
			}
			return
		}
		want, known := c.hist.between(s.Scope, at, e.RV)
		switch {
		case e.RV < at, e.RV == at && e.Type != bookmark:
			bad(start+i, "an event comes twice or late: everything up to %d has been sent", at)
		case !known:
		case e.Type == bookmark && len(want) > 0, len(want) > 1:
			bad(start+i, "an event is missing: %v", want[0])
		case e.Type == bookmark:
		case len(want) == 0:
			bad(start+i, "an event of nothing that happened%s", c.hist.around(e.Object.Key, e.RV))
		case e.Type != want[0].Type, !same(e.Object, &Object{Key: want[0].Object.Key, RV: e.RV, Hash: want[0].Object.Hash}):
			bad(start+i, "an event tells other than what happened: %v", want[0])
		}
		at = max(at, e.RV)
	}
}

// snapshot checks that a list, or the initial state of a watch, is the state at its revision.
func (c *checker) snapshot(of fmt.Stringer, s Scope, rv int64, got map[string]*Object) {
	if want, known := c.hist.state(s, rv); known && !maps.EqualFunc(got, want, same) {
		c.report("lists", "a list is not the state at %d\n\t%v\n\tgot  %v\n\twant %v", rv, of, got, want)
	}
}
