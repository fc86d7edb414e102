package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// Whether servers behind this one can be reached, a controller finds out, which works as long as there is one to ask. It is not among
// those that can be chosen from: without it no request is handed on.

// availability has the conditions of APIServices kept, and counted.
type availability struct {
	unavailable *prometheus.GaugeVec
	lost        *prometheus.CounterVec
	turn        sync.Mutex // of the controller, which may have to end before it begins again

	mu   sync.Mutex
	find func(context.Context) // the controller; nil before its time
	work *background           // where it runs
	open map[string]bool       // all APIServices: true for those of which there is something to find out
	end  context.CancelFunc    // nil while it does not run
}

func newAvailability(reg *prometheus.Registry) (*availability, error) {
	v := &availability{
		unavailable: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aggregator_unavailable_apiservice",
			Help: "1 for each API service that is not said to be available, 0 for the others."}, []string{"name"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "aggregator_unavailable_apiservice_total",
			Help: "How often this server has found that an API service is available no more, by why."}, []string{"name", "reason"}),
		open: map[string]bool{},
	}
	return v, errors.Join(reg.Register(v.unavailable), reg.Register(v.lost))
}

// begin has the controller run from now on, whenever there is something for it to do.
func (v *availability) begin(a *aggregator, s *Server) {
	c := &controller.APIServiceAvailability{
		Client: s.client, Check: a.check, Log: a.log.Named("availability"),
		Lost: func(name, reason string) { v.lost.WithLabelValues(name, reason).Inc() },
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.find, v.work = c.Run, s.life.controllers
	v.settleLocked()
}

// observe takes in what an APIService says.
func (v *availability) observe(name string, s *apiregistrationv1.APIService) {
	unavailable := 0.0
	if !isAvailable(s) {
		unavailable = 1
	}
	v.unavailable.WithLabelValues(name).Set(unavailable)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open[name] = s.Spec.Service != nil || unavailable > 0
	v.settleLocked()
}

// forget takes in that APIServices are gone: those of which gone says so.
func (v *availability) forget(gone func(name string) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name := range v.open {
		if gone(name) {
			delete(v.open, name)
			v.unavailable.DeleteLabelValues(name)
			v.lost.DeletePartialMatch(prometheus.Labels{"name": name})
		}
	}
	v.settleLocked()
}

// settleLocked has the controller begin or end if it is time.
func (v *availability) settleLocked() {
	needed := false
	for _, open := range v.open {
		needed = needed || open
	}
	switch {
	case v.find == nil || needed == (v.end != nil):
	case needed:
		var ctx context.Context
		ctx, v.end = context.WithCancel(v.work.ctx)
		v.work.run(func(context.Context) {
			v.turn.Lock()
			defer v.turn.Unlock()
			v.find(ctx)
		})
	default:
		v.end()
		v.end = nil
	}
}

// isAvailable reports whether an APIService is said to be available.
func isAvailable(s *apiregistrationv1.APIService) bool {
	c := apiregistrationv1.Condition(s, apiregistrationv1.Available)
	return c != nil && c.Status == apiregistrationv1.ConditionTrue
}

const (
	// checkTime is how long a server behind this one may take to show that it is there.
	checkTime = 5 * time.Second
	// checkRead is how much of what it says is read, so that the connection can be used again.
	checkRead = 64 << 10
)

// check asks the server behind an APIService once for the version that it should have. Of what it says, only whether it has it counts.
func (a *aggregator) check(ctx context.Context, s *apiregistrationv1.APIService) error {
	var known *remote
	if table := a.table.Load(); table != nil {
		known = (*table)[meta.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}]
	}
	r := a.newRemote(s, known)
	if known == nil || known.route != r.route { // it is not in the table yet, or no more
		defer r.close()
	}
	host, err := r.resolve(ctx)
	if err != nil {
		return err
	}
	to := url.URL{Scheme: "https", Host: host, Path: "/apis/" + s.Spec.Group + "/" + s.Spec.Version}
	if s.Spec.Group == "" {
		to.Path = "/api/" + s.Spec.Version
	}
	if err := r.answers(ctx, &to); err != nil {
		r.close() // what is idle may be dead
		var op *net.OpError
		if errors.As(err, &op) {
			op.Source = nil // the port is another each time, and nothing new
		}
		return fmt.Errorf("failing or missing response from %v: %w", &to, err)
	}
	return nil
}

// answers asks for a path, and returns nil for an answer that is neither an error nor a redirect.
func (r *remote) answers(ctx context.Context, to *url.URL) error {
	c := http.Client{
		Transport: r.roundTripper(), Timeout: checkTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req := (&http.Request{Method: http.MethodGet, URL: to, Header: http.Header{}}).WithContext(ctx)
	speakFor(req.Header, &discoveryUser, true)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("bad status from %v: %d", to, resp.StatusCode)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, checkRead)
	return nil
}
