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

// slow is the latency from which on a request is logged as such.
const slow = time.Second

// Log writes a line for each request: server errors as warnings, unless the client has gone and the error is only that;
// slow requests as information, the rest for debugging. There is never a header, a query or a body in it, so no secret
// either. What clients choose in it is bounded by the log; see LimitLog.
// Order: outside of Recover, to see the status that came of a panic. Cost: a clock reading, if the level is off.
func Log(log *zap.Logger, long func(*request.Info) bool) Filter {
	log = log.WithOptions(zap.WithCaller(false))
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			defer logRequest(log, long, r)
			next(w, r)
		}
	}
}

func logRequest(log *zap.Logger, long func(*request.Info) bool, r *http.Request) {
	x := of(r)
	latency := x.took()
	status := x.response.status()
	level := zapcore.DebugLevel
	switch {
	case status >= http.StatusInternalServerError && !errors.Is(x.Err(), context.Canceled):
		level = zapcore.WarnLevel
	case latency > slow && !long(&x.info):
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
		zap.String("resource", x.info.Resource), zap.Int("status", status), zap.Int64("bytes", x.info.Written), zap.Duration("latency", latency),
		zap.String("user", user), impersonator, zap.String("agent", x.info.UserAgent), zap.String("source", r.RemoteAddr),
		zap.String("audit-id", x.info.AuditID))
}
