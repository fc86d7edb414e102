package plugins

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/admission"
)

// idle is a plugin that handles all writes and does nothing, as most plugins do for most writes.
type idle struct{}

func (idle) Name() string                                          { return "Idle" }
func (idle) Handles(admission.Operation) bool                      { return true }
func (idle) Mutate(context.Context, *admission.Attributes) error   { return nil }
func (idle) Validate(context.Context, *admission.Attributes) error { return nil }

// idlers returns a chain of twenty idle plugins, with the metrics of a server.
func idlers(tb testing.TB) admission.Chain {
	tb.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		tb.Fatal(err)
	}
	var c admission.Chain
	for range 20 {
		c = append(c, idle{})
	}
	return c.WithObserver(m.observer)
}

// TestMetricsAllocations checks that the metrics of admission allocate nothing.
func TestMetricsAllocations(t *testing.T) {
	c, a := idlers(t), &admission.Attributes{Operation: admission.Update}
	got := testing.AllocsPerRun(100, func() {
		if c.Mutate(t.Context(), a) != nil || c.Validate(t.Context(), a) != nil {
			t.Error("a plugin refused the write")
		}
	})
	if got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// BenchmarkMetrics measures what the metrics cost a write that twenty plugins mutate.
func BenchmarkMetrics(b *testing.B) {
	c, a := idlers(b), &admission.Attributes{Operation: admission.Create}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Mutate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
