package callout

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/request"
)

// traced is a trace for tests. Its headers name the span.
type traced struct{ name string }

func (s traced) Begin(kind request.SpanKind, name string, _ time.Time) request.TraceSpan {
	if kind != request.SpanCall {
		name = "no call"
	}
	return traced{s.name + "/" + name}
}
func (traced) Note(string, string) {}
func (traced) End(time.Time)       {}
func (s traced) Headers() []string { return []string{"traceparent", s.name, "tracestate", "a=b"} }

// TestTraced: calls on behalf of a traced request continue its trace, whichever way they are sent,
// and no other calls do. A header of the client is replaced.
func TestTraced(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	var got string
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		got = strings.Join(r.Header["Traceparent"], " and ") + " " + strings.Join(r.Header["Tracestate"], " and ")
	}, "mine.team.svc")
	c := client(t, Config{Target: Target{URL: hook.URL, CABundle: ca.CertPEM}})
	f := forwarder(t, Target{Service: &Service{Namespace: "team", Name: "mine"}, CABundle: ca.CertPEM})
	send := func(by http.RoundTripper) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, "GET", hook.URL, nil)
			if err != nil {
				return err
			}
			r.Header.Set("Traceparent", "of the client")
			resp, err := by.RoundTrip(r)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
	}
	in, out := &request.Info{Received: time.Now()}, &request.Info{Received: time.Now()}
	in.SetTrace(traced{"whole"})
	for _, tt := range []struct {
		name         string
		call         func(ctx context.Context) error
		want, before string // the headers of a traced request, and of another one
	}{
		{"Post", func(ctx context.Context) error { _, err := c.Post(ctx, nil); return err }, "whole/HTTP POST a=b", " "},
		{"Client.RoundTrip", send(c), "whole/HTTP GET a=b", "of the client "},
		{"Forwarder.RoundTrip", send(f), "whole/HTTP GET a=b", "of the client "},
	} {
		for want, ctx := range map[string]context.Context{
			tt.want: request.NewContext(t.Context(), in), tt.before: request.NewContext(t.Context(), out),
		} {
			if err := tt.call(ctx); err != nil || got != want {
				t.Errorf("%s: got headers %q, %v, want %q", tt.name, got, err, want)
			}
		}
		if err := tt.call(t.Context()); err != nil || got != tt.before {
			t.Errorf("%s of no request: got headers %q, %v, want %q", tt.name, got, err, tt.before)
		}
	}
}
