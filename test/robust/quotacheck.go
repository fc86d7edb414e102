package robust

import (
	"fmt"
	"maps"
	"strings"
)

// sums are what objects use, by quota and name.
type sums map[string]map[string]int64

func newSums(limits []*Limit) sums {
	s := sums{}
	for _, l := range limits {
		s[l.Name] = map[string]int64{}
		for name := range l.Hard {
			s[l.Name][name] = 0
		}
	}
	return s
}

// add adds times times the amounts of an object.
func (s sums) add(limits []*Limit, o *Counted, times int64) {
	for _, l := range limits {
		if l.Terminates && !o.Terminates {
			continue
		}
		for name := range l.Hard {
			s[l.Name][name] += times * o.Uses[name]
		}
	}
}

// quotaChecker computes from the history what is stored at each revision, and compares that with
// the quotas and with the answers.
type quotaChecker struct {
	rec     *QuotaRecord
	found   []Violation
	stored  sums
	present map[string]*Counted // by kind and name
	used    map[string]*Account // by quota
}

// CheckQuotas returns all violations in a record.
func CheckQuotas(rec *QuotaRecord) []Violation {
	c := &quotaChecker{rec: rec}
	for _, text := range rec.Trouble {
		c.report("processes", "%s", text)
	}
	c.history()
	c.answers()
	for i, round := range rec.Rounds {
		c.round(i, round)
	}
	return c.found
}

func (c *quotaChecker) report(check, format string, args ...any) {
	c.found = append(c.found, Violation{check, fmt.Sprintf(format, args...)})
}

// replay applies the history up to a revision to stored, present and used. If each is not nil,
// replay calls it after every change.
func (c *quotaChecker) replay(to int64, each func(rv int64)) {
	c.stored, c.present, c.used = newSums(c.rec.Limits), map[string]*Counted{}, map[string]*Account{}
	events, accounts := c.rec.Events, c.rec.Accounts
	for len(events)+len(accounts) > 0 {
		var rv int64
		if len(accounts) == 0 || len(events) > 0 && events[0].RV < accounts[0].RV {
			rv = events[0].RV
		} else {
			rv = accounts[0].RV
		}
		if rv > to {
			return
		}
		if len(events) > 0 && events[0].RV == rv {
			c.apply(events[0])
			events = events[1:]
		} else {
			c.used[accounts[0].Name] = accounts[0]
			accounts = accounts[1:]
		}
		if each != nil {
			each(rv)
		}
	}
}

func (c *quotaChecker) apply(e CountedEvent) {
	key := e.Kind + "/" + e.Name
	if old := c.present[key]; old != nil {
		c.stored.add(c.rec.Limits, old, -1)
	}
	if delete(c.present, key); e.Type != deleted {
		c.present[key] = e.Counted
		c.stored.add(c.rec.Limits, e.Counted, 1)
	}
}

// forever is higher than all revisions.
const forever = 1 << 62

// history checks at each revision that no more is stored than the limits and the used amounts of
// the quotas, and that no used amount is above its limit.
func (c *quotaChecker) history() {
	said := map[string]bool{}
	once := func(check, what, format string, args ...any) {
		if !said[check+what] {
			said[check+what] = true
			c.report(check, format, args...)
		}
	}
	c.replay(forever, func(rv int64) {
		for _, l := range c.rec.Limits {
			a := c.used[l.Name]
			if a == nil {
				continue
			}
			for name, hard := range l.Hard {
				stored := c.stored[l.Name][name]
				used, known := a.Used[name]
				if stored > hard {
					once("too much", l.Name+name, "%d of %s is stored at revision %d, and %s admits %d", stored, name, rv, l.Name, hard)
				}
				if known && used < stored {
					once("uncharged", l.Name+name, "%s says at revision %d that %d of %s is used, and %d is stored", l.Name, rv, used, name, stored)
				}
				if known && used > hard {
					once("too much", l.Name+name, "%s says at revision %d that %d of %s is used, and admits %d", l.Name, rv, used, name, hard)
				}
			}
		}
	})
	stored := map[string]int{}
	for _, o := range c.present {
		stored[o.Kind]++
	}
	for kind, n := range c.rec.Stored {
		if n != stored[kind] {
			c.report("history", "etcd has %d %s, and by the watch there are %d", n, kind, stored[kind])
		}
	}
}

// answers checks that each answered write happened, that each change was requested, and that the
// numbers in each refusal justify it.
func (c *quotaChecker) answers() {
	at, makers, gone := map[int64]*Counted{}, map[string]bool{}, map[string]bool{}
	for _, e := range c.rec.Events {
		if at[e.RV] = e.Counted; e.Type == deleted {
			gone[e.UID] = true
		}
	}
	for _, op := range c.rec.Ops {
		if op.Verb == create && (op.Result == acked || op.Result == inDoubt) {
			makers[op.By] = true
		}
		switch {
		case op.exceeded():
			if why := falseRefusal(op); why != "" {
				c.report("refusals", "%s\n\t%v", why, op)
			}
		case op.odd() || op.Result == invalid && !op.shrinks():
			c.report("answers", "an answer that is not possible here\n\t%v", op)
		case op.Result == acked && op.Verb == remove && !gone[op.UID]:
			c.report("answers", "a deletion that did not happen\n\t%v", op)
		case op.Got != nil && op.Verb != get:
			if told := at[op.Got.RV]; told == nil || told.UID != op.Got.UID || !maps.Equal(told.Uses, op.Got.Uses) {
				c.report("answers", "an answer is not what happened\n\t%v\n\t%v", op, told)
			}
		}
	}
	for _, e := range c.rec.Events {
		if e.Type == added && !makers[e.By] {
			c.report("changes", "nobody created it, by the answers\n\t%v", e.Counted)
		}
	}
}

// shrinks reports whether the request was refused because it would make a claim smaller. That can
// happen: an earlier request in doubt made the claim grow after the client had read it.
func (op *QuotaOp) shrinks() bool {
	return op.Verb == merge && op.Kind == "persistentvolumeclaims" && strings.Contains(op.Error, "less than")
}

// falseRefusal returns why the numbers in a refusal do not justify it, "" if they do: for each
// name, the requested and the used amounts together must exceed the limit.
func falseRefusal(op *QuotaOp) string {
	_, text, _ := strings.Cut(op.Error, "exceeded quota: ")
	parts := map[string]map[string]int64{}
	for _, what := range []string{"requested", "used", "limited"} {
		_, list, ok := strings.Cut(text, ", "+what+": ")
		if !ok {
			return "a refusal without what is " + what
		}
		list, _, _ = strings.Cut(list, ", ")
		parts[what] = map[string]int64{}
		for pair := range strings.SplitSeq(list, ",") {
			name, amount, _ := strings.Cut(pair, "=")
			n, err := thousandths(amount)
			if err != nil {
				return err.Error()
			}
			parts[what][name] = n
		}
	}
	for name, n := range parts["requested"] {
		if op.Verb == create && n != op.Asks[name] {
			return "a refusal of what was not asked for: " + name
		}
		if n+parts["used"][name] <= parts["limited"][name] {
			return "a refusal although there is room: " + name
		}
	}
	return ""
}

// round checks that usage was right after one recount, and that the quotas could then be filled to
// their limits, and no further.
func (c *quotaChecker) round(i int, round *QuotaRound) {
	if round.Right == 0 {
		return // Trouble has the reason
	}
	recounts := 0
	right := round.Right
	for _, raise := range c.rec.Raises {
		if raise > round.Due {
			if recounts++; recounts == 2 && raise < right {
				right = raise // the first recount has ended and must have corrected everything
			}
		}
	}
	c.replay(right, nil)
	for _, l := range c.rec.Limits {
		for name := range l.Hard {
			if used, stored := c.used[l.Name].Used[name], c.stored[l.Name][name]; used != stored {
				c.report("usage", "round %d: %s says after a recount, at revision %d, that %d of %s is used, and %d is stored",
					i, l.Name, right, used, name, stored)
			}
		}
	}
	for _, op := range round.Fill {
		if op.exceeded() && c.room(op) {
			c.report("stuck", "round %d: a refusal although there is room\n\t%v", i, op)
		} else if !op.exceeded() && op.Result != acked {
			c.report("stuck", "round %d: neither created nor refused\n\t%v", i, op)
		}
	}
	c.replay(round.Full, nil)
	for _, l := range c.rec.Limits {
		full := l.Terminates // other quotas may leave no room for such pods
		for name, hard := range l.Hard {
			full = full || c.stored[l.Name][name] == hard
		}
		if !full {
			c.report("stuck", "round %d: %s could not be filled: %v of %v", i, l.Name, c.stored[l.Name], l.Hard)
		}
	}
	if r := round.Release; r == nil || r.Result != acked {
		c.report("stuck", "round %d: nothing could be created after something was deleted: %v", i, r)
	}
}

// room reports whether the quotas had room for a create when nobody else wrote.
func (c *quotaChecker) room(op *QuotaOp) bool {
	c.replay(op.Known, nil)
	for _, l := range c.rec.Limits {
		if l.Terminates && !op.Terminates {
			continue
		}
		for name, hard := range l.Hard {
			if asks := op.Asks[name]; asks > 0 && c.stored[l.Name][name]+asks > hard {
				return false
			}
		}
	}
	return true
}
