package filters

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/router/request"
)

// slowLatency is the latency above which a request is logged at level info.
const slowLatency = time.Second

// Log writes a line for each request: at level warn if the status is 500 or more, unless the client
// has left, which causes such errors; at level info if the request was slow; otherwise at level
// debug. A line never contains a header, a query or a body, so it contains no secret. Texts that
// the client chose are cut by LimitLog.
// Order: outside Recover, to see the status of a panic. Cost: a clock reading, if the level is off.
func Log(log *zap.Logger, long func(*request.Info) bool) Filter {
	log = log.WithOptions(zap.WithCaller(false))
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			defer logRequest(log, long, r)
			next(w, r)
		}
	}
}

// logRequest writes the line of a request that has been served. Log says at which level; long
// reports whether a request is long-running, which does not count as slow.
func logRequest(log *zap.Logger, long func(*request.Info) bool, r *http.Request) {
	x := exchangeOf(r)
	latency := x.took()
	status := x.response.status()
	level := zapcore.DebugLevel
	switch {
	case status >= http.StatusInternalServerError && !errors.Is(x.Err(), context.Canceled):
		level = zapcore.WarnLevel
	case latency > slowLatency && !long(&x.info):
		level = zapcore.InfoLevel
	}
	line := log.Check(level, "request")
	if line == nil {
		return
	}
	user := ""
	if x.info.User != nil {
		user = x.info.User.Name
	}
	impersonator := zap.Skip()
	if x.info.Impersonator != nil {
		impersonator = zap.String("impersonator", x.info.Impersonator.Name)
	}
	line.Write(zap.String("method", r.Method), zap.String("path", r.URL.Path), zap.String("verb", x.info.Verb),
		zap.String("resource", x.info.Resource), zap.Int("status", status), zap.Int64("bytes", x.info.Written),
		zap.Duration("latency", latency),
		zap.String("user", user), impersonator, zap.String("agent", x.info.UserAgent),
		zap.String("source", r.RemoteAddr),
		zap.String("audit-id", x.info.AuditID))
}
