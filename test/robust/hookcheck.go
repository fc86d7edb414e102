package robust

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// CheckHooks returns all violations in a record.
func CheckHooks(rec *HookRecord) []Violation {
	c := newHookChecker(rec)
	for _, text := range rec.Trouble {
		c.report("processes", "%s", text)
	}
	for _, op := range rec.Ops {
		if op.odd() || op.Result == invalid {
			c.report("answers", "an answer that no owner can get: %v", op)
		}
	}
	for _, w := range rec.Writes {
		c.write(w)
	}
	return c.found
}

// hookChecker judges each write by what its server knew of hooks when the write began.
type hookChecker struct {
	rec   *HookRecord
	hooks map[string]*hookHistory
	found []Violation
}

// newHookChecker finds out when which server knew what.
func newHookChecker(rec *HookRecord) *hookChecker {
	c := &hookChecker{rec: rec, hooks: map[string]*hookHistory{}}
	for _, op := range rec.Ops {
		c.op(op)
	}
	for _, s := range rec.Sights {
		c.sight(s)
	}
	for _, h := range c.hooks {
		h.settle(rec.Starts)
	}
	return c
}

// hookHistory is the history of one hook: its generations increase, and gone is the last. Before
// its creation the generation is 0.
type hookHistory struct {
	born  int64               // a revision at which it was there; 0 if nobody knows one
	asked []*HookOp           // what may have happened
	known map[int][]knowledge // by server, in order of both time and generation
}

// knowledge says that a server knows a generation of a hook, or a later one, from a time on.
type knowledge struct {
	at  time.Duration
	gen int
	why string // the check that fails if it does not
}

func (c *hookChecker) report(check, format string, args ...any) {
	c.found = append(c.found, Violation{check, fmt.Sprintf(format, args...)})
}

func (c *hookChecker) hook(name string) *hookHistory {
	h := c.hooks[name]
	if h == nil {
		h = &hookHistory{known: map[int][]knowledge{}}
		c.hooks[name] = h
	}
	return h
}

// op notes what an operation of an owner tells. The operations of a hook come one after the other.
func (c *hookChecker) op(op *HookOp) {
	h := c.hook(op.Hook)
	if op.happened() {
		h.asked = append(h.asked, op)
	}
	learn := func(gen int, why string) {
		h.known[op.Server] = append(h.known[op.Server], knowledge{op.Return, gen, why})
	}
	switch {
	case op.Result == acked && op.Verb == get:
		learn(op.Gen, "seen")
	case op.Result == notFound && op.Verb == get && h.born > 0:
		learn(gone, "seen")
	case op.Result == acked:
		learn(op.result(), "answered")
	}
	if op.RV > 0 && h.born == 0 {
		h.born = op.RV
	}
}

// result is the generation after the operation.
func (op *HookOp) result() int {
	if op.Verb == remove {
		return gone
	}
	return op.Gen
}

// sight notes what a server has shown. If a hook was there at an earlier revision, and a list does
// not show it, it was deleted.
func (c *hookChecker) sight(s *Sight) {
	learn := func(h *hookHistory, gen int) {
		h.known[s.Server] = append(h.known[s.Server], knowledge{s.At, gen, "seen"})
	}
	for hook, gen := range s.Shown {
		learn(c.hook(hook), gen)
	}
	if s.Whole == "" {
		return
	}
	for hook, h := range c.hooks {
		if _, shown := s.Shown[hook]; !shown && kindOfHook(hook).resource == s.Whole && h.born > 0 && h.born <= s.RV {
			learn(h, gone)
		}
	}
}

// settle adds what servers know after they have started, which is all that any server knew before.
// It drops all knowledge that is no news.
func (h *hookHistory) settle(starts []ServerTime) {
	var all []knowledge
	for _, of := range h.known {
		all = append(all, of...)
	}
	all = news(all)
	for _, start := range starts {
		if k := latest(all, start.At); k.gen > 0 {
			h.known[start.Server] = append(h.known[start.Server], knowledge{start.At, k.gen, "started"})
		}
	}
	for server, of := range h.known {
		h.known[server] = news(of)
	}
}

// news sorts knowledge by time, and drops what is older than what was known already.
func news(of []knowledge) (list []knowledge) {
	slices.SortStableFunc(of, func(a, b knowledge) int { return cmp.Compare(a.at, b.at) })
	for _, k := range of {
		if len(list) == 0 || k.gen > list[len(list)-1].gen {
			list = append(list, k)
		}
	}
	return list
}

// latest returns what is known before a time, by news.
func latest(list []knowledge, before time.Duration) knowledge {
	i, _ := slices.BinarySearchFunc(list, before, func(k knowledge, at time.Duration) int { return cmp.Compare(k.at, at) })
	if i == 0 {
		return knowledge{}
	}
	return list[i-1]
}

// write judges one write. Writes without an answer are excused, and so are those that failed for a
// reason of their own.
func (c *hookChecker) write(w *HookWrite) {
	switch {
	case w.By == "" && (w.odd() || w.Result == invalid), w.Result == notFound, w.Result == conflict, w.Result == exists:
		c.report("answers", "an answer that no writer can get: %v", w)
	case w.By != "":
		c.acts(w, w.By, w.Gen)
	case w.Result == acked:
		c.passed(w)
	}
}

// passed judges a write that was not refused.
func (c *hookChecker) passed(w *HookWrite) {
	for _, hook := range w.Hooks {
		c.acts(w, hook, w.Stamps[hook])
	}
	for hook, gen := range w.Stamps {
		if !slices.Contains(w.Hooks, hook) {
			c.report("changes", "%s %d acts on a write that it is not for: %v", hook, gen, w)
		}
	}
	for _, cut := range c.rec.Cuts {
		if cut.Server == w.Server && !w.DryRun && cut.At < w.Call && w.Return < cut.To {
			c.report("cut", "a write was stored while the server could not reach its etcd: %v", w)
		}
	}
}

// known returns what the server of a write knew of a hook before the write began.
func (c *hookChecker) known(w *HookWrite, hook string) knowledge {
	return latest(c.hook(hook).known[w.Server], w.Call)
}

// acts judges that the generation gen of a hook acted on a write, or, if gen is 0, that none did.
// The hook may be as the server knew it when the write began, or as anybody asked for before the
// write ended.
func (c *hookChecker) acts(w *HookWrite, hook string, gen int) {
	known := c.known(w, hook)
	allowed := gen == known.gen || gen == 0 && known.gen == gone
	asked := false
	for _, op := range c.hook(hook).asked {
		if op.Call <= w.Return {
			asked = asked || op.result() == gen
			later := op.result() > known.gen
			allowed = allowed || later && (op.result() == gen || gen == 0 && op.result() == gone)
		}
	}
	switch {
	case !slices.Contains(w.Hooks, hook), gen != 0 && !asked:
		c.report("changes", "generation %d of %s acts, and nobody asked for that: %v", gen, hook, w)
	case allowed:
	case known.gen == gone:
		c.report("ended", "generation %d of %s acts, which the server has known to be gone since %v (%s): %v", gen, hook,
			known.at, known.why, w)
	default:
		c.report(known.why, "generation %d of %s acts, and the server has known generation %d since %v: %v", gen, hook,
			known.gen, known.at, w)
	}
}
