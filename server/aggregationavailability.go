package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http2"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/apiservices"
)

// Whether servers behind this one can be reached, a controller finds out, which works as long as there is one to ask. It is not among
// those that can be chosen from: without it no request is handed on.

// availabilityMetrics count what APIServices say, under Kubernetes' names.
type availabilityMetrics struct {
	unavailable *prometheus.GaugeVec
	lost        *prometheus.CounterVec
}

func newAvailabilityMetrics(reg *prometheus.Registry) (*availabilityMetrics, error) {
	m := &availabilityMetrics{
		unavailable: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aggregator_unavailable_apiservice",
			Help: "1 for each API service that is not said to be available, 0 for the others."}, []string{"name"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "aggregator_unavailable_apiservice_total",
			Help: "How often this server has found that an API service is available no more, by why."}, []string{"name", "reason"}),
	}
	return m, errors.Join(reg.Register(m.unavailable), reg.Register(m.lost))
}

// show counts what an APIService says.
func (m *availabilityMetrics) show(s *apiregistrationv1.APIService) {
	unavailable := 1.0
	if isAvailable(s) {
		unavailable = 0
	}
	m.unavailable.WithLabelValues(strings.Clone(s.Name)).Set(unavailable) // the name refers to the text of the whole object
}

// forget drops what was counted of an APIService that is gone.
func (m *availabilityMetrics) forget(name string) {
	m.unavailable.DeleteLabelValues(name)
	m.lost.DeletePartialMatch(prometheus.Labels{"name": name})
}

// availability has the conditions of APIServices with servers behind them kept.
type availability struct {
	turn sync.Mutex // of the controller: it ends before it begins again

	mu     sync.Mutex
	find   func(context.Context) // the controller; nil before its time
	work   *generic.Work         // where it runs
	needed bool
	end    context.CancelFunc // nil while it does not run
}

// begin has the controller run from now on, whenever it is needed.
func (v *availability) begin(a *aggregator, s *Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	lost := a.metrics.availability.lost
	v.work = s.life.controllers
	v.find = func(ctx context.Context) {
		c := apiservices.APIServiceAvailability{
			Client: s.client, Check: a.check, Log: a.log.Named("availability"),
			Lost: func(name, reason string) { lost.WithLabelValues(strings.Clone(name), reason).Inc() },
		}
		c.Run(ctx)
	}
	v.settleLocked()
}

// need says whether there are servers behind this one.
func (v *availability) need(needed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.needed = needed
	v.settleLocked()
}

func (v *availability) settleLocked() {
	switch running := v.end != nil; {
	case v.find == nil || v.needed == running:
	case running:
		v.end()
		v.end = nil
	default:
		var ctx context.Context
		ctx, v.end = context.WithCancel(v.work.Context())
		v.work.Run(func(context.Context) {
			v.turn.Lock()
			defer v.turn.Unlock()
			v.find(ctx)
		})
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
	known := a.other(meta.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version})
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
		r.closeIdle() // what is idle may be dead
		return fmt.Errorf("failing or missing response from %v: %w", &to, steady(err))
	}
	return nil
}

// answers asks for a path, and returns nil for an answer that is neither an error nor a redirect.
func (r *remote) answers(ctx context.Context, to *url.URL) error {
	c := http.Client{
		Transport: r.connect(), Timeout: checkTime,
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

// steady takes out of an error what is another each time, and nothing new: the port at this end, the time, the number of a stream.
func steady(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		op.Source = nil
	}
	if refused := (*tls.CertificateVerificationError)(nil); errors.As(err, &refused) {
		if why, ok := refused.Err.(x509.CertificateInvalidError); ok && why.Reason == x509.Expired {
			_, why.Detail, _ = strings.Cut(why.Detail, " is ")
			why.Detail = "current time is " + why.Detail
			refused.Err = why
		}
	}
	asked, broken := (*url.Error)(nil), http2.StreamError{}
	if errors.As(err, &asked) && errors.As(err, &broken) {
		asked.Err = fmt.Errorf("stream error: %v", broken.Code)
	}
	return err
}
