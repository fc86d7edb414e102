package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/server/controller"
)

// shownQueues returns the metrics of queues: a line for each series, sorted, without the prefix
// workqueue_. A histogram shows how many values it has, and their sum.
func shownQueues(t *testing.T, reg prometheus.Gatherer) (lines []string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			line := strings.TrimPrefix(f.GetName(), "workqueue_") + " " + m.Label[0].GetValue() + " "
			switch h := m.Histogram; {
			case h != nil:
				line += fmt.Sprint(h.GetSampleCount(), " in ", h.GetSampleSum())
			default:
				line += fmt.Sprint(m.GetCounter().GetValue() + m.GetGauge().GetValue())
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestQueues: a loop counts what its queue does. The work on "a" takes two seconds and fails once.
// Meanwhile "b" waits for the only worker.
func TestQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		queues, err := controller.NewQueues(reg)
		if err != nil {
			t.Fatal(err)
		}
		shows := func(when string, want ...string) {
			t.Helper()
			if got := shownQueues(t, reg); !slices.Equal(got, want) {
				t.Errorf("%s: got\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		ctx, cancel := context.WithCancel(controller.WithQueues(t.Context(), queues))
		failed := false
		loop := controller.Loop{
			Name: "boats",
			Source: func(ctx context.Context, add func(controller.Name), _ func(error)) {
				time.Sleep(time.Second)
				add(controller.Name{Name: "a"})
				add(controller.Name{Name: "a"}) // it is due already
				time.Sleep(time.Second)
				add(controller.Name{Name: "b"})
				<-ctx.Done()
			},
			Reconcile: func(_ context.Context, name controller.Name) (time.Duration, error) {
				if name.Name == "b" {
					return 0, nil
				}
				time.Sleep(2 * time.Second)
				if !failed {
					failed = true
					return 0, errors.New("once")
				}
				return 0, nil
			},
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			loop.Run(ctx)
		}()
		synctest.Wait()
		shows("before the first name")
		time.Sleep(2500 * time.Millisecond)
		shows("during the work", "adds_total boats 2", "depth boats 1", "longest_running_processor_seconds boats 1.5",
			"queue_duration_seconds boats 1 in 0", "retries_total boats 0", "unfinished_work_seconds boats 1.5",
			"work_duration_seconds boats 0 in 0")
		time.Sleep(10 * time.Second)
		after := []string{"queue_duration_seconds boats 3 in 1", "retries_total boats 1"}
		shows("after the work", "adds_total boats 3", "depth boats 0", "longest_running_processor_seconds boats 0",
			after[0], after[1], "unfinished_work_seconds boats 0", "work_duration_seconds boats 3 in 4")
		cancel()
		<-ended
		shows("after the loop", "adds_total boats 3", after[0], after[1], "work_duration_seconds boats 3 in 4")
	})
}
