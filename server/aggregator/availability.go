package aggregator

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

	"golang.org/x/net/http2"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/loops/apiservices"
)

// This file runs the controller that finds out whether servers behind can be reached, while there
// is at least one. Config.Controllers cannot leave this controller out, because a server behind
// gets no requests before the controller has found it available. The hooks (follow.go) call begin;
// publish (follow.go) calls need.

// availability runs apiservices.APIServiceAvailability while it is needed.
type availability struct {
	metrics *metrics
	ends    context.Context
	loop    func(work func(context.Context))

	turn sync.Mutex // held while the controller runs, so that two runs never overlap; locked without mu

	mu     sync.Mutex
	find   func(context.Context) // runs the controller; nil before begin and after StopChecks
	needed bool
	end    context.CancelFunc // nil while the controller does not run
}

// finder returns the function that runs the controller until its context ends. c is a client of the
// server itself.
func (a *Aggregator) finder(c *client.Client) func(context.Context) {
	log, lost := a.log.Named("availability"), a.availability.metrics.lost
	return func(ctx context.Context) {
		loop := apiservices.APIServiceAvailability{
			Client: c, Check: a.check, Log: log,
			Lost: func(name, reason string) { lost.WithLabelValues(strings.Clone(name), reason).Inc() },
		}
		loop.Run(ctx)
	}
}

// begin sets the function that runs the controller, and calls it as soon as there is a server
// behind.
func (v *availability) begin(find func(context.Context)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.find = find
	v.settleLocked()
}

// need starts the controller when there are servers behind, and ends it when there are none.
func (v *availability) need(needed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.needed = needed
	v.settleLocked()
}

// settleLocked starts or ends the controller, so that it runs only while it is needed and find is
// set. The caller holds mu.
func (v *availability) settleLocked() {
	switch running := v.end != nil; {
	case v.find == nil || v.needed == running:
	case running:
		v.end()
		v.end = nil
	default:
		var ctx context.Context
		ctx, v.end = context.WithCancel(v.ends)
		find := v.find
		v.loop(func(context.Context) {
			v.turn.Lock()
			defer v.turn.Unlock()
			find(ctx)
		})
	}
}

// StopChecks ends the checks of servers behind for good. An APIService then keeps the condition
// that a client gives it. Only tests that decide themselves which server is available call it.
func (a *Aggregator) StopChecks() {
	v := a.availability
	v.mu.Lock()
	defer v.mu.Unlock()
	v.needed = false
	v.settleLocked()
	v.find = nil
}

// isAvailable reports whether an APIService has the condition Available.
func isAvailable(s *apiregistrationv1.APIService) bool {
	c := apiregistrationv1.Condition(s, apiregistrationv1.Available)
	return c != nil && c.Status == apiregistrationv1.ConditionTrue
}

const (
	// checkTime is how long a server behind may take to answer a check.
	checkTime = 5 * time.Second
	// checkRead is how many bytes of the answer are read, so that the connection can be used again.
	checkRead = 64 << 10
)

// check sends the server behind an APIService one GET of the group version that the APIService
// declares, as kube-aggregator does. A status of 2xx means that the server is available; the body
// is ignored.
func (a *Aggregator) check(ctx context.Context, s *apiregistrationv1.APIService) error {
	current := a.other(meta.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version})
	r := a.reach.newRemote(s, current)
	if current == nil || current.route != r.route { // the route was made for this check alone
		defer r.close()
	}
	host, err := r.address(ctx)
	if err != nil {
		return err
	}
	to := url.URL{Scheme: "https", Host: host, Path: "/apis/" + s.Spec.Group + "/" + s.Spec.Version}
	if s.Spec.Group == "" {
		to.Path = "/api/" + s.Spec.Version
	}
	if err := r.answers(ctx, &to); err != nil {
		r.closeIdle() // idle connections may be dead, too
		return fmt.Errorf("failing or missing response from %v: %w", &to, steady(err))
	}
	return nil
}

// answers sends a GET, and returns nil if the status of the answer is 2xx.
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

// steady removes from an error the parts that differ each time and mean nothing: the local port,
// the time, the number of a stream. The error becomes the message of a condition, and a condition
// whose message has not changed is not written again.
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
