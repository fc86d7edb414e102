package filters

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/router/request"
)

// slowLatency is the latency above which a request is logged at level info, as kube-apiserver logs
// a trace.
const slowLatency = 500 * time.Millisecond

// Log writes a line for each request: at level warn if the status is 500 or more, unless the client
// has left, which causes such errors; at level info if the request was slow; otherwise at level
// debug. The line of a slow request shows what its time was spent on. A line never contains a
// header, a query or a body, so it contains no secret. Texts that the client chose are cut by
// LimitLog.
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
	level, slow := zapcore.DebugLevel, latency > slowLatency && !long(&x.info)
	switch {
	case status >= http.StatusInternalServerError && !errors.Is(x.Err(), context.Canceled):
		level = zapcore.WarnLevel
	case slow:
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
	steps, left := zap.Skip(), zap.Skip()
	if slow {
		steps, left = stepsOf(&x.info)
	}
	line.Write(zap.String("method", r.Method), zap.String("path", r.URL.Path), zap.String("verb", x.info.Verb),
		zap.String("resource", x.info.Resource), zap.Int("status", status), zap.Int64("bytes", x.info.Written),
		zap.Duration("latency", latency),
		zap.String("user", user), impersonator, zap.String("agent", x.info.UserAgent),
		zap.String("source", r.RemoteAddr),
		zap.String("audit-id", x.info.AuditID), steps, left)
}

// stepsOf returns the fields of the log line that show what the time of a request was spent on, and
// how many spans are left out.
func stepsOf(i *request.Info) (steps, left zap.Field) {
	kept, more := i.Spans()
	if len(kept) == 0 {
		return zap.Skip(), zap.Skip()
	}
	steps, left = zap.Array("steps", steplist(kept)), zap.Skip()
	if more > 0 {
		left = zap.Int("more-steps", more)
	}
	return steps, left
}

// steplist is the spans of a request as an array in a log line, in the order in which they began. A
// span within another one is an element of its own: its time is part of the other one's.
type steplist []request.KeptSpan

// MarshalLogArray implements zapcore.ArrayMarshaler.
func (l steplist) MarshalLogArray(to zapcore.ArrayEncoder) error {
	slices.SortStableFunc(l, func(a, b request.KeptSpan) int {
		return cmp.Or(cmp.Compare(a.Began, b.Began), cmp.Compare(b.Took, a.Took))
	})
	for i := range l {
		if err := to.AppendObject((*step)(&l[i])); err != nil {
			return err
		}
	}
	return nil
}

// step is one element of a steplist.
type step request.KeptSpan

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (s *step) MarshalLogObject(to zapcore.ObjectEncoder) error {
	to.AddString("step", s.Name)
	if s.About != "" {
		to.AddString("about", s.About)
	}
	to.AddDuration("after", s.Began)
	to.AddDuration("took", s.Took)
	if s.Count > 1 {
		to.AddInt("times", s.Count)
	}
	return nil
}
