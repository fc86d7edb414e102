package request

import (
	"context"
	"sync"
	"time"
)

// This file times the parts of the work on a request: authorization, a webhook, a write to the
// store. Whoever works for a request calls Begin before such a part and Span.End after it. The log
// line of a slow request shows the spans, the audit record shows the time of each kind (Latencies),
// and a traced request has them in its trace.
//
// A span that is neither slow nor traced costs two readings of the clock and allocates nothing.

// SpanKind says for what part of the work on a request a span counts. Its String is the name of
// that part in the audit annotation apiserver.latency.k8s.io/NAME.
type SpanKind uint8

// The kinds of spans. Audit records show all but SpanOther and SpanCall.
const (
	SpanOther             SpanKind = iota
	SpanCall                       // a request to another server: a webhook or an extension server
	SpanAuthentication             // of the client
	SpanAuthorization              // of the request as it was sent
	SpanImpersonation              // whether the client may be another user
	SpanSeat                       // waiting for a seat
	SpanMutatingWebhook            // one webhook
	SpanValidatingWebhook          // one webhook; several may run at the same time
	SpanStorage                    // one operation on the store
	SpanTransform                  // making the kind or version that the client wants
	SpanEncode                     // encoding the answer, and writing it
	SpanWrite                      // writing a part of the answer to the connection
	spanKinds
)

var spanNames = [spanKinds]string{
	SpanAuthentication: "authentication", SpanAuthorization: "authorization", SpanImpersonation: "impersonation",
	SpanSeat: "apf-queue-wait", SpanMutatingWebhook: "mutating-webhook", SpanValidatingWebhook: "validating-webhook",
	SpanStorage: "etcd", SpanTransform: "transform-response-object", SpanEncode: "serialize-response-object",
	SpanWrite: "response-write",
}

// String returns the name of the part of the work, or "" for SpanOther and SpanCall.
func (k SpanKind) String() string { return spanNames[k] }

// longest reports whether the longest span of a kind counts, and not the sum of all. The kinds are
// those of kube-apiserver.
func (k SpanKind) longest() bool {
	return k == SpanAuthorization || k == SpanSeat || k == SpanValidatingWebhook
}

// TraceSpan is a span in a trace. filters/trace.go implements it. Its methods may be called
// concurrently.
type TraceSpan interface {
	// Begin begins a span within this one, at a time. It returns nil if the trace is not recorded.
	Begin(kind SpanKind, name string, at time.Time) TraceSpan
	// Note adds an attribute.
	Note(key, value string)
	// End ends the span at a time.
	End(at time.Time)
	// Headers returns the names and values, in turn, of the headers by which another server
	// continues the trace (W3C Trace Context). They also tell it if the trace is not recorded.
	Headers() []string
}

// Noticeable is the time from which on a span is kept for the log and the audit record.
const Noticeable = time.Millisecond

// maxSpans is the number of different spans that are kept of a request. Of further spans only the
// time is added to that of their kind.
const maxSpans = 32

// KeptSpan is a span that took noticeable time, or several with the same name and subject.
type KeptSpan struct {
	Name  string
	About string        // what the work was on, such as the name of a webhook; may be ""
	Began time.Duration // of the first one, since the request was received
	Took  time.Duration // of all together
	Count int
}

// spans are the spans of one request. They are made for the first noticeable span, or when the
// request gets a trace.
type spans struct {
	mu    sync.Mutex
	trace TraceSpan // of the whole request; nil: none
	kept  []KeptSpan
	left  int // spans that are not in kept
	times [spanKinds]time.Duration
}

// record returns the spans of a request, which it makes if there are none.
func (i *Info) record() *spans {
	if s := i.spans.Load(); s != nil {
		return s
	}
	i.spans.CompareAndSwap(nil, new(spans))
	return i.spans.Load()
}

// SetTrace makes s the span of the whole request in a trace. Spans that begin later are within it,
// and calls of other servers continue its trace.
func (i *Info) SetTrace(s TraceSpan) {
	all := i.record()
	all.mu.Lock()
	all.trace = s
	all.mu.Unlock()
}

// Trace returns the span of the whole request in a trace, or nil if there is none.
func (i *Info) Trace() TraceSpan {
	all := i.spans.Load()
	if all == nil {
		return nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.trace
}

// Spans returns the spans that took noticeable time, in the order in which they ended. left is how
// many are left out.
func (i *Info) Spans() (kept []KeptSpan, left int) {
	all := i.spans.Load()
	if all == nil {
		return nil, 0
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	return append(kept, all.kept...), all.left
}

// Latencies yields the time of each kind of spans that audit records show. Spans that took no
// noticeable time do not count. For authorization, seats and validating webhooks the longest span
// counts, otherwise the sum. Latencies may be called after the handler has returned.
func (i *Info) Latencies(yield func(kind SpanKind, took time.Duration) bool) {
	all := i.spans.Load()
	if all == nil {
		return
	}
	all.mu.Lock()
	times := all.times
	all.mu.Unlock()
	for kind, took := range times {
		if took > 0 && SpanKind(kind).String() != "" && !yield(SpanKind(kind), took) {
			return
		}
	}
}

// traceKey is the key of the innermost TraceSpan in a context.
type traceKey struct{}

// traceOf returns the innermost TraceSpan in ctx, or that of the whole request. It returns nil if
// info is nil or its request has no trace.
func traceOf(ctx context.Context, info *Info) TraceSpan {
	if info == nil {
		return nil
	}
	whole := info.Trace()
	if whole == nil {
		return nil
	}
	if s, ok := ctx.Value(traceKey{}).(TraceSpan); ok {
		return s
	}
	return whole
}

// TraceHeaders returns the names and values, in turn, of the headers by which another server
// continues the trace of ctx; nil if ctx has none. A request to another server on behalf of ctx has
// these headers.
func TraceHeaders(ctx context.Context) []string {
	if s := traceOf(ctx, From(ctx)); s != nil {
		return s.Headers()
	}
	return nil
}

// Span is a part of the work on a request that has begun. The zero Span belongs to no request, and
// its methods do nothing.
type Span struct {
	info        *Info
	trace       TraceSpan // nil: it is in no trace
	kind        SpanKind
	name, about string
	began       time.Duration // since info.Received
}

// Begin begins a span of the request of ctx. If ctx belongs to no request, the Span is zero. The
// work uses the context that Begin returns, so that spans within it are also within it in the
// trace.
func Begin(ctx context.Context, kind SpanKind, name string) (context.Context, Span) {
	info := From(ctx)
	if info == nil {
		return ctx, Span{}
	}
	return info.BeginAt(ctx, kind, name, time.Since(info.Received))
}

// BeginSized is Begin for work that takes noticeable time only if it is on many bytes. If size is
// small and ctx has no trace, the Span is zero, and the clock is not read.
func BeginSized(ctx context.Context, kind SpanKind, name string, size int) (context.Context, Span) {
	info := From(ctx)
	if info == nil || size < noticeableSize && info.spans.Load() == nil {
		return ctx, Span{}
	}
	return info.BeginAt(ctx, kind, name, time.Since(info.Received))
}

// noticeableSize is the number of bytes that are not encoded or decoded in less than Noticeable, by
// a wide margin.
const noticeableSize = 16 << 10

// BeginAt is Begin for a caller that has the Info of ctx's request, and has read the clock: at is
// the time since Info.Received.
func (i *Info) BeginAt(ctx context.Context, kind SpanKind, name string, at time.Duration) (context.Context, Span) {
	s := Span{info: i, kind: kind, name: name, began: at}
	if i.spans.Load() != nil {
		ctx = s.enter(ctx)
	}
	return ctx, s
}

// enter begins s in the trace of ctx, if there is one.
func (s *Span) enter(ctx context.Context) context.Context {
	within := traceOf(ctx, s.info)
	if within == nil {
		return ctx
	}
	if s.trace = within.Begin(s.kind, s.name, s.info.Received.Add(s.began)); s.trace == nil {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, s.trace)
}

// Note adds an attribute in the trace. The first value is what the work is on, which the log shows
// behind the name.
func (s *Span) Note(key, value string) {
	if s.about == "" {
		s.about = value
	}
	if s.trace != nil {
		s.trace.Note(key, value)
	}
}

// End ends the span.
func (s *Span) End() {
	if s.info != nil {
		s.EndAt(time.Since(s.info.Received))
	}
}

// EndAt is End for a caller that has read the clock: at is the time since Info.Received.
func (s *Span) EndAt(at time.Duration) {
	if s.trace != nil || at-s.began >= Noticeable { // otherwise the call is inlined and does nothing else
		s.keep(at)
	}
}

// keep ends a span that is in a trace or took noticeable time.
func (s *Span) keep(at time.Duration) {
	if s.info == nil {
		return
	}
	if s.trace != nil {
		s.trace.End(s.info.Received.Add(at))
	}
	if took := at - s.began; took >= Noticeable {
		s.info.record().add(s, took)
	}
}

// Took adds a span that has just ended, if it took noticeable time. It is for work that is timed
// already and takes no time as a rule. about is the attribute "name".
func Took(ctx context.Context, kind SpanKind, name, about string, took time.Duration) {
	if took < Noticeable {
		return
	}
	info := From(ctx)
	if info == nil {
		return
	}
	now := time.Since(info.Received)
	_, s := info.BeginAt(ctx, kind, name, now-took)
	if about != "" {
		s.Note("name", about)
	}
	s.EndAt(now)
}

// add keeps a span that took noticeable time.
func (all *spans) add(s *Span, took time.Duration) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.kind.longest() {
		all.times[s.kind] = max(all.times[s.kind], took)
	} else {
		all.times[s.kind] += took
	}
	for i := range all.kept {
		if k := &all.kept[i]; k.Name == s.name && k.About == s.about {
			k.Took += took
			k.Count++
			return
		}
	}
	if len(all.kept) == maxSpans {
		all.left++
		return
	}
	all.kept = append(all.kept, KeptSpan{s.name, s.about, s.began, took, 1})
}
