package robust

import (
	"fmt"
	"net/http"
	"slices"
)

// CheckEvictions returns all violations in a record.
func CheckEvictions(rec *EvictionRecord) []Violation {
	var found []Violation
	for _, text := range rec.Trouble {
		found = append(found, Violation{"processes", text})
	}
	for i, r := range rec.Rounds {
		for _, v := range r.check(rec.Outages) {
			found = append(found, Violation{v.Check, fmt.Sprintf("budget %d: %s", i, v.Text)})
		}
	}
	return found
}

func (r *Round) check(outages []Outage) (found []Violation) {
	report := func(check, format string, args ...any) {
		found = append(found, Violation{check, fmt.Sprintf(format, args...)})
	}
	answered, asked, doubts := map[string]bool{}, map[string]bool{}, 0
	for i, op := range r.Ops {
		switch {
		case op.odd() && op.Code != http.StatusTooManyRequests, op.Other && op.Result == acked, op.Result == conflict && !op.Other,
			op.Result == exists, op.Result == invalid:
			report("answers", "an answer that is not possible here: %v", op)
		case op.DryRun || op.Other:
		case op.Result == acked:
			answered[op.Pod], asked[op.Pod] = true, true
		case op.Result == inDoubt:
			asked[op.Pod] = true
		}
		if !op.DryRun && op.doubtful(outages) || r.raced(i) { // it may have charged the budget without a refund
			doubts++
		}
	}
	if len(r.Gone) > r.Allowed {
		report("too many", "%d evicted, %d allowed", len(r.Gone), r.Allowed)
	}
	for pod := range answered {
		if !slices.Contains(r.Gone, pod) {
			report("answers", "%s was evicted, by the answer, and is there", pod)
		}
	}
	for _, pod := range r.Gone {
		if !asked[pod] {
			report("changes", "%s is gone, and nobody evicted it", pod)
		}
		if !slices.Contains(r.Disrupted, pod) {
			report("budget", "%s is gone, and the budget does not say so", pod)
		}
	}
	taken := r.Allowed - r.Left
	switch {
	case r.Left != 0:
		report("budget", "%d disruptions are allowed after evictions were refused", r.Left)
	case taken < len(r.Gone):
		report("budget", "%d evicted, but only %d taken from the budget", len(r.Gone), taken)
	case taken > len(r.Gone)+doubts:
		report("leaks", "%d taken from the budget, %d evicted, at most %d taken for nothing", taken, len(r.Gone), doubts)
	}
	return found
}

// raced reports whether an answered eviction may have found its pod gone after it charged the
// budget, because another eviction of that pod was under way.
func (r *Round) raced(i int) bool {
	op := r.Ops[i]
	return !op.DryRun && (op.Result == acked || op.Result == notFound) && slices.ContainsFunc(r.Ops[:i], func(o *EvictOp) bool {
		return o.Pod == op.Pod && !o.DryRun && o.Result != refused && o.Return > op.Call
	})
}
