package filters

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coracle-project/coracle/router/request"
)

// groupMonitoring is the group of users who monitor the cluster.
const groupMonitoring = "system:monitoring"

// Trace makes a span of each sampled request, from its arrival to the end of its response, with
// kube-apiserver's names. The trace context of a client is continued if its user is in
// system:masters or system:monitoring. For all other users it is only linked, so that they cannot
// decide what is sampled. If tracer is nil, there is no such filter.
// Order: after Authenticate. Cost: a span.
func Trace(tracer trace.Tracer) Filter {
	if tracer == nil {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			span := beginSpan(tracer, x, r)
			returned := false
			defer func() {
				code := x.response.status()
				if !returned && x.info.Status == 0 {
					code = http.StatusInternalServerError
				}
				span.SetAttributes(attribute.Int("http.response.status_code", code),
					attribute.Int64("http.response.body.size", x.info.Written))
				if code >= http.StatusInternalServerError {
					span.SetStatus(codes.Error, "")
				}
				span.End()
			}()
			next(w, r)
			returned = true
		}
	}
}

// beginSpan begins the span of a request.
func beginSpan(tracer trace.Tracer, x *exchange, r *http.Request) trace.Span {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
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
	return span
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
