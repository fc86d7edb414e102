package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
)

// receiver is a webhook of a test. It keeps what it accepts.
type receiver struct {
	t       *testing.T
	mu      sync.Mutex
	ids     []string
	sizes   []int         // of the bodies, in bytes
	calls   int           // all calls, the refused ones, too
	refuse  func(int) int // status of the call with a number, from 1; nil: 200
	arrived chan struct{} // gets a value for each call, if there is room
	hold    chan struct{} // if set, calls wait until it is closed or the client has gone
}

func newReceiver(t *testing.T) *receiver {
	return &receiver{t: t, arrived: make(chan struct{}, 1000)}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client has gone
	}
	r.mu.Lock()
	r.calls++
	status := http.StatusOK
	if r.refuse != nil {
		status = r.refuse(r.calls)
	}
	hold := r.hold
	r.mu.Unlock()
	select {
	case r.arrived <- struct{}{}:
	default:
	}
	if hold != nil {
		select {
		case <-hold:
		case <-req.Context().Done():
			return
		}
	}
	w.WriteHeader(status)
	if status == http.StatusOK {
		r.accept(req, body)
	}
}

// accept checks and keeps an EventList.
func (r *receiver) accept(req *http.Request, body []byte) {
	var list struct {
		Kind, APIVersion string
		Items            []struct{ AuditID, Kind string }
	}
	err := json.Unmarshal(body, &list)
	if err != nil || list.Kind != "EventList" || list.APIVersion != V1 || len(list.Items) == 0 || list.Items[0].Kind != "" {
		r.t.Errorf("got the list %s %s with %d items (%v)", list.APIVersion, list.Kind, len(list.Items), err)
	}
	if req.Method != http.MethodPost || req.URL.Path != "/audit" || req.Header.Get("Content-Type") != "application/json" {
		r.t.Errorf("got %s %s with content type %s", req.Method, req.URL.Path, req.Header.Get("Content-Type"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sizes = append(r.sizes, len(body))
	for _, e := range list.Items {
		r.ids = append(r.ids, e.AuditID)
	}
}

// got returns the audit ids of what has been accepted.
func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// wait waits for n calls.
func (r *receiver) wait(n int) {
	r.t.Helper()
	late := time.After(time.Minute)
	for range n {
		select {
		case <-r.arrived:
		case <-late:
			r.t.Fatal("the webhook was not called")
		}
	}
}

// hookAt returns the configuration of a webhook at an address, with short pauses.
func (g *gauges) hookAt(url string) Config {
	g.t.Helper()
	return hookConfig(g.t, g.config(), url)
}

// hookConfig returns c with a webhook at an address.
func hookConfig(tb testing.TB, c Config, url string) Config {
	c.Webhook.Kubeconfig = filepath.Join(tb.TempDir(), "kubeconfig")
	c.Webhook.InitialBackoff = time.Millisecond
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":%q}}]}`, url+"/audit")
	if err := os.WriteFile(c.Webhook.Kubeconfig, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestWebhook(t *testing.T) {
	for _, mode := range modes {
		g, r := newGauges(t), newReceiver(t)
		s := httptest.NewServer(r)
		c := g.hookAt(s.URL)
		c.Webhook.Mode, c.Webhook.Batch.Size = mode, 10
		b := g.open(c)
		events := eventsOf("e", 25)
		for i, e := range events {
			if !b.Process(e) {
				t.Errorf("mode %s: event %d was not stored", mode, i)
			}
		}
		calls := 25
		if mode == ModeBatch {
			calls = 3
		} else {
			once(t, r.got(), idsOf(events)) // before close
		}
		b.Close(t.Context())
		s.Close()
		once(t, r.got(), idsOf(events))
		if r.calls != calls {
			t.Errorf("mode %s: got %d calls, want %d", mode, r.calls, calls)
		}
		g.want(webhookName, 0)
	}
}

func TestUnusableKubeconfig(t *testing.T) {
	g := newGauges(t)
	c := g.hookAt("ftp://somewhere")
	if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), "initializing audit webhook: ") {
		t.Errorf("New with a wrong address: got %v", err)
	}
	c.Webhook.Kubeconfig += ".absent"
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("New without a kubeconfig: got %v", err)
	}
}

// deadAddress returns an address at which nobody listens.
func deadAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestDeadWebhook wants a webhook that is not there to cost the events, and no request its time.
func TestDeadWebhook(t *testing.T) {
	for _, mode := range modes {
		g := newGauges(t)
		c := g.hookAt("http://" + deadAddress(t))
		c.Webhook.Mode, c.Webhook.Batch.Size = mode, 5
		b := g.open(c)
		for i, e := range eventsOf("e", 10) {
			e.Stage = audit.RequestReceived
			if got, want := b.Process(e), mode != ModeBlockingStrict; got != want {
				t.Errorf("mode %s, event %d: got %v, want %v", mode, i, got, want)
			}
		}
		b.Close(t.Context())
		g.want(webhookName, 10)
		g.want(bufferedName, 0)
	}
}

// TestDeadWebhookFillsBuffer wants the events that find no room to be dropped at once, however long
// the webhook is tried.
func TestDeadWebhookFillsBuffer(t *testing.T) {
	g := newGauges(t)
	c := g.hookAt("http://" + deadAddress(t))
	c.Webhook.InitialBackoff = time.Hour
	c.Webhook.Batch = Batch{Buffer: 100, Size: 10, Wait: time.Millisecond}
	b := g.open(c)
	const sent = 1000
	for _, e := range eventsOf("e", sent) {
		b.Process(e)
	}
	dropped := g.errors(bufferedName)
	if dropped < sent-200 {
		t.Errorf("got %d dropped events of %d, want all but the 200 that the buffer and the calls hold", dropped, sent)
	}
	b.Close(ended(t))
	if got := g.errors(bufferedName) + g.errors(webhookName); got != sent {
		t.Errorf("got %d errors for %d events", got, sent)
	}
}

// TestWebhookIsRetried wants a call to be tried again after any failure, and five times at most.
func TestWebhookIsRetried(t *testing.T) {
	for _, tt := range []struct {
		status, failures int
		lost             int
	}{
		{http.StatusBadRequest, 4, 0}, {http.StatusNotFound, 1, 0}, {http.StatusInternalServerError, 4, 0},
		{http.StatusTooManyRequests, 2, 0}, {http.StatusMovedPermanently, 4, 0}, {http.StatusBadRequest, 5, 1},
	} {
		g, r := newGauges(t), newReceiver(t)
		r.refuse = func(call int) int {
			if call <= tt.failures {
				return tt.status
			}
			return http.StatusOK
		}
		s := httptest.NewServer(r)
		c := g.hookAt(s.URL)
		c.Webhook.Mode = ModeBlocking
		b := g.open(c)
		b.Process(eventOf("e"))
		b.Close(t.Context())
		s.Close()
		if len(r.got()) != 1-tt.lost || r.calls != min(tt.failures+1, 5) {
			t.Errorf("%d times status %d: got %d events in %d calls", tt.failures, tt.status, len(r.got()), r.calls)
		}
		g.want(webhookName, tt.lost)
	}
}

// TestSlowWebhook wants several calls to be under way at once, and none to block a request.
func TestSlowWebhook(t *testing.T) {
	g, r := newGauges(t), newReceiver(t)
	r.hold = make(chan struct{})
	s := httptest.NewServer(r)
	defer s.Close()
	c := g.hookAt(s.URL)
	c.Webhook.Batch = Batch{Buffer: 100, Size: 20, Wait: time.Hour}
	b := g.open(c)
	first := eventsOf("e", 100)
	for _, e := range first {
		b.Process(e)
	}
	r.wait(5) // as many calls as the buffer could hold batches
	second := eventsOf("f", 100)
	for _, e := range second {
		b.Process(e) // into the buffer
	}
	g.want(bufferedName, 0)
	for _, e := range eventsOf("g", 50) {
		b.Process(e) // into nothing
	}
	g.want(bufferedName, 50)
	close(r.hold)
	b.Close(t.Context())
	once(t, r.got(), append(idsOf(first), idsOf(second)...))
	g.want(webhookName, 0)
}

// TestWebhookRestarts ends the webhook while events arrive, and starts it again at its address.
func TestWebhookRestarts(t *testing.T) {
	g, r := newGauges(t), newReceiver(t)
	s := httptest.NewUnstartedServer(r)
	s.Start()
	address := s.Listener.Addr().String()
	c := g.hookAt(s.URL)
	c.Webhook.InitialBackoff = 200 * time.Millisecond // five tries take 1.6 s at least
	c.Webhook.Batch = Batch{Buffer: 1000, Size: 10, Wait: time.Millisecond}
	b := g.open(c)
	before, during := eventsOf("before", 30), eventsOf("during", 30)
	for _, e := range before {
		b.Process(e)
	}
	r.wait(3)
	s.Close()
	for _, e := range during {
		b.Process(e)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: r}}
	again.Start()
	defer again.Close()
	b.Close(t.Context())
	once(t, r.got(), append(idsOf(before), idsOf(during)...))
	g.want(webhookName, 0)
}

// TestCloseEndsCalls wants Close to end the calls of a webhook that does not answer.
func TestCloseEndsCalls(t *testing.T) {
	for _, mode := range modes {
		g, r := newGauges(t), newReceiver(t)
		r.hold = make(chan struct{})
		s := httptest.NewServer(r)
		c := g.hookAt(s.URL)
		c.Webhook.Mode, c.Webhook.Batch.Size = mode, 1
		b := g.open(c)
		var running sync.WaitGroup
		running.Go(func() { b.Process(eventOf("e")) })
		r.wait(1)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		b.Close(ctx)
		cancel()
		running.Wait()
		s.Close()
		g.want(webhookName, 1)
		if n := g.lines.FilterField(zapPlugin(webhookName)).Len(); n != 1 {
			t.Errorf("mode %s: got %d lines in the log, want 1", mode, n)
		}
	}
}
