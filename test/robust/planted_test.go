package robust

import (
	"slices"
	"testing"
	"time"
)

// recorded is the record of one second of two servers, in which the checks find nothing: KEEP=1
// DURATION=1s go test -run TestRobust/pair
const recorded = "testdata/record.json.gz"

// planter plants one fault into a record, at the place for which at returns true.
type planter struct {
	rec  *Record
	hist *history
	at   func() bool // asked at each place where the fault can be
}

// ops plants a fault into an operation.
func (p *planter) ops(fits func(op *Op) bool, plant func(op *Op)) {
	for _, op := range slices.Clone(p.rec.Ops) {
		if fits(op) && p.at() {
			plant(op)
		}
	}
}

// items plants a fault into an item of a list.
func (p *planter) items(fits func(o *Object) bool, plant func(item **Object)) {
	for _, op := range p.rec.Ops {
		for _, page := range op.Pages {
			for i := range page.Items {
				if fits(page.Items[i]) && p.at() {
					plant(&page.Items[i])
				}
			}
		}
	}
}

// events plants a fault into an event of an object that comes after the initial state and is not
// the last.
func (p *planter) events(fits func(s *Session, e *Event) bool, plant func(s *Session, i int)) {
	for _, s := range p.rec.Sessions {
		for i := len(s.Events) - len(s.live()); i < len(s.Events)-1; i++ {
			if s.Events[i].Object != nil && s.Events[i+1].Object != nil && fits(s, &s.Events[i]) && p.at() {
				plant(s, i)
			}
		}
	}
}

func anyObject(*Object) bool         { return true }
func anyEvent(*Session, *Event) bool { return true }
func written(op *Op) bool            { return op.changes() && op.Result == acked }
func deletion(s *Session, e *Event) bool {
	return e.Type == deleted && s.Scope.Selector == 0
}

// before returns the state before the shown one, if a client had seen the shown one before t.
func (p *planter) before(o *Object, t time.Duration) *Object {
	if c := p.hist.changes[o.RV]; c != nil && p.hist.first[o.V] < t {
		return c.before
	}
	return nil
}

// planted are the faults, each with the check that has to find it.
var planted = []struct {
	name, check string
	plant       func(p *planter)
}{
	{"lost write", "reads", func(p *planter) {
		p.ops(written, func(op *Op) {
			for _, s := range p.rec.Sessions {
				s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Object != nil && e.RV == op.Object.RV })
			}
		})
	}},
	{"lost job", "linearizability", func(p *planter) {
		p.ops(func(op *Op) bool { return op.Verb == remove && op.Result == acked && op.Client == controllerID }, func(op *Op) {
			op.Verb, op.Result, op.PreRV, op.PreUID = get, notFound, 0, ""
		})
	}},
	{"job that was shown answered 404", "linearizability", func(p *planter) {
		p.ops(func(op *Op) bool { return op.Client == controllerID && op.Result == acked }, func(op *Op) {
			op.Result, op.Object, op.UID = notFound, nil, ""
		})
	}},
	{"write without effect", "linearizability", func(p *planter) {
		p.ops(func(op *Op) bool { return op.Result == exists }, func(op *Op) {
			op.Result = acked
			op.Object = &Object{Key: op.Key, UID: "new", RV: p.hist.known(op.Return) + 1, V: op.V, Base: op.V, Color: op.Color, Typed: true}
		})
	}},
	{"stale read", "linearizability", func(p *planter) {
		p.ops(func(op *Op) bool {
			return op.Verb == get && op.Match == "" && op.Object != nil && p.before(op.Object, op.Call) != nil
		}, func(op *Op) { op.Object = p.before(op.Object, op.Call) })
	}},
	{"stale list", "lists", func(p *planter) {
		p.ops(func(op *Op) bool {
			return op.Verb == list && op.Match == "" && len(op.Pages) == 1 && op.Pages[0].RV > p.rec.Start
		}, func(op *Op) {
			op.Pages[0] = Page{RV: p.rec.Start}
		})
	}},
	{"torn list", "lists", func(p *planter) {
		p.items(func(o *Object) bool { return p.before(o, never) != nil }, func(item **Object) { *item = p.before(*item, never) })
	}},
	{"kind in a list", "answers", func(p *planter) { p.items(anyObject, func(item **Object) { (*item).Typed = true }) }},
	{"wrong content", "reads", func(p *planter) { p.ops(written, func(op *Op) { op.Object.Hash++ }) }},
	{"revision of the past", "order", func(p *planter) {
		p.ops(written, func(op *Op) { op.Call, op.Return = op.Call+time.Minute, op.Return+time.Minute })
	}},
	{"phantom", "changes", func(p *planter) {
		p.ops(written, func(op *Op) { p.rec.Ops = slices.DeleteFunc(p.rec.Ops, func(o *Op) bool { return o == op }) })
	}},
	{"refused but done", "changes", func(p *planter) {
		p.ops(written, func(op *Op) { op.Result, op.Object = conflict, nil })
	}},
	{"revision at which nothing changes", "changes", func(p *planter) {
		p.ops(func(op *Op) bool { return op.Noop && op.Result == acked }, func(op *Op) { op.Object.RV++ })
	}},
	{"gap", "watches", func(p *planter) {
		p.events(anyEvent, func(s *Session, i int) { s.Events = slices.Delete(s.Events, i, i+1) })
	}},
	{"duplicated event", "watches", func(p *planter) {
		p.events(anyEvent, func(s *Session, i int) { s.Events = slices.Insert(s.Events, i, s.Events[i]) })
	}},
	{"reordered events", "watches", func(p *planter) {
		p.events(anyEvent, func(s *Session, i int) { s.Events[i], s.Events[i+1] = s.Events[i+1], s.Events[i] })
	}},
	{"early bookmark", "watches", func(p *planter) {
		p.events(anyEvent, func(s *Session, i int) {
			s.Events = slices.Insert(s.Events, i, Event{Time: s.Events[i].Time, Type: bookmark, RV: s.Events[i].RV})
		})
	}},
	{"wrong type", "watches", func(p *planter) { p.events(deletion, func(s *Session, i int) { s.Events[i].Type = modified }) }},
	{"wrong DELETED state", "watches", func(p *planter) {
		p.events(func(s *Session, e *Event) bool {
			return deletion(s, e) && p.before(p.hist.changes[e.RV].before, never) != nil
		}, func(s *Session, i int) {
			e := &s.Events[i]
			old := *p.before(p.hist.changes[e.RV].before, never)
			old.RV = e.RV
			e.Object = &old
		})
	}},
	{"initial state without an object", "lists", func(p *planter) {
		for _, s := range p.rec.Sessions {
			if s.initial() > 0 && p.at() {
				s.Events = s.Events[1:]
			}
		}
	}},
	{"history gone", "watches", func(p *planter) {
		for _, s := range p.rec.Sessions {
			if s.From > 0 && p.at() {
				s.Events = append(s.Events, Event{Type: failed, Code: 410})
			}
		}
	}},
}

// TestPlanted plants faults into the record of a correct run.
func TestPlanted(t *testing.T) {
	var faults []fault[*planter]
	for _, tt := range planted {
		faults = append(faults, fault[*planter]{tt.name, tt.check, func(p *planter, at func() bool) {
			p.at = at
			tt.plant(p)
		}})
	}
	findPlanted(t, recording, func(p *planter) []Violation { return Check(p.rec) }, faults)
}

func recording(t *testing.T) *planter {
	t.Helper()
	rec := &Record{}
	if err := load(recorded, rec); err != nil {
		t.Fatal(err)
	}
	return &planter{rec: rec, hist: newHistory(rec, func(check, format string, args ...any) { t.Errorf(format, args...) })}
}

// fault is a fault that can be planted into a record, and the check that has to find it. plant asks
// at at each possible place, and plants the fault where at returns true.
type fault[R any] struct {
	name, check string
	plant       func(rec R, at func() bool)
}

// findPlanted plants each fault at many places of a correct record, and wants the check to find
// each.
func findPlanted[R any](t *testing.T, fresh func(*testing.T) R, check func(R) []Violation, faults []fault[R]) {
	t.Parallel()
	report(t, check(fresh(t)))
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			count := 0
			tt.plant(fresh(t), func() bool { count++; return false })
			if count == 0 {
				t.Fatal("the recording has no place for it")
			}
			for place := 0; place < count; place += max(count/8, 1) {
				rec, i := fresh(t), 0
				tt.plant(rec, func() bool { i++; return i-1 == place })
				if found := check(rec); !slices.ContainsFunc(found, func(v Violation) bool { return v.Check == tt.check }) {
					t.Errorf("not found at place %d of %d, but %v", place, count, found)
				}
			}
		})
	}
}
