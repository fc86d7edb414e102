package robust

import (
	"slices"
	"testing"
)

// recordedEvictions is the record of a correct run: KEEP=1 go test -run TestEvictions
const recordedEvictions = "testdata/evictions.json.gz"

// plantedEvictions are the faults of evictions.
var plantedEvictions = []fault[*EvictionRecord]{
	{"one too many", "too many", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) {
			for _, pod := range r.Pods {
				if len(r.Gone) <= r.Allowed && !slices.Contains(r.Gone, pod) {
					r.evicted(pod)
				}
			}
		})
	}},
	{"answered and there", "answers", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) {
			i := slices.IndexFunc(r.Ops, func(op *EvictOp) bool { return op.Result == acked && !op.DryRun })
			r.Gone = slices.DeleteFunc(r.Gone, func(pod string) bool { return pod == r.Ops[i].Pod })
		})
	}},
	{"other pod than was meant", "answers", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) {
			i := slices.IndexFunc(r.Ops, func(op *EvictOp) bool { return op.Other && op.Result == conflict })
			r.Ops[i].Result = acked
		})
	}},
	{"gone by a dry run", "changes", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) {
			pod := r.Gone[0]
			for _, op := range r.Ops {
				op.DryRun = op.DryRun || op.Pod == pod
			}
		})
	}},
	{"gone without the budget", "budget", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) {
			r.Disrupted = slices.DeleteFunc(r.Disrupted, func(pod string) bool { return pod == r.Gone[0] })
		})
	}},
	{"refused too early", "budget", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) { r.Left++ })
	}},
	{"not taken from the budget", "budget", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) { r.Left = -1; r.Allowed = len(r.Gone) - 2 })
	}},
	{"taken for nothing", "leaks", func(rec *EvictionRecord, at func() bool) {
		rec.rounds(at, func(r *Round) {
			for r.check(nil) == nil {
				pod := r.Gone[0]
				r.Gone = r.Gone[1:]
				r.Ops = slices.DeleteFunc(r.Ops, func(op *EvictOp) bool { return op.Pod == pod })
			}
		})
	}},
}

// rounds plants a fault into a round.
func (rec *EvictionRecord) rounds(at func() bool, plant func(r *Round)) {
	for _, r := range rec.Rounds {
		if at() {
			plant(r)
			return
		}
	}
}

// evicted adds the correct eviction of a pod.
func (r *Round) evicted(pod string) {
	r.Gone, r.Disrupted = append(r.Gone, pod), append(r.Disrupted, pod)
	r.Ops = append(r.Ops, &EvictOp{Try: Try{Result: acked, Code: 201}, Pod: pod})
}

// TestPlantedEvictions plants faults into the record of a run with evictions.
func TestPlantedEvictions(t *testing.T) {
	findPlanted(t, func(t *testing.T) *EvictionRecord {
		rec := &EvictionRecord{}
		if err := load(recordedEvictions, rec); err != nil {
			t.Fatal(err)
		}
		return rec
	}, CheckEvictions, plantedEvictions)
}
