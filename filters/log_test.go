package filters

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/router/request"
)

// TestLogSlow: a slow request is logged at level info, unless it is long-running.
func TestLogSlow(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		takes        time.Duration
		want         zapcore.Level
	}{
		{"quick", "/api/v1/pods", slowLatency / 2, zapcore.DebugLevel},
		{"slow", "/api/v1/pods", 2 * slowLatency, zapcore.InfoLevel},
		{"watch", "/api/v1/pods?watch=1", 2 * slowLatency, zapcore.DebugLevel},
	} {
		runStill(t, tt.name, func(t *testing.T) {
			core, lines := observer.New(zapcore.DebugLevel)
			c := testConfig(t)
			c.Log = zap.New(core)
			serve(c, func(w http.ResponseWriter, r *http.Request) { time.Sleep(tt.takes); ok(w, r) }, "alice-token", "GET", tt.target)
			got := lines.FilterMessage("request").All()
			if len(got) != 1 || got[0].Level != tt.want || got[0].ContextMap()["latency"] != tt.takes {
				t.Errorf("got %v, want one line at %v", got, tt.want)
			}
		})
	}
}

// TestLogSteps: the line of a slow request shows what took noticeable time, in the order in which
// it began, and no other line does.
func TestLogSteps(t *testing.T) {
	for _, takes := range []time.Duration{slowLatency - 3*time.Millisecond, slowLatency} {
		runStill(t, takes.String(), func(t *testing.T) {
			core, lines := observer.New(zapcore.DebugLevel)
			c := testConfig(t)
			c.Log = zap.New(core)
			serve(c, func(w http.ResponseWriter, r *http.Request) {
				ctx, whole := request.Begin(r.Context(), request.SpanOther, "admission")
				_, hook := request.Begin(ctx, request.SpanMutatingWebhook, "hook")
				hook.Note("webhook", "a")
				time.Sleep(takes)
				hook.End()
				_, short := request.Begin(ctx, request.SpanStorage, "short")
				short.End()
				for range 2 {
					_, write := request.Begin(ctx, request.SpanStorage, "write")
					time.Sleep(time.Millisecond)
					write.End()
				}
				whole.End()
				ok(w, r)
			}, "alice-token", "GET", "/api/v1/pods")
			got := lines.FilterMessage("request").All()
			if len(got) != 1 {
				t.Fatalf("got %v", got)
			}
			const want = `[map[after:0s step:admission took:502ms] map[about:a after:0s step:hook took:500ms] map[after:500ms step:write times:2 took:2ms]]`
			steps, slow := got[0].ContextMap()["steps"]
			if slow != (takes == slowLatency) || slow && fmt.Sprint(steps) != want {
				t.Errorf("got steps %v, want %v", steps, want)
			}
		})
	}
}

// TestLogLevels: a server error is a warning, unless the client has left.
func TestLogLevels(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		gone bool
		want zapcore.Level
	}{
		{"fine", 200, false, zapcore.DebugLevel},
		{"the client's fault", 404, false, zapcore.DebugLevel},
		{"the server's fault", 500, false, zapcore.WarnLevel},
		{"the client has gone", 500, true, zapcore.DebugLevel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			core, lines := observer.New(zapcore.DebugLevel)
			cfg := testConfig(t)
			cfg.Log = zap.New(core)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.gone {
					cancel()
				}
				w.WriteHeader(tt.code)
			}), cfg.Steps()...)
			r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/pods", nil)
			r.Header.Set("Authorization", "Bearer admin-token")
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got := lines.FilterMessage("request").All(); len(got) != 1 || got[0].Level != tt.want {
				t.Errorf("got %v, want one line at %v", got, tt.want)
			}
		})
	}
}

// TestLogSlowBody: a request that ends because its body is too slow is not logged as one whose
// client has left, although net/http then closes the connection.
func TestLogSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zapcore.DebugLevel)
		cfg := testConfig(t)
		cfg.Log = zap.New(core)
		c := dial(t, cfg, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })
		c.send(head("admin-token", "Content-Length: 5"), "0")
		if code, _ := c.answer(t); code != http.StatusGatewayTimeout {
			t.Errorf("got %d, want 504", code)
		}
		synctest.Wait()
		if got := lines.FilterMessage("request").All(); len(got) != 1 || got[0].Level != zapcore.WarnLevel {
			t.Errorf("got %v, want one warning", got)
		}
	})
}
