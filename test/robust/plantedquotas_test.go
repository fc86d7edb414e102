package robust

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// recordedQuotas is the record of a correct run: KEEP=1 DURATION=6s go test -run TestQuotas/pair
const recordedQuotas = "testdata/quotas.json.gz"

// plantedQuotas are the faults of quotas.
var plantedQuotas = []fault[*QuotaRecord]{
	{"one too many", "too much", func(rec *QuotaRecord, at func() bool) {
		peaks := newSums(rec.Limits)
		c := &quotaChecker{rec: rec}
		c.replay(forever, func(int64) {
			for quota, of := range c.stored {
				for name, n := range of {
					peaks[quota][name] = max(peaks[quota][name], n)
				}
			}
		})
		rec.limits(at, func(l *Limit, name string) { l.Hard[name] = peaks[l.Name][name] - 1 })
	}},
	{"more charged than is admitted", "too much", func(rec *QuotaRecord, at func() bool) {
		rec.accounts(at, func(*quotaChecker, *Account, string) bool { return true }, func(a *Account, name string) {
			for _, l := range rec.Limits {
				if l.Name == a.Name {
					a.Used[name] = l.Hard[name] + 1
				}
			}
		})
	}},
	{"not charged", "uncharged", func(rec *QuotaRecord, at func() bool) {
		exact := func(c *quotaChecker, a *Account, name string) bool {
			return a.Used[name] > 0 && a.Used[name] == c.stored[a.Name][name]
		}
		rec.accounts(at, exact, func(a *Account, name string) { a.Used[name]-- })
	}},
	{"stored before it was charged", "uncharged", func(rec *QuotaRecord, at func() bool) {
		c := &quotaChecker{rec: rec}
		var early []int
		c.replay(forever, func(rv int64) {
			i := slices.IndexFunc(rec.Events, func(e CountedEvent) bool { return e.RV == rv })
			if i >= 0 && rec.Events[i].Type == added && c.used["maps"].Used["count/configmaps"] == c.stored["maps"]["count/configmaps"] &&
				rec.Events[i].Kind == "configmaps" && c.used["maps"].RV > rec.Events[max(i-1, 0)].RV {
				early = append(early, i)
			}
		})
		for _, i := range early {
			if at() {
				rec.Events[i].RV -= 3 // before the charges to both quotas of config maps
				slices.SortFunc(rec.Events, func(a, b CountedEvent) int { return cmp.Compare(a.RV, b.RV) })
				return
			}
		}
	}},
	{"usage that stays wrong", "usage", func(rec *QuotaRecord, at func() bool) {
		for _, round := range rec.Rounds {
			c := &quotaChecker{rec: rec}
			c.replay(round.Right, nil)
			for _, l := range rec.Limits {
				if at() {
					for name := range l.Hard {
						c.used[l.Name].Used[name] += 1000
					}
					return
				}
			}
		}
	}},
	{"right only after two recounts", "usage", func(rec *QuotaRecord, at func() bool) {
		for _, round := range rec.Rounds {
			if at() {
				rec.Raises = []int64{round.Due + 1, round.Due + 1}
				return
			}
		}
	}},
	{"answered and not there", "answers", func(rec *QuotaRecord, at func() bool) {
		rec.ops(at, func(op *QuotaOp) bool { return op.Verb != get && op.Got != nil }, func(op *QuotaOp) {
			rec.Events = slices.DeleteFunc(rec.Events, func(e CountedEvent) bool { return e.RV == op.Got.RV })
		})
	}},
	{"answered as something else", "answers", func(rec *QuotaRecord, at func() bool) {
		rec.ops(at, func(op *QuotaOp) bool { return op.Verb == merge && op.Got != nil }, func(op *QuotaOp) { op.Got.Uses["pods"]++ })
	}},
	{"deleted and there", "answers", func(rec *QuotaRecord, at func() bool) {
		rec.ops(at, func(op *QuotaOp) bool { return op.Verb == remove && op.Result == acked }, func(op *QuotaOp) {
			rec.Events = slices.DeleteFunc(rec.Events, func(e CountedEvent) bool { return e.UID == op.UID && e.Type == deleted })
		})
	}},
	{"refused and created", "changes", func(rec *QuotaRecord, at func() bool) {
		rec.ops(at, func(op *QuotaOp) bool { return op.Verb == create && op.Result == acked }, func(op *QuotaOp) {
			op.Result, op.Got = invalid, nil
		})
	}},
	{"refused by numbers that have room", "refusals", func(rec *QuotaRecord, at func() bool) {
		rec.ops(at, (*QuotaOp).exceeded, func(op *QuotaOp) { op.Error = strings.ReplaceAll(op.Error, "=", "=1") })
	}},
	{"refused with room", "stuck", func(rec *QuotaRecord, at func() bool) {
		for _, round := range rec.Rounds {
			for _, op := range round.Fill {
				if op.Result == acked && at() {
					op.Result, op.Code, op.Error = refused, 403, "it is forbidden: exceeded quota: maps, "
					return
				}
			}
		}
	}},
	{"not filled", "stuck", func(rec *QuotaRecord, at func() bool) {
		for _, round := range rec.Rounds {
			if at() {
				round.Full = round.Right
				return
			}
		}
	}},
	{"nothing released", "stuck", func(rec *QuotaRecord, at func() bool) {
		for _, round := range rec.Rounds {
			if at() {
				round.Release.Result = refused
				return
			}
		}
	}},
	{"stored and not told", "history", func(rec *QuotaRecord, at func() bool) {
		for kind := range countedKinds {
			if at() {
				rec.Stored[kind]++
				return
			}
		}
	}},
}

// limits plants a fault into the limit of a name in a quota.
func (rec *QuotaRecord) limits(at func() bool, plant func(l *Limit, name string)) {
	for _, l := range rec.Limits {
		for name := range l.Hard {
			if at() {
				plant(l, name)
				return
			}
		}
	}
}

// accounts plants a fault into the used amounts of a quota, where fits returns true at that
// revision.
func (rec *QuotaRecord) accounts(at func() bool, fits func(c *quotaChecker, a *Account, name string) bool, plant func(a *Account, name string)) {
	type place struct {
		a    *Account
		name string
	}
	var places []place
	c, i := &quotaChecker{rec: rec}, 0
	c.replay(forever, func(rv int64) {
		for ; i < len(rec.Accounts) && rec.Accounts[i].RV <= rv; i++ {
			for name := range rec.Accounts[i].Used {
				if fits(c, rec.Accounts[i], name) {
					places = append(places, place{rec.Accounts[i], name})
				}
			}
		}
	})
	for _, p := range places {
		if at() {
			plant(p.a, p.name)
			return
		}
	}
}

// ops plants a fault into an operation that fits.
func (rec *QuotaRecord) ops(at func() bool, fits func(op *QuotaOp) bool, plant func(op *QuotaOp)) {
	for _, op := range slices.Clone(rec.Ops) {
		if fits(op) && at() {
			plant(op)
			return
		}
	}
}

// TestPlantedQuotas plants faults into the record of a run with quotas.
func TestPlantedQuotas(t *testing.T) {
	findPlanted(t, func(t *testing.T) *QuotaRecord {
		rec := &QuotaRecord{}
		if err := load(recordedQuotas, rec); err != nil {
			t.Fatal(err)
		}
		return rec
	}, CheckQuotas, plantedQuotas)
}
