package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// table collects results by scenario and target.
type table struct {
	targets []string
	base    int // the target to which ratios are
	order   []string
	results map[string][][]*result // by scenario and target, one for each round
	memory  []int64                // bytes, by target
}

func newTable(targets []string, base int) *table {
	return &table{targets: targets, base: base, results: map[string][][]*result{}, memory: make([]int64, len(targets))}
}

func (t *table) add(scenario string, target int, r *result) {
	if t.results[scenario] == nil {
		t.results[scenario] = make([][]*result, len(t.targets))
		t.order = append(t.order, scenario)
	}
	t.results[scenario][target] = append(t.results[scenario][target], r)
}

// print writes one line for each scenario: each target's rate, median latency and CPU for an
// operation, then how much more CPU it takes than the base. If the CPU is not known, the ratio is
// of latencies.
func (t *table) print(out io.Writer, protocol string) {
	if len(t.order) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out)
	head := []string{"HTTP/" + protocol}
	for _, name := range t.targets {
		head = append(head, name+" op/s", "p50", "p99", "CPU/op")
	}
	for i, name := range t.targets {
		if i != t.base {
			head = append(head, name+":"+t.targets[t.base])
		}
	}
	fmt.Fprintln(w, strings.Join(head, "\t")+"\t")
	for _, scenario := range t.order {
		fmt.Fprintln(w, strings.Join(t.row(scenario), "\t")+"\t")
	}
	w.Flush()
	for i, name := range t.targets {
		if t.memory[i] > 0 {
			fmt.Fprintf(out, "%s: %d MiB resident at most\n", name, t.memory[i]>>20)
		}
	}
}

func (t *table) row(scenario string) []string {
	cells := []string{scenario}
	medians := make([]*result, len(t.targets))
	for i, rs := range t.results[scenario] {
		if len(rs) == 0 {
			cells = append(cells, "-", "-", "-", "-")
			continue
		}
		r := median(rs)
		medians[i] = r
		cells = append(cells, fmt.Sprintf("%.0f", r.rate()), r.percentile(.5).Round(time.Microsecond).String(),
			r.percentile(.99).Round(time.Microsecond).String(), r.perOp().Round(100*time.Nanosecond).String())
	}
	for i, r := range medians {
		if i != t.base {
			cells = append(cells, ratio(r, medians[t.base]))
		}
	}
	return cells
}

func ratio(r, base *result) string {
	switch {
	case r == nil || base == nil:
		return "-"
	case r.perOp() > 0 && base.perOp() > 0:
		return fmt.Sprintf("%.2f", float64(r.perOp())/float64(base.perOp()))
	}
	return fmt.Sprintf("(%.2f)", base.rate()/r.rate())
}
