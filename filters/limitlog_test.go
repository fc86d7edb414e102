package filters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

// jsonLog returns a log and the text in it.
func jsonLog() (*zap.Logger, *bytes.Buffer) {
	var text bytes.Buffer
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&text), zapcore.DebugLevel)), &text
}

// TestLogOfStrangers bounds what requests can write into the log at one moment, whatever they
// contain.
func TestLogOfStrangers(t *testing.T) {
	huge := strings.Repeat("\x01<é", 10_000) // more than any text is cut at
	internal := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	broken := authz.Func(func(context.Context, *request.Attributes) (request.Decision, string, error) {
		return request.NoOpinion, "", errors.New(huge)
	})
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		change func(c *Config)
		lines  int // at most
		target func(i int) (token, method, path string)
	}{
		{"one path that breaks off", ok, nil, linesPerPause, func(int) (string, string, string) { return "", "GET", "/api/v1/watch" }},
		{"one failing resource", internal, nil, linesPerPause, func(int) (string, string, string) { return "admin-token", "GET", "/api/v1/pods" }},
		{"invented resources that fail", internal, nil, (logCauses + 1) * linesPerPause, func(i int) (string, string, string) {
			return "admin-token", "GET", fmt.Sprintf("/api/v1/x%d", i)
		}},
		{"invented methods", internal, nil, (logCauses + 1) * linesPerPause, func(i int) (string, string, string) {
			return "admin-token", fmt.Sprintf("X%d%s", i, strings.Repeat("y", 10_000)), "/x"
		}},
		{"panics", func(http.ResponseWriter, *http.Request) { panic(huge) }, nil, 2 * linesPerPause, func(int) (string, string, string) {
			return "admin-token", "GET", "/api/v1/pods"
		}},
		{"refusals", ok, nil, linesPerPause, func(int) (string, string, string) { return "", "GET", "/api/v1/pods" }},
		{"credentials that nobody knows", ok, nil, 2 * linesPerPause, func(int) (string, string, string) { return "nobody", "GET", "/api/v1/pods" }},
		{"authorization that fails", ok, func(c *Config) { c.Authorizer = broken }, 2 * linesPerPause, func(int) (string, string, string) {
			return "alice-token", "GET", "/api/v1/pods"
		}},
	} {
		runStill(t, tt.name, func(t *testing.T) {
			c := testConfig(t)
			var text *bytes.Buffer
			c.Log, text = jsonLog()
			if tt.change != nil {
				tt.change(&c)
			}
			h := Chain(tt.h, c.Steps()...)
			for i := range 1000 {
				token, method, path := tt.target(i)
				r := anyRequest(token, method, path)
				r.URL.Path += strings.Repeat("/", 10) // makes only the path longer
				r.Header["User-Agent"], r.Header["Audit-Id"] = []string{huge}, []string{huge}
				r.RemoteAddr = huge
				h.ServeHTTP(&sink{header: http.Header{}}, r)
			}
			lines := bytes.Count(text.Bytes(), []byte("\n"))
			if lines == 0 || lines > tt.lines {
				t.Errorf("got %d lines, want 1 to %d", lines, tt.lines)
			}
			if most := lines * (8*6*maxText + 2*maxStack); text.Len() > most {
				t.Errorf("got %d bytes in %d lines, want at most %d", text.Len(), lines, most)
			}
		})
	}
}

// runStill runs a subtest in fake time (testing/synctest).
func runStill(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// anyRequest makes a request of any method.
func anyRequest(token, method, path string) *http.Request {
	r := get()
	r.Method, r.URL.Path = method, path
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// TestLimitLog counts the suppressed lines of each cause.
func TestLimitLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zapcore.InfoLevel)
		log := LimitLog(zap.New(core))
		for range 100 {
			log.Warn("request", zap.Int("status", 500))
			log.Debug("request", zap.Int("status", 500))
		}
		if got := lines.TakeAll(); len(got) != linesPerPause {
			t.Errorf("got %d lines, want %d", len(got), linesPerPause)
		}
		time.Sleep(logPause)
		log.Warn("request", zap.Int("status", 500))
		log.Warn("request", zap.Int("status", 500))
		got := lines.TakeAll()
		if len(got) != 2 || got[0].ContextMap()["suppressed"] != int64(100-linesPerPause) || got[1].ContextMap()["suppressed"] != nil {
			t.Errorf("afterwards: got %v, want two lines, the first of which counts %d", got, 100-linesPerPause)
		}
	})
}

// TestCausesAreSeparate: lines of one cause do not suppress another cause, and too many causes do
// not suppress another level.
func TestCausesAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, lines := observer.New(zapcore.DebugLevel)
		log := LimitLog(zap.New(core))
		for range 2 * linesPerPause {
			for status := range logCauses {
				log.Debug("request", zap.Int("status", status))
			}
		}
		if got := lines.Len(); got != logCauses*linesPerPause {
			t.Errorf("got %d lines of %d causes, want %d of each", got, logCauses, linesPerPause)
		}
		for status := range 1000 {
			log.Debug("request", zap.Int("status", -1-status))
		}
		log.Error("panic")
		if got := lines.FilterLevelExact(zapcore.DebugLevel).Len(); got != (logCauses+1)*linesPerPause {
			t.Errorf("got %d lines, want one for each cause that has a counter, and one more", got)
		}
		if lines.FilterMessage("panic").Len() != 1 {
			t.Error("an error is hidden by what was logged for debugging")
		}
		lines.TakeAll()
		time.Sleep(logPause)
		for range 2 * linesPerPause {
			log.Debug("another")
		}
		if got := lines.FilterMessage("another").Len(); got != linesPerPause {
			t.Errorf("later: got %d lines, want %d", got, linesPerPause)
		}
	})
}
