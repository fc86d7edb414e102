package backend

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/coracle-project/coracle/filters/audit"
)

// sender sends events until the backends have been closed for a while.
type sender struct {
	sent     int
	promised []string // ids of events that must be stored
}

// run sends events whose ids begin with name. An event is promised if Process returned before
// closing, or if the mode is blocking-strict and Process did not report a failure.
func (s *sender) run(b *Backends, name, mode string, closing, closed <-chan struct{}, warm *sync.WaitGroup) {
	for after := 0; after < 20; s.sent++ {
		e := eventOf(fmt.Sprint(name, s.sent))
		e.Stage = audit.RequestReceived
		stored := b.Process(e)
		select {
		case <-closing:
			stored = stored && mode == ModeBlockingStrict
		default:
		}
		if stored {
			s.promised = append(s.promised, e.AuditID)
		}
		select {
		case <-closed:
			after++
		default:
		}
		if s.sent == 50 {
			warm.Done()
		}
	}
}

// TestCloseUnderLoad closes the backends while requests are running. Every promised event is
// stored, each once, and every other event is stored once or counted.
func TestCloseUnderLoad(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			g, r := newGauges(t), newReceiver(t)
			s := httptest.NewServer(r)
			defer s.Close()
			c := g.hookAt(s.URL)
			c.Log.Path = filepath.Join(t.TempDir(), "audit.log")
			c.Log.Mode, c.Webhook.Mode = mode, mode
			c.Log.Batch.Buffer, c.Webhook.Batch.Buffer = 1<<20, 1<<20
			b := g.open(c)
			closing, closed := make(chan struct{}), make(chan struct{})
			var sending, warm sync.WaitGroup
			senders := make([]sender, 4)
			warm.Add(len(senders))
			for i := range senders {
				sending.Go(func() { senders[i].run(b, fmt.Sprint(i, "-"), mode, closing, closed, &warm) })
			}
			warm.Wait()
			close(closing)
			b.Close(t.Context())
			close(closed)
			logged, posted := idsIn(t, c.Log.Path), r.got()
			sending.Wait()
			once(t, idsIn(t, c.Log.Path), logged) // nothing was written after Close
			once(t, r.got(), posted)
			lost := -len(logged) - len(posted)
			for i := range senders {
				lost += 2 * senders[i].sent
				for name, stored := range map[string][]string{logName: logged, webhookName: posted} {
					slices.Sort(stored)
					for _, id := range senders[i].promised {
						if _, is := slices.BinarySearch(stored, id); !is {
							t.Errorf("%s: the event %s is missing", name, id)
						}
					}
				}
			}
			if got := g.errors(logName) + g.errors(webhookName) + g.errors(bufferedName); got != lost || lost == 0 {
				t.Errorf("%d events are not stored, and %d are counted; want some, and as many", lost, got)
			}
		})
	}
}

// TestUnion wants each event in both stores, and a failure of either to refuse the request.
func TestUnion(t *testing.T) {
	g := newGauges(t)
	for _, fail := range []struct {
		log, webhook bool
	}{{false, false}, {true, false}, {false, true}} {
		r := newReceiver(t)
		s := httptest.NewServer(r)
		c := g.hookAt(s.URL)
		c.Log.Mode, c.Webhook.Mode = ModeBlockingStrict, ModeBlockingStrict
		c.Log.Path = filepath.Join(t.TempDir(), "audit.log")
		if fail.log {
			c.Log.Path = "/dev/full"
		}
		if fail.webhook {
			r.refuse = func(int) int { return 500 }
		}
		b := g.open(c)
		e := eventOf("e")
		e.Stage = audit.RequestReceived
		if got := b.Process(e); got != (!fail.log && !fail.webhook) {
			t.Errorf("%+v: got %v", fail, got)
		}
		b.Close(t.Context())
		s.Close()
		if !fail.webhook {
			once(t, r.got(), []string{"e"})
		}
		if !fail.log {
			once(t, idsIn(t, c.Log.Path), []string{"e"})
		}
	}
}

// TestTruncateIsWired wants a truncating backend to keep its bounds, and one that is not to keep
// the event.
func TestTruncateIsWired(t *testing.T) {
	for _, on := range []bool{false, true} {
		g := newGauges(t)
		c := g.logTo()
		c.Log.Truncate.Enabled = on
		b := g.open(c)
		b.Process(sized("e", 200<<10))
		large := eventOf("large")
		large.UserAgent = strings.Repeat("x", 200<<10)
		b.Process(large)
		b.Close(t.Context())
		want := []string{"e", "large"}
		if on {
			want = want[:1]
			g.want(truncateName, 1)
		}
		once(t, idsIn(t, c.Log.Path), want)
	}
}

func TestNothingConfigured(t *testing.T) {
	g := newGauges(t)
	b := g.open(g.config())
	e := eventOf("e")
	e.Stage = audit.RequestReceived
	if !b.Process(e) {
		t.Error("an event that no store wants refuses the request")
	}
	b.Close(t.Context())
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	m.Event()
	m.Event()
	m.Rejected()
	m.Level(audit.None)
	m.Level(audit.RequestResponse)
	m.Level(audit.RequestResponse)
	m.errors.WithLabelValues(logName).Inc()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, one := range f.Metric {
			labels := ""
			for _, l := range one.Label {
				labels += l.GetName() + "=" + l.GetValue()
			}
			got = append(got, fmt.Sprint(f.GetName(), "{", labels, "} ", one.Counter.GetValue()))
		}
	}
	want := []string{
		"apiserver_audit_error_total{plugin=log} 1", "apiserver_audit_event_total{} 2",
		"apiserver_audit_level_total{level=None} 1", "apiserver_audit_level_total{level=RequestResponse} 2",
		"apiserver_audit_requests_rejected_total{} 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v (%v)", problems, err)
	}
	if _, err := NewMetrics(reg); err == nil {
		t.Error("the metrics were registered twice")
	}
	if n := testing.AllocsPerRun(100, func() { m.Event(); m.Level(audit.None) }); n > 0 {
		t.Errorf("counting an event allocates %v times", n)
	}
}
