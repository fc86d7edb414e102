package backend

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has what the tests share: events, stores that fail as told, and readers of files.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var longAgo = time.Date(2026, 7, 1, 12, 0, 0, 123456000, time.UTC)

// eventOf returns an event at level Metadata as a real request makes it. id is its audit id.
func eventOf(id string) *audit.Event {
	return &audit.Event{
		Level: audit.Metadata, Stage: audit.ResponseComplete, AuditID: id, Verb: "get",
		RequestURI: "/api/v1/namespaces/shop/configmaps/prices",
		User:       &request.User{Name: "system:serviceaccount:shop:web", Groups: []string{"system:serviceaccounts", "system:authenticated"}},
		SourceIPs:  []string{"10.0.0.7"}, UserAgent: "web/1.0",
		Object:      &audit.Reference{Resource: "configmaps", Namespace: "shop", Name: "prices", APIVersion: "v1"},
		Status:      &meta.Status{Code: 200},
		Received:    longAgo,
		Time:        longAgo.Add(time.Millisecond),
		Annotations: map[string]string{"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "RBAC: allowed"},
	}
}

// eventsOf returns n events, whose ids are prefix and a number.
func eventsOf(prefix string, n int) []*audit.Event {
	events := make([]*audit.Event, n)
	for i := range events {
		events[i] = eventOf(fmt.Sprint(prefix, i))
	}
	return events
}

// idsOf returns the audit ids of events.
func idsOf(events []*audit.Event) []string {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.AuditID
	}
	return ids
}

// gauges are the metrics and the log of a test.
type gauges struct {
	t       *testing.T
	metrics *Metrics
	lines   *observer.ObservedLogs
	logger  *zap.Logger
}

func newGauges(t *testing.T) *gauges {
	t.Helper()
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	core, lines := observer.New(zapcore.DebugLevel)
	return &gauges{t, m, lines, zap.New(core)}
}

// config returns a Config without stores.
func (g *gauges) config() Config {
	return Config{Log: DefaultLog(), Webhook: DefaultWebhook(), Metrics: g.metrics, Logger: g.logger}
}

func (g *gauges) failures(plugin string) *failures {
	c := g.config()
	return newFailures(plugin, &c)
}

// errors returns the number of errors of a plugin.
func (g *gauges) errors(plugin string) int {
	var m dto.Metric
	if err := g.metrics.errors.WithLabelValues(plugin).Write(&m); err != nil {
		g.t.Fatal(err)
	}
	return int(m.Counter.GetValue())
}

// want fails the test if the number of errors of a plugin is not want.
func (g *gauges) want(plugin string, want int) {
	g.t.Helper()
	if got := g.errors(plugin); got != want {
		g.t.Errorf("errors of plugin %s: got %d, want %d", plugin, got, want)
	}
}

// fake is a store of a test. It keeps the batches that it gets.
type fake struct {
	mu      sync.Mutex
	batches [][]string    // audit ids
	times   []time.Time   // of the calls
	calls   int           // that run now
	highest int           // number of calls that ran at once
	fail    error         // of each call
	hold    chan struct{} // if set, calls wait until it is closed or ctx ends
	closed  bool
}

func (f *fake) deliver(ctx context.Context, events []*audit.Event) (int, error) {
	f.mu.Lock()
	f.times = append(f.times, time.Now())
	f.calls++
	f.highest = max(f.highest, f.calls)
	f.mu.Unlock()
	err := f.fail
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls--
	if f.closed {
		err = errors.New("delivery to a closed store")
	}
	if err != nil {
		return len(events), err
	}
	f.batches = append(f.batches, idsOf(events))
	return 0, nil
}

func (f *fake) close(context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// ids returns the audit ids of all events, in the order of their delivery.
func (f *fake) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.batches...)
}

// sizes returns the sizes of the batches, in the order of their delivery.
func (f *fake) sizes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sizes []int
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

// idsIn returns the audit ids in the JSON lines of files, sorted. Every line must be an event.
func idsIn(t *testing.T, files ...string) []string {
	t.Helper()
	var ids []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 0 && data[len(data)-1] != '\n' {
			t.Errorf("%s does not end with a newline", file)
		}
		for lines := bufio.NewReader(bytes.NewReader(data)); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			var e struct{ Kind, AuditID string }
			if err := json.Unmarshal(line, &e); err != nil || e.Kind != "Event" {
				t.Fatalf("%s: %v in the line %.80q", file, err, line)
			}
			ids = append(ids, e.AuditID)
		}
	}
	slices.Sort(ids)
	return ids
}

// filesIn returns the files of a folder.
func filesIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// once fails the test unless got and want, as sets, are equal and got has nothing twice.
func once(t *testing.T, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	for i := 1; i < len(got); i++ {
		if got[i] == got[i-1] {
			t.Errorf("event %s is there more than once", got[i])
		}
	}
	if !slices.Equal(got, want) {
		missing := slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(got, id) })
		t.Errorf("got %d events, want %d; missing: %s", len(got), len(want), strings.Join(missing[:min(len(missing), 5)], " "))
	}
}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// zapPlugin is the field of a line that names its plugin.
func zapPlugin(plugin string) zap.Field { return zap.String("plugin", plugin) }
