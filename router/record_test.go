package router

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// recorded serves a request with a record that wants everything.
func recorded(t *testing.T, h http.Handler, method, target, body string, header ...string) (*request.Record, *httptest.ResponseRecorder) {
	t.Helper()
	r, info := parsed(t, method, target, body, header...)
	info.Record = &request.Record{Received: true, Answered: true}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return info.Record, w
}

// TestRecord: for every kind of request and response, the record has the objects that were received
// and answered as JSON, whatever form the client sent and got.
func TestRecord(t *testing.T) {
	const (
		all, a   = "/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/configmaps/a"
		table    = "application/json;as=Table;v=v1;g=meta.k8s.io"
		object   = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"},"data":{"k":"new"}}`
		options  = `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":5}`
		internal = `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/__internal","gracePeriodSeconds":5}`
		merge    = `{"data":{"k":"new"}}`
		applied  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	)
	large := make([]request.Encoded, 3000) // a list of them is written in parts
	for i := range large {
		large[i] = configMap("a", strings.Repeat("v", 100))
	}
	proto, yaml := []string{"Accept", codec.ProtobufType}, []string{"Accept", codec.YAMLType}
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		objects                  []request.Encoded // nil: one config map
		received                 string            // the object received; "" for none
		code                     int
		answered                 string // the kind of the object answered; "" for none
		failed                   bool   // the answer is a Status
	}{
		{name: "get", method: "GET", path: a, code: 200, answered: "ConfigMap"},
		{name: "get indented", method: "GET", path: a + "?pretty=1", code: 200, answered: "ConfigMap"},
		{name: "get as protobuf", method: "GET", path: a, header: proto, code: 200, answered: "ConfigMap"},
		{name: "get as a table", method: "GET", path: a, header: []string{"Accept", table}, code: 200, answered: "Table"},
		{name: "list", method: "GET", path: all, code: 200, answered: "ConfigMapList"},
		{name: "list in parts", method: "GET", path: all, objects: large, code: 200, answered: "ConfigMapList"},
		{name: "list in parts, indented", method: "GET", path: all + "?pretty=1", objects: large, code: 200, answered: "ConfigMapList"},
		{name: "list in parts, as protobuf", method: "GET", path: all, objects: large, header: proto, code: 200, answered: "ConfigMapList"},
		{name: "list in parts, as YAML", method: "GET", path: all, objects: large, header: yaml, code: 200, answered: "ConfigMapList"},
		{name: "empty list as YAML", method: "GET", path: all, objects: []request.Encoded{}, header: yaml, code: 200, answered: "ConfigMapList"},
		{name: "list as a table", method: "GET", path: all, header: []string{"Accept", table}, code: 200, answered: "Table"},
		{name: "create", method: "POST", path: all, body: object, received: object, code: 201, answered: "ConfigMap"},
		{name: "create, not JSON", method: "POST", path: all, body: "{", code: 400, answered: "Status", failed: true},
		{name: "update", method: "PUT", path: a, body: object, received: object, code: 200, answered: "ConfigMap"},
		{name: "patch", method: "PATCH", path: a, body: merge, header: []string{"Content-Type", mergePatch}, received: merge, code: 200,
			answered: "ConfigMap"},
		{name: "apply", method: "PATCH", path: a + "?fieldManager=m", body: applied, header: []string{"Content-Type", applyPatch}, received: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
			code: 200, answered: "ConfigMap"},
		{name: "delete", method: "DELETE", path: a, body: options, received: internal, code: 200, answered: "Status", failed: true},
		{name: "delete without a body", method: "DELETE", path: a, code: 200, answered: "Status", failed: true},
		{name: "deletecollection", method: "DELETE", path: all, body: options, received: internal, code: 200, answered: "ConfigMapList"},
		{name: "no such resource", method: "GET", path: "/api/v1/nothing", code: 404, answered: "Status", failed: true},
		{name: "no such verb", method: "PATCH", path: all, code: 405, answered: "Status", failed: true},
		{name: "no such path", method: "GET", path: "/nothing", code: 404},
		{name: "discovery", method: "GET", path: "/api/v1", code: 200, answered: "APIResourceList"},
		{name: "discovery, indented", method: "GET", path: "/api/v1?pretty=1", code: 200, answered: "APIResourceList"},
		{name: "discovery as protobuf", method: "GET", path: "/api/v1", header: proto, code: 200, answered: "APIResourceList"},
		{name: "discovery of everything", method: "GET", path: "/api", header: []string{"Accept", aggregatedJSON}, code: 200,
			answered: "APIGroupDiscoveryList"},
		{name: "OpenAPI", method: "GET", path: "/openapi/v3/api/v1", code: 200},
		{name: "OpenAPI that moved", method: "GET", path: "/openapi/v3/api/v1?hash=old", code: 301},
		{name: "OpenAPI in no accepted type", method: "GET", path: "/openapi/v2", header: []string{"Accept", "x/y"}, code: 406},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{objects: []request.Encoded{configMap("a", "v")}, applied: meta.ObjectMeta{Name: "a", Namespace: "ns"}}
			if tt.objects != nil {
				f.objects = tt.objects
			}
			h := recordedServer(t, f)
			rec, w := recorded(t, h, tt.method, tt.path, tt.body, tt.header...)
			if w.Code != tt.code {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			if got := string(rec.ReceivedObject); got != tt.received {
				t.Errorf("received: got %q, want %q", got, tt.received)
			}
			if (rec.Status != nil) != tt.failed {
				t.Errorf("got the status %+v", rec.Status)
			}
			var got struct{ Kind string }
			if err := json.Unmarshal(rec.AnsweredObject, &got); rec.AnsweredObject != nil && err != nil || got.Kind != tt.answered {
				t.Fatalf("answered: got %.200q, want a %q", rec.AnsweredObject, tt.answered)
			}
			if tt.answered == "" || tt.method != "GET" {
				return
			}
			path, _, _ := strings.Cut(tt.path, "?")
			var header []string
			if strings.HasPrefix(strings.Join(tt.header, ""), "Accept"+codec.JSONType) {
				header = tt.header
			}
			_, plain := recorded(t, h, tt.method, path, "", header...)
			if want := strings.TrimSpace(plain.Body.String()); string(rec.AnsweredObject) != want {
				t.Errorf("answered: got\n%.300s, want\n%.300s", rec.AnsweredObject, want)
			}
		})
	}
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

// TestRecordOfObject: the record has the object as it was before admission, named by its metadata.
func TestRecordOfObject(t *testing.T) {
	f := &fake{objects: []request.Encoded{configMap("a", "v")}}
	rec, _ := recorded(t, core(t, f), "POST", "/api/v1/namespaces/ns/configmaps",
		`{"metadata":{"name":"a","uid":"u","resourceVersion":"7"},"data":{"k":"v"}}`, "Content-Type", codec.JSONType)
	f.body.(*corev1.ConfigMap).Data["k"] = "changed by admission"
	if got := string(rec.ReceivedObject); !strings.Contains(got, `"data":{"k":"v"}`) {
		t.Errorf("got %s", got)
	}
	if want := (request.ObjectName{Name: "a", UID: "u", ResourceVersion: "7"}); rec.Object != want {
		t.Errorf("got %+v", rec.Object)
	}
}

// TestRecordWants: a record gets no more than it wants.
func TestRecordWants(t *testing.T) {
	const body = `{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"data":{"k":"v"}}`
	serve := func(wants request.Record) *request.Record {
		r, info := parsed(t, "POST", "/api/v1/namespaces/ns/configmaps", body)
		info.Record = &wants
		core(t, &fake{objects: []request.Encoded{configMap("a", "v")}}).ServeHTTP(httptest.NewRecorder(), r)
		return info.Record
	}
	if rec := serve(request.Record{}); rec.ReceivedObject != nil || rec.AnsweredObject != nil || rec.Object.Name != "a" {
		t.Errorf("nothing is wanted: got %+v", rec)
	}
	rec := serve(request.Record{Received: true})
	if rec.AnsweredObject != nil || !strings.Contains(string(rec.ReceivedObject), "managedFields") {
		t.Errorf("what was received is wanted: got %+v", rec)
	}
	rec = serve(request.Record{Received: true, OmitManagedFields: true})
	if strings.Contains(string(rec.ReceivedObject), "managedFields") {
		t.Errorf("without managedFields: got %s", rec.ReceivedObject)
	}
}

// TestRecordOfWatch: a stream has no object.
func TestRecordOfWatch(t *testing.T) {
	for name, f := range map[string]*fake{
		"events":               {cursor: &script{batches: [][]request.Event{{{Type: request.Added, Object: configMap("a", "v")}}}}},
		"a revision that went": {err: meta.NewResourceExpired("too old")},
	} {
		rec, w := recorded(t, core(t, f), "GET", "/api/v1/namespaces/ns/configmaps?watch=1&timeoutSeconds=1", "")
		if rec.AnsweredObject != nil || rec.Status != nil || w.Body.Len() == 0 {
			t.Errorf("%s: got %+v, sent %q", name, rec, w.Body)
		}
	}
}

// TestRecordOfConnection: a connection has no object. A connection that is refused has a Status.
func TestRecordOfConnection(t *testing.T) {
	l := &recordingConnecter{}
	rec, _ := recorded(t, routerWithConnecter(t, l), "GET", "/api/v1/namespaces/ns/things/a/log", "")
	if rec.AnsweredObject != nil || rec.Status != nil {
		t.Errorf("got %+v", rec)
	}
	l.err = meta.NewBadRequest("no")
	rec, _ = recorded(t, routerWithConnecter(t, l), "GET", "/api/v1/namespaces/ns/things/a/log", "")
	if rec.Status == nil || rec.Status.Code != 400 {
		t.Errorf("a connection that is refused: got %+v", rec)
	}
}

// TestBrokenAnswer: a list that cannot be sent to its end cuts the connection.
func TestBrokenAnswer(t *testing.T) {
	r, _ := parsed(t, "GET", "/api/v1/namespaces/ns/configmaps", "")
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("got panic %v", got)
		}
	}()
	core(t, &fake{objects: []request.Encoded{configMap("a", "v")}}).ServeHTTP(&failingWriter{ResponseRecorder: newRecorder()}, r)
}

// TestRecordOfRefusal: WriteError tells the record the Status, also for filters. An answer in plain
// text has none.
func TestRecordOfRefusal(t *testing.T) {
	for _, err := range []error{errors.New("broken"), meta.NewTimeout("slow", 0), context.DeadlineExceeded, request.PlainError("broken")} {
		rec, w := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, err) }), "GET", "/x", "")
		if _, plain := err.(request.PlainError); plain != (rec.Status == nil) || !plain && int(rec.Status.Code) != w.Code || w.Code < 500 {
			t.Errorf("%v: got %+v, sent %d", err, rec.Status, w.Code)
		}
	}
}
