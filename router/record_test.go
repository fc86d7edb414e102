package router

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// recorded serves a request with a record that keeps answers.
func recorded(t *testing.T, h http.Handler, method, target, body string, header ...string) (*request.Record, *httptest.ResponseRecorder) {
	t.Helper()
	r, info := parsed(t, method, target, body, header...)
	info.Record = &request.Record{Keep: 1 << 20}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return info.Record, w
}

// TestRecord: for every kind of request and response, the record holds the bodies that were
// received and sent.
func TestRecord(t *testing.T) {
	const (
		all, a     = "/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/configmaps/a"
		table      = "application/json;as=Table;v=v1;g=meta.k8s.io"
		object     = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"},"data":{"k":"new"}}`
		options    = `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":5}`
		merge      = `{"data":{"k":"new"}}`
		applied    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		configMaps = "ConfigMap"
	)
	large := make([]request.Encoded, 3000) // a list of them is written in parts
	for i := range large {
		large[i] = configMap("a", strings.Repeat("v", 100))
	}
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		objects                  []request.Encoded // nil: one config map
		received, answered       string            // kinds of the objects; "" for none
		status                   int
		media                    string
	}{
		{name: "get", method: "GET", path: a, status: 200, media: codec.JSONType},
		{name: "get indented", method: "GET", path: a + "?pretty=1", status: 200, media: codec.JSONType},
		{name: "get as protobuf", method: "GET", path: a, header: []string{"Accept", codec.ProtobufType}, status: 200, media: codec.ProtobufType},
		{name: "get as a table", method: "GET", path: a, header: []string{"Accept", table}, answered: "Table", status: 200, media: codec.JSONType},
		{name: "list", method: "GET", path: all, status: 200, media: codec.JSONType},
		{name: "list in parts", method: "GET", path: all, objects: large, status: 200, media: codec.JSONType},
		{name: "list in parts, indented", method: "GET", path: all + "?pretty=1", objects: large, status: 200, media: codec.JSONType},
		{name: "list in parts, as protobuf", method: "GET", path: all, objects: large, header: []string{"Accept", codec.ProtobufType}, status: 200,
			media: codec.ProtobufType},
		{name: "list in parts, as YAML", method: "GET", path: all, objects: large, header: []string{"Accept", codec.YAMLType}, status: 200,
			media: codec.YAMLType},
		{name: "empty list as YAML", method: "GET", path: all, objects: []request.Encoded{}, header: []string{"Accept", codec.YAMLType}, status: 200,
			media: codec.YAMLType},
		{name: "list as a table", method: "GET", path: all, header: []string{"Accept", table}, answered: "Table", status: 200, media: codec.JSONType},
		{name: "create", method: "POST", path: all, body: object, received: configMaps, status: 201, media: codec.JSONType},
		{name: "create, not JSON", method: "POST", path: all, body: "{", answered: "Status", status: 400, media: codec.JSONType},
		{name: "update", method: "PUT", path: a, body: object, received: configMaps, status: 200, media: codec.JSONType},
		{name: "patch", method: "PATCH", path: a, body: merge, header: []string{"Content-Type", mergePatch}, status: 200, media: codec.JSONType},
		{name: "apply", method: "PATCH", path: a + "?fieldManager=m", body: applied, header: []string{"Content-Type", applyPatch}, status: 200,
			media: codec.JSONType},
		{name: "delete", method: "DELETE", path: a, body: options, received: "DeleteOptions", answered: "Status", status: 200, media: codec.JSONType},
		{name: "delete without a body", method: "DELETE", path: a, answered: "Status", status: 200, media: codec.JSONType},
		{name: "deletecollection", method: "DELETE", path: all, body: options, received: "DeleteOptions", status: 200, media: codec.JSONType},
		{name: "no such resource", method: "GET", path: "/api/v1/nothing", answered: "Status", status: 404, media: codec.JSONType},
		{name: "no such verb", method: "PATCH", path: all, answered: "Status", status: 405, media: codec.JSONType},
		{name: "no such path", method: "GET", path: "/nothing", status: 404, media: "text/plain; charset=utf-8"},
		{name: "discovery", method: "GET", path: "/api/v1", status: 200, media: codec.JSONType},
		{name: "discovery, indented", method: "GET", path: "/api/v1?pretty=1", answered: "APIResourceList", status: 200, media: codec.JSONType},
		{name: "discovery of everything", method: "GET", path: "/api", header: []string{"Accept", aggregatedJSON}, status: 200,
			media: codec.JSONType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
		{name: "OpenAPI", method: "GET", path: "/openapi/v3/api/v1", status: 200, media: codec.JSONType},
		{name: "OpenAPI that moved", method: "GET", path: "/openapi/v3/api/v1?hash=old", status: 301, media: codec.JSONType},
		{name: "OpenAPI in no accepted type", method: "GET", path: "/openapi/v2", header: []string{"Accept", "x/y"}, status: 406},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{objects: []request.Encoded{configMap("a", "v")}, applied: meta.ObjectMeta{Name: "a", Namespace: "ns"}}
			if tt.objects != nil {
				f.objects = tt.objects
			}
			began := time.Now()
			rec, w := recorded(t, recordedServer(t, f), tt.method, tt.path, tt.body, tt.header...)
			if got := string(rec.Received.Body); got != tt.body {
				t.Errorf("the body of the request: got %q, want %q", got, tt.body)
			}
			if got := kindOf(rec.Received.Object); got != tt.received {
				t.Errorf("the object received: got %q, want %q", got, tt.received)
			}
			out := &rec.Answer
			if out.Status != tt.status || w.Code != tt.status || out.MediaType != tt.media || w.Header().Get("Content-Type") != tt.media {
				t.Errorf("got %d %q, sent %d %q, want %d %q", out.Status, out.MediaType, w.Code, w.Header().Get("Content-Type"), tt.status, tt.media)
			}
			if got := kindOf(out.Object); got != tt.answered {
				t.Errorf("the object answered: got %q, want %q", got, tt.answered)
			}
			if sent := w.Body.String(); string(out.Body) != sent || out.Size != int64(len(sent)) || out.Stream {
				t.Errorf("got %d bytes %q, want %q", out.Size, out.Body, sent)
			}
			if out.Began.Before(began) || out.Ended.Before(out.Began) || time.Now().Before(out.Ended) {
				t.Errorf("from %v to %v", out.Began, out.Ended)
			}
		})
	}
}

// kindOf is the kind of an object, "" without one.
func kindOf(obj meta.Typed) string {
	if obj == nil {
		return ""
	}
	return obj.GetTypeMeta().Kind
}

// recordedServer serves everything that this package answers.
func recordedServer(t *testing.T, f *fake) http.Handler {
	rr, d := core(t, f), NewDiscovery(testConfig(t).Codecs)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, f)}})
	o, paths := NewOpenAPI(openapi.Info{Title: "T", Version: "v0"}, d.codecs, d), NewPrefixMux()
	for path, h := range map[string]http.HandlerFunc{"/openapi/v2": o.ServeV2, "/openapi/v3/": o.ServeV3} {
		if err := paths.Handle(path, h); err != nil {
			t.Fatal(err)
		}
	}
	return &Director{REST: rr, Discovery: d, Prefix: paths}
}

// TestRecordOfObject: the record has the object as it was sent, although the registry changes it.
func TestRecordOfObject(t *testing.T) {
	f := &fake{objects: []request.Encoded{configMap("a", "v")}}
	rec, _ := recorded(t, core(t, f), "POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"a"},"data":{"k":"v"}}`,
		"Content-Type", codec.JSONType)
	f.body.(*corev1.ConfigMap).Data["k"] = "changed by admission"
	if got := rec.Received.Object.(*corev1.ConfigMap); got.Name != "a" || got.Data["k"] != "v" {
		t.Errorf("got %+v", got)
	}
	if rec.Received.MediaType != codec.JSONType {
		t.Errorf("got %q", rec.Received.MediaType)
	}
}

// TestRecordKeep: Keep bounds the bytes that are kept, not those that are counted.
func TestRecordKeep(t *testing.T) {
	for _, keep := range []int{0, 7} {
		r, info := parsed(t, "GET", "/api/v1/namespaces/ns/configmaps/a", "")
		info.Record = &request.Record{Keep: keep}
		w := httptest.NewRecorder()
		core(t, &fake{objects: []request.Encoded{configMap("a", "v")}}).ServeHTTP(w, r)
		if out := &info.Record.Answer; string(out.Body) != w.Body.String()[:keep] || out.Size != int64(w.Body.Len()) {
			t.Errorf("Keep %d: got %q of %d", keep, out.Body, out.Size)
		}
	}
}

// TestRecordOfWatch counts the bytes of a stream, and keeps none.
func TestRecordOfWatch(t *testing.T) {
	for name, f := range map[string]*fake{
		"events":               {cursor: &script{batches: [][]request.Event{{{Type: request.Added, Object: configMap("a", "v")}}}}},
		"a revision that went": {err: meta.NewResourceExpired("too old")},
	} {
		rec, w := recorded(t, core(t, f), "GET", "/api/v1/namespaces/ns/configmaps?watch=1&timeoutSeconds=1", "")
		out := &rec.Answer
		if !out.Stream || out.Status != 200 || out.MediaType != codec.JSONType || out.Body != nil || out.Size == 0 || out.Size != int64(w.Body.Len()) {
			t.Errorf("%s: got %+v, sent %q", name, out, w.Body)
		}
		if out.Began.IsZero() || out.Ended.Before(out.Began) {
			t.Errorf("%s: from %v to %v", name, out.Began, out.Ended)
		}
	}
}

// TestRecordOfConnection: the record shows that another handler answered, and with which status.
func TestRecordOfConnection(t *testing.T) {
	l := &recordingConnecter{}
	r, info := parsed(t, "GET", "/api/v1/namespaces/ns/things/a/log", "")
	info.Record, info.Status = &request.Record{Keep: 1 << 20}, http.StatusOK // as the filters set them
	routerWithConnecter(t, l).ServeHTTP(httptest.NewRecorder(), r)
	if out := info.Record.Answer; !out.Stream || out.Status != 200 || out.Body != nil || out.Ended.Before(out.Began) || out.Began.IsZero() {
		t.Errorf("got %+v", out)
	}
	l.err = meta.NewBadRequest("no")
	rec, w := recorded(t, routerWithConnecter(t, l), "GET", "/api/v1/namespaces/ns/things/a/log", "")
	if out := rec.Answer; out.Stream || out.Status != 400 || kindOf(out.Object) != "Status" || string(out.Body) != w.Body.String() {
		t.Errorf("a connection that is refused: got %+v", out)
	}
}

// TestRecordOfBrokenAnswer: the record of a response that breaks off has no end time.
func TestRecordOfBrokenAnswer(t *testing.T) {
	r, info := parsed(t, "GET", "/api/v1/namespaces/ns/configmaps", "")
	info.Record = &request.Record{}
	func() {
		defer func() {
			if got := recover(); got != http.ErrAbortHandler {
				t.Errorf("got panic %v", got)
			}
		}()
		core(t, &fake{objects: []request.Encoded{configMap("a", "v")}}).ServeHTTP(&failingWriter{ResponseRecorder: newRecorder()}, r)
	}()
	if out := info.Record.Answer; out.Status != 200 || !out.Ended.IsZero() {
		t.Errorf("got %+v", out)
	}
}

// TestRecordOfRefusal: WriteError fills the record, also for filters.
func TestRecordOfRefusal(t *testing.T) {
	for _, err := range []error{errors.New("broken"), meta.NewTimeout("slow", 0), &request.PathError{}} {
		rec, w := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, err) }), "GET", "/x", "")
		if out := rec.Answer; out.Status != w.Code || out.Status < 500 || string(out.Body) != w.Body.String() || out.Ended.IsZero() {
			t.Errorf("%v: got %+v", err, out)
		}
	}
}
