package filters

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// TestTrace checks the span of each authenticated request: its name, and the trace that it belongs
// to. Authentication and authorization are its children. The span of a request without a trace
// context begins earlier, so that there is one for a request that is not authenticated as well.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct {
		h                     http.HandlerFunc
		token, method, target string
		without               bool   // the client has no trace context
		want                  string // name, code, error, part of the trace, links
	}{
		{ok, "admin-token", "GET", "/api/v1/namespaces/n/pods/p", false, "GET /api/v1/namespaces/{:namespace}/pods/{:name} 200 Unset true 0"},
		{ok, "alice-token", "GET", "/api/v1/pods?limit=1", false, "GET /api/v1/pods 200 Unset false 1"},
		{ok, "admin-token", "PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", false, "PUT /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/scale 200 Unset true 0"},
		{ok, "admin-token", "GET", "/version", false, "GET 200 Unset true 0"},
		{ok, "alice-token", "POST", "/api/v1/namespaces/n/pods", false, "POST /api/v1/namespaces/{:namespace}/pods 403 Unset false 1"},
		{func(http.ResponseWriter, *http.Request) { panic("oh") }, "admin-token", "GET", "/version", false, "GET 500 Error true 0"},
		{ok, "wrong-token", "GET", "/version", false, ""},
		{ok, "wrong-token", "GET", "/version", true, "GET 401 Unset false 0"},
		{ok, "alice-token", "GET", "/api/v1/pods", true, "GET /api/v1/pods 200 Unset false 0"},
	} {
		c, spans := testConfig(t), tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		c.Tracer = provider.Tracer("test")
		headers := []string{"traceparent", parent}
		if tt.without {
			headers = nil
		}
		serve(c, tt.h, tt.token, tt.method, tt.target, headers...)
		var got string
		var children []string
		all := spans.GetSpans()
		for _, s := range all {
			if whole := all[len(all)-1]; s.Parent.SpanID() == whole.SpanContext.SpanID() {
				if s.SpanContext.TraceID() != whole.SpanContext.TraceID() || s.SpanKind != trace.SpanKindInternal {
					t.Errorf("%s: got child %+v", tt.target, s)
				}
				children = append(children, s.Name)
				continue
			}
			code, target := "", ""
			for _, a := range s.Attributes {
				switch a.Key {
				case "http.response.status_code":
					code = a.Value.String()
				case "http.target":
					target = a.Value.String()
				}
			}
			got += fmt.Sprintf("%s %s %v %t %d", s.Name, code, s.Status.Code, s.SpanContext.TraceID().String() == parent[3:35], len(s.Links))
			if target != tt.target || s.EndTime.Before(s.StartTime) || s.Status.Code == codes.Ok {
				t.Errorf("%s: got span %+v", tt.target, s)
			}
		}
		if got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.method, tt.target, got, tt.want)
		}
		want := []string{"authentication", "authorization"}
		if tt.token == "wrong-token" {
			want = want[:len(all)/2]
		}
		if !slices.Equal(children, want) {
			t.Errorf("%s %s: got children %q, want %q", tt.method, tt.target, children, want)
		}
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if off := slices.IndexFunc(testConfig(t).Steps(), func(s Step) bool { return s.Name == "trace" && s.Filter == nil }); off < 0 {
		t.Error("where nothing is traced there is a filter for it")
	}
}
