package filters

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coracle-project/coracle/router/request"
)

// groupMonitoring is the group of users who monitor the cluster.
const groupMonitoring = "system:monitoring"

// Trace makes a span of each sampled request, from its arrival to the end of its response, with
// kube-apiserver's names. The spans of package request become its children. The trace context of a
// client is continued if its user is in system:masters or system:monitoring. For all other users it
// is only linked, so that they cannot decide what is sampled. If tracer is nil, there is no such
// filter.
// Order: after Authenticate. Cost: a span.
func Trace(tracer trace.Tracer) Filter {
	if tracer == nil {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			span, _ := x.info.Trace().(*traceSpan)
			if span == nil { // see beginEarly
				span = beginSpan(tracer, x, r)
				if child := span.Begin(request.SpanAuthentication, authenticationSpan, x.info.Received); child != nil {
					child.End(time.Now())
				}
			}
			returned := false
			defer func() {
				code := x.response.status()
				if !returned && x.info.Status == 0 {
					code = http.StatusInternalServerError
				}
				span.answered(code, x.info.Written)
			}()
			next(w, r)
			returned = true
		}
	}
}

// authenticationSpan is the name of the span of authentication.
const authenticationSpan = "authentication"

// beginEarly begins the span of a request before its authentication, so that authentication, and
// webhooks that it calls, belong to the trace. It cannot do so if the client has sent a trace
// context, because it depends on the user whether that is continued: Trace begins the span of such
// a request later. It returns nil in that case, and if tracer is nil.
func beginEarly(tracer trace.Tracer, x *exchange, r *http.Request) *traceSpan {
	if tracer == nil || r.Header["Traceparent"] != nil {
		return nil
	}
	return beginSpan(tracer, x, r)
}

// beginSpan begins the span of a request.
func beginSpan(tracer trace.Tracer, x *exchange, r *http.Request) *traceSpan {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(x.info.Received),
		trace.WithAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("http.target", r.URL.RequestURI()),
			attribute.String("url.path", r.URL.Path),
			attribute.String("user_agent.original", x.info.UserAgent), attribute.String("audit-id", x.info.AuditID)),
	}
	if u := x.info.User; !isInMasters(u) && (u == nil || !u.InGroup(groupMonitoring)) {
		options = append(options, trace.WithNewRoot())
		if parent := trace.SpanContextFromContext(ctx); parent.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: parent}))
		}
	}
	_, span := tracer.Start(ctx, spanName(&x.info, r.Method), options...)
	made := &traceSpan{tracer, span}
	x.info.SetTrace(made)
	return made
}

// traceSpan is a span of OpenTelemetry as a request.TraceSpan.
type traceSpan struct {
	tracer trace.Tracer
	span   trace.Span
}

// answered ends the span of a request with the status and size of its answer.
func (s *traceSpan) answered(code int, written int64) {
	s.span.SetAttributes(attribute.Int("http.response.status_code", code),
		attribute.Int64("http.response.body.size", written))
	if code >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Begin implements request.TraceSpan. A span that has ended is not recorded either: work that
// outlives its request has no spans.
func (s *traceSpan) Begin(kind request.SpanKind, name string, at time.Time) request.TraceSpan {
	if !s.span.IsRecording() {
		return nil
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(at)}
	if kind == request.SpanCall {
		options = append(options, trace.WithSpanKind(trace.SpanKindClient))
	}
	_, child := s.tracer.Start(trace.ContextWithSpan(context.Background(), s.span), name, options...)
	return &traceSpan{s.tracer, child}
}

// Note implements request.TraceSpan.
func (s *traceSpan) Note(key, value string) { s.span.SetAttributes(attribute.String(key, value)) }

// End implements request.TraceSpan.
func (s *traceSpan) End(at time.Time) { s.span.End(trace.WithTimestamp(at)) }

// Headers implements request.TraceSpan.
func (s *traceSpan) Headers() (headers []string) {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), s.span), carrier)
	for name, value := range carrier {
		headers = append(headers, name, value)
	}
	return headers
}

// spanName returns the name of spans for requests like this one: the method and the route, without
// names.
func spanName(i *request.Info, method string) string {
	if !i.IsResource {
		return method
	}
	path := "/apis/" + i.Group
	if i.Group == "" {
		path = "/api"
	}
	path += "/" + i.Version
	if i.Namespace != "" {
		path += "/namespaces/{:namespace}"
	}
	path += "/" + i.Resource
	if i.Name != "" {
		path += "/{:name}"
	}
	if i.Subresource != "" {
		path += "/" + i.Subresource
	}
	return method + " " + path
}
