package definitions_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

// webhook is a conversion webhook for barges: in v1 they have spec.length and the label hull, in v2
// spec.size and the label material.
type webhook struct {
	*httptest.Server
	port string
	ca   string // in base64

	calls   atomic.Int64
	objects atomic.Int64
	refuse  atomic.Bool
	hang    atomic.Pointer[chan struct{}] // calls wait until it is closed
	asked   chan struct{}                 // gets one for each call that hangs
	open    atomic.Int64                  // connections
}

func newWebhook(t *testing.T) *webhook {
	t.Helper()
	pair := pkitest.SelfSigned(t, "converter.default.svc", "127.0.0.1")
	w := &webhook{asked: make(chan struct{}, 64)}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	w.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			w.open.Add(1)
		case http.StateClosed:
			w.open.Add(-1)
		}
	}
	w.StartTLS()
	t.Cleanup(w.Close)
	_, w.port, _ = net.SplitHostPort(w.Listener.Addr().String())
	w.ca = base64.StdEncoding.EncodeToString(pair.CertPEM)
	return w
}

func (w *webhook) serve(rw http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.String() != "/convert?timeout=30s" {
		http.Error(rw, "what?", http.StatusBadRequest)
		return
	}
	w.calls.Add(1)
	if gate := w.hang.Load(); gate != nil {
		w.asked <- struct{}{}
		select {
		case <-*gate:
		case <-r.Context().Done():
			return
		}
	}
	q := review.Request
	review.Request, review.Response = nil, &apiextensionsv1.ConversionResponse{UID: q.UID}
	review.Response.Result.Status = "Success"
	if w.refuse.Load() {
		review.Response.Result.Status, review.Response.Result.Message = "Failed", "no more barges"
	}
	for _, o := range q.Objects {
		w.objects.Add(1)
		change := strings.NewReplacer("harbour.example.com/v1\",\"kind\"", "harbour.example.com/v2\",\"kind\"", `"length":`, `"size":`, `"hull":`, `"material":`)
		if strings.HasSuffix(q.DesiredAPIVersion, "/v1") {
			change = strings.NewReplacer("harbour.example.com/v2\",\"kind\"", "harbour.example.com/v1\",\"kind\"", `"size":`, `"length":`, `"material":`, `"hull":`)
		}
		o.Raw = []byte(change.Replace(string(o.Raw)))
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, o)
	}
	json.NewEncoder(rw).Encode(&review)
}

// during runs do, and checks how many calls of the webhook, with how many objects, do has caused.
func (w *webhook) during(t *testing.T, what string, calls, objects int64, do func()) {
	t.Helper()
	beforeCalls, beforeObjects := w.calls.Load(), w.objects.Load()
	do()
	if got, n := w.calls.Load()-beforeCalls, w.objects.Load()-beforeObjects; got != calls || n != objects {
		t.Errorf("%s: got %d calls with %d objects, want %d with %d", what, got, n, calls, objects)
	}
}

// barges returns a definition with a conversion webhook.
func (w *webhook) barges(client string, storage string, served ...string) string {
	var versions []string
	for _, v := range []string{"v1", "v2"} {
		field := map[string]string{"v1": "length", "v2": "size"}[v]
		versions = append(versions, fmt.Sprintf(`{"name":%q,"served":%v,"storage":%v,"subresources":{"status":{}},
			"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%q:{"type":"integer"}}}}}},
			"selectableFields":[{"jsonPath":".spec.%[4]s"}],"additionalPrinterColumns":[{"name":"L","type":"integer","jsonPath":".spec.%[4]s"}]}`,
			v, len(served) == 0 || strings.Contains(strings.Join(served, " "), v), v == storage, field))
	}
	return fmt.Sprintf(`{"metadata":{"name":"barges.harbour.example.com"},"spec":{"group":"harbour.example.com","scope":"Namespaced",
		"names":{"plural":"barges","kind":"Barge"},"versions":[%s],"conversion":{"strategy":"Webhook","webhook":{
		"conversionReviewVersions":["v1"],"clientConfig":{%s,"caBundle":%q}}}}}`, strings.Join(versions, ","), client, w.ca)
}

func (w *webhook) url() string { return fmt.Sprintf(`"url":"%s/convert"`, w.URL) }

const (
	bargesV1 = "/apis/harbour.example.com/v1/namespaces/default/barges"
	bargesV2 = "/apis/harbour.example.com/v2/namespaces/default/barges"
	bargeDef = quaytest.Definitions + "/barges.harbour.example.com"
	asMeta   = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

func newBarges(t *testing.T, w *webhook, client string) *quaytest.Quay {
	q := quaytest.New(t)
	q.Group = "harbour.example.com"
	q.Want(201, "POST", quaytest.Definitions, w.barges(client, "v1"), nil)
	q.Until("barges", "Established", "True")
	return q
}

// TestConversionWebhook reads and writes objects in a version that they are not stored in. Each
// state of an object is converted once, in whatever encodings it is read. The objects of a list are
// converted in one call.
func TestConversionWebhook(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, w.url())
	for i := range 20 {
		q.Want(201, "POST", bargesV1, fmt.Sprintf(`{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"b%02d"},"spec":{"length":%[1]d,"lost":1}}`, i), nil)
	}
	w.during(t, "list", 1, 20, func() {
		q.Want(200, "GET", bargesV2, "", map[string]any{"apiVersion": "harbour.example.com/v2", "items.3.apiVersion": "harbour.example.com/v2",
			"items.3.spec.size": 3, "items.3.spec.lost": nil, "items.3.spec.length": nil})
	})
	w.during(t, "what is converted already", 0, 0, func() {
		q.Want(200, "GET", bargesV2+"/b07", "", map[string]any{"spec.size": 7, "metadata.generation": 1})
		q.Want(200, "GET", bargesV2+"?limit=3", "", map[string]any{"items.2.spec.size": 2})
		q.Want(200, "GET", bargesV2, "", map[string]any{"rows.7.cells.1": 7}, "Accept", asTable)
		q.Want(200, "GET", bargesV2+"/b07", "", map[string]any{"metadata.name": "b07", "spec": nil}, "Accept", asMeta)
		q.Want(200, "GET", bargesV2+"?fieldSelector=spec.size%3D9", "", map[string]any{"items.0.metadata.name": "b09", "items.1": nil})
		events := q.Watch(bargesV2)
		for i := range 20 {
			if e := events(); fmt.Sprint(quaytest.Value(e, "object.spec.size")) != fmt.Sprint(i) {
				t.Fatalf("event %d: got %v", i, e)
			}
		}
	})

	// A changed object is converted to the stored version, and the result is converted back.
	w.during(t, "create", 2, 2, func() {
		q.Want(201, "POST", bargesV2, `{"apiVersion":"harbour.example.com/v2","kind":"Barge","metadata":{"name":"c"},"spec":{"size":40}}`, map[string]any{"apiVersion": "harbour.example.com/v2", "spec.size": 40})
	})
	w.during(t, "get in both", 0, 0, func() {
		q.Want(200, "GET", bargesV1+"/c", "", map[string]any{"apiVersion": "harbour.example.com/v1", "spec.length": 40})
		q.Want(200, "GET", bargesV2+"/c", "", map[string]any{"spec.size": 40})
	})
	q.Want(200, "PATCH", bargesV2+"/c", `{"spec":{"size":41}}`, map[string]any{"spec.size": 41, "metadata.generation": 2}, "Content-Type", quaytest.MergePatch)
	q.Want(200, "GET", bargesV1+"/c", "", map[string]any{"spec.length": 41})
	q.Want(200, "PATCH", bargesV2+"/c?fieldManager=m", `{"apiVersion":"harbour.example.com/v2","kind":"Barge","metadata":{"name":"c"},"spec":{"size":41}}`,
		map[string]any{"spec.size": 41, "metadata.managedFields.0.manager": "m", "metadata.managedFields.0.apiVersion": "harbour.example.com/v2"},
		"Content-Type", "application/apply-patch+yaml")
	q.Want(409, "PATCH", bargesV1+"/c?fieldManager=n", `{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"c"},"spec":{"length":1}}`,
		nil, "Content-Type", "application/apply-patch+yaml")
	q.Want(422, "PATCH", bargesV2+"/c", `{"spec":{"size":"x"}}`, map[string]any{"details.causes.0.field": "spec.size"}, "Content-Type", quaytest.MergePatch)
	q.Want(200, "DELETE", bargesV2+"/c", "", map[string]any{"status": "Success"})
}

// TestConversionBeforeSelection checks that selectors match the objects that the client gets. A
// webhook may change labels and move fields, so the server converts objects before it selects among
// them, many in one call, from the cache and from the store.
func TestConversionBeforeSelection(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, w.url())
	barge := func(i int, hull string) string {
		return fmt.Sprintf(`{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"b%d","labels":{"hull":%q}},"spec":{"length":%[1]d}}`, i, hull)
	}
	for i := range 8 {
		q.Want(201, "POST", bargesV1, barge(i, []string{"wood", "steel"}[i%2]), nil)
	}
	w.during(t, "a page before the cache is loaded, and what it takes to fill it", 2, 8, func() {
		q.Want(200, "GET", bargesV2+"?limit=2&fieldSelector=spec.size%3D5", "", map[string]any{"items.0.metadata.name": "b5", "items.1": nil, "metadata.continue": ""})
	})
	w.during(t, "a list by name", 0, 0, func() {
		q.Want(200, "GET", bargesV2+"?fieldSelector=metadata.name!%3Db5,metadata.namespace%3Dother", "", map[string]any{"items.0": nil})
	})
	q.Want(200, "GET", bargesV2+"?labelSelector=material%3Dsteel", "", map[string]any{ // it loads the cache
		"items.0.metadata.name": "b1", "items.0.metadata.labels.material": "steel", "items.3.metadata.name": "b7", "items.4": nil})
	var page map[string]any
	w.during(t, "what is converted already", 0, 0, func() {
		q.Want(200, "GET", bargesV2+"?labelSelector=hull", "", map[string]any{"items.0": nil})
		q.Want(200, "GET", bargesV1+"?labelSelector=material", "", map[string]any{"items.0": nil})
		q.Want(200, "GET", bargesV1+"?labelSelector=hull%3Dwood", "", map[string]any{"items.3.metadata.name": "b6"})
		_, page = q.Do("GET", bargesV2+"?limit=3&labelSelector=material%3Dwood,hull!%3Dsteel", "")
		q.Want(200, "GET", bargesV2+"?limit=3&labelSelector=material%3Dwood,hull!%3Dsteel&continue="+fmt.Sprint(quaytest.Value(page, "metadata.continue")), "",
			map[string]any{"items.0.metadata.name": "b6", "items.1": nil, "metadata.continue": ""})
	})
	if got := quaytest.Value(page, "items.2.metadata.name"); got != "b4" || quaytest.Value(page, "metadata.remainingItemCount") != nil {
		t.Errorf("a page: got %v", page)
	}

	wooden := q.Watch(bargesV2, "&labelSelector=material%3Dwood&resourceVersion="+fmt.Sprint(quaytest.Value(page, "metadata.resourceVersion")))
	event := func(kind, name string, size float64) {
		t.Helper()
		e := wooden()
		if e["type"] != kind || quaytest.Value(e, "object.metadata.name") != name || quaytest.Value(e, "object.spec.size") != size ||
			quaytest.Value(e, "object.metadata.labels.material") != "wood" || quaytest.Value(e, "object.apiVersion") != "harbour.example.com/v2" {
			t.Errorf("watch: got %v, want %s %s of size %v", e, kind, name, size)
		}
	}
	relabel := func(name, hull string) (revision any) {
		_, tree := q.Do("PATCH", bargesV1+"/"+name, fmt.Sprintf(`{"metadata":{"labels":{"hull":%q}}}`, hull), "Content-Type", quaytest.MergePatch)
		return quaytest.Value(tree, "metadata.resourceVersion")
	}
	relabel("b1", "wood")
	event("ADDED", "b1", 1)
	q.Want(200, "PATCH", bargesV1+"/b1", `{"spec":{"length":10}}`, nil, "Content-Type", quaytest.MergePatch)
	event("MODIFIED", "b1", 10)
	relabel("b3", "iron") // no watch selects it, before or after
	relabel("b1", "steel")
	event("DELETED", "b1", 10)
	w.during(t, "a deletion, whose last state is known", 0, 0, func() {
		q.Want(200, "DELETE", bargesV1+"/b0", "", nil)
		event("DELETED", "b0", 0)
	})
	initial := q.Watch(bargesV2, "&labelSelector=material%3Dwood")
	for _, name := range []string{"b2", "b4", "b6"} {
		if e := initial(); e["type"] != "ADDED" || quaytest.Value(e, "object.metadata.name") != name {
			t.Errorf("the initial state: got %v, want %s", e, name)
		}
	}
	q.Want(200, "DELETE", bargesV2+"?labelSelector=material%3Dwood", "", map[string]any{"items.2.metadata.name": "b6", "items.3": nil})
	q.Want(200, "GET", bargesV1, "", map[string]any{"items.0.metadata.name": "b1", "items.4": nil})
}

// TestConversionOnce: many readers that request one object at the same time share one call. If the
// reader whose request made the call goes away, another reader makes it.
func TestConversionOnce(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, w.url())
	for _, name := range []string{"a", "b"} {
		q.Want(201, "POST", bargesV1, fmt.Sprintf(`{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":%q},"spec":{"length":1}}`, name), nil)
	}
	gate := make(chan struct{})
	w.hang.Store(&gate)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, "GET", q.URL+bargesV2+"/a", nil)
		resp, err := q.Client.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		first <- err
	}()
	<-w.asked
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			path, at := bargesV2+"/a", "spec.size"
			if i%2 == 0 {
				path, at = bargesV2, "items.0.spec.size"
			}
			q.Want(200, "GET", path, "", map[string]any{at: 1})
		})
	}
	// Readers of the stored version, and writers, do not wait for the webhook.
	q.Want(200, "GET", bargesV1, "", map[string]any{"items.1.spec.length": 1})
	events := q.Watch(bargesV1)
	events()
	q.Want(200, "PATCH", bargesV1+"/b", `{"spec":{"length":2}}`, map[string]any{"spec.length": 2}, "Content-Type", quaytest.MergePatch)
	for e := events(); quaytest.Value(e, "object.spec.length") != float64(2); e = events() {
	}
	<-w.asked // the lists need b, too, in either state
	cancel()
	if err := <-first; err == nil {
		t.Error("the first reader was answered")
	}
	<-w.asked // another reader has asked in its place
	w.hang.Store(nil)
	close(gate)
	wg.Wait()
	if n := w.calls.Load(); n > 6 {
		t.Errorf("got %d calls for 2 objects in 3 states", n)
	}
}

// TestConversionFails checks the errors of a conversion that fails: clients of the other version
// get kube-apiserver's texts, and clients of the stored version see no error.
func TestConversionFails(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, w.url())
	q.Want(201, "POST", bargesV1, `{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"a"},"spec":{"length":1}}`, nil)
	w.refuse.Store(true)
	said := func(from string) map[string]any {
		return map[string]any{"message": "conversion webhook for harbour.example.com/" + from + ", Kind=Barge failed: no more barges", "reason": nil, "code": 500}
	}
	q.Want(500, "GET", bargesV2+"/a", "", said("v1"))
	q.Want(500, "GET", bargesV2, "", said("v1"))
	q.Want(500, "GET", bargesV2, "", said("v1"), "Accept", asTable)
	q.Want(500, "POST", bargesV2, `{"apiVersion":"harbour.example.com/v2","kind":"Barge","metadata":{"name":"b"},"spec":{"size":1}}`, said("v2"))
	q.Want(500, "PATCH", bargesV2+"/a", `{"spec":{"size":2}}`, said("v1"), "Content-Type", quaytest.MergePatch)
	q.Want(500, "DELETE", bargesV2+"/a", "", said("v1"))
	q.Want(500, "DELETE", bargesV2, "", said("v1"))
	e := q.Watch(bargesV2)()
	if e["type"] != "ERROR" || quaytest.Value(e, "object.message") != said("v1")["message"] {
		t.Errorf("watch: got %v, want an ERROR that says why", e)
	}
	q.Want(200, "PATCH", bargesV1+"/a", `{"spec":{"length":3}}`, map[string]any{"spec.length": 3}, "Content-Type", quaytest.MergePatch)
	w.refuse.Store(false)
	q.Want(200, "GET", bargesV2+"/a", "", map[string]any{"spec.size": 3})
	w.Close()
	q.Want(200, "PATCH", bargesV1+"/a", `{"spec":{"length":4}}`, nil, "Content-Type", quaytest.MergePatch)
	_, tree := q.Do("GET", bargesV2+"/a", "")
	want := fmt.Sprintf(`conversion webhook for harbour.example.com/v1, Kind=Barge failed: Post "%s/convert?timeout=30s": dial tcp 127.0.0.1:%s: connect: connection refused`, w.URL, w.port)
	if tree["message"] != want {
		t.Errorf("no webhook listens: got %q\nwant %q", tree["message"], want)
	}
	q.Want(200, "DELETE", bargesV1+"/a", "", nil)
}

// TestConversionMetrics checks that conversions are counted by definition and by failure, and that
// the series of a definition are deleted with the definition.
func TestConversionMetrics(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, w.url())
	q.Want(201, "POST", bargesV1, `{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"a"},"spec":{"length":1}}`, nil)
	w.refuse.Store(true)
	q.Want(500, "GET", bargesV2+"/a", "", nil)
	w.refuse.Store(false)
	q.Want(200, "GET", bargesV2+"/a", "", nil)
	counted := func(line string) bool {
		_, text := q.Raw("GET", "/metrics", "")
		return strings.Contains(string(text), "\n"+line+"\n")
	}
	const ofBarges = `apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="barges.harbour.example.com",from_version="v1",succeeded="true",to_version="v2"} 1`
	for _, line := range []string{
		ofBarges, strings.Replace(ofBarges, "true", "false", 1),
		`apiserver_conversion_webhook_request_total{failure_type="",result="success"} 1`,
		`apiserver_conversion_webhook_request_total{failure_type="conversion_webhook_malformed_response_failure",result="failure"} 1`,
		`apiserver_conversion_webhook_duration_seconds_count{failure_type="",result="success"} 1`,
	} {
		if !counted(line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	q.Want(200, "DELETE", bargeDef, "", nil)
	for end := time.Now().Add(20 * time.Second); counted(ofBarges) && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if counted(ofBarges) {
		t.Errorf("/metrics has a definition that is gone: %s", ofBarges)
	}
}

// TestConversionService reaches a webhook through a Service, whose DNS name must be in the
// certificate. The connections to a webhook close when no definition uses the webhook.
func TestConversionService(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, fmt.Sprintf(`"service":{"namespace":"default","name":"converter","path":"/convert","port":%s}`, w.port))
	q.Want(201, "POST", bargesV1, `{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"a"},"spec":{"length":1}}`, nil)
	const failed = `conversion webhook for harbour.example.com/v1, Kind=Barge failed: Post "https://converter.default.svc:%s/convert?timeout=30s": `
	q.Want(500, "GET", bargesV2+"/a", "", map[string]any{"message": fmt.Sprintf(failed, w.port) + `service "converter" not found`})
	const services = "/api/v1/namespaces/default/services"
	q.Want(201, "POST", services, `{"metadata":{"name":"converter"},"spec":{"clusterIP":"None","ports":[{"port":1}]}}`, nil)
	q.Want(500, "GET", bargesV2+"/a", "", map[string]any{"message": fmt.Sprintf(failed, w.port) + `cannot route to service with ClusterIP "None"`})
	q.Want(200, "DELETE", services+"/converter", "", nil)
	q.Want(201, "POST", services, `{"metadata":{"name":"converter"},"spec":{"ports":[{"port":1}]}}`, nil)
	q.Want(500, "GET", bargesV2+"/a", "", map[string]any{"message": fmt.Sprintf(failed, w.port) + "no service port " + w.port + ` found for service "converter"`})
	q.Want(200, "DELETE", services+"/converter", "", nil)
	q.Want(201, "POST", services, `{"metadata":{"name":"converter"},"spec":{"type":"ExternalName","externalName":"localhost"}}`, nil)
	q.Want(200, "GET", bargesV2+"/a", "", map[string]any{"spec.size": 1})

	q.Want(200, "PATCH", bargeDef, `{"spec":{"conversion":{"webhook":null,"strategy":"None"}}}`, nil, "Content-Type", quaytest.MergePatch)
	for end := time.Now().Add(20 * time.Second); w.open.Load() > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if n := w.open.Load(); n > 0 {
		t.Errorf("%d connections to an unused webhook", n)
	}
	q.Want(200, "GET", bargesV2+"/a", "", map[string]any{"apiVersion": "harbour.example.com/v2", "spec.size": nil})
}

// TestStorageVersionChanges changes the storage version: objects in the old version can still be
// read and written, watches go on, and the watches of a version that is no longer served end.
func TestStorageVersionChanges(t *testing.T) {
	w := newWebhook(t)
	q := newBarges(t, w, w.url())
	q.Want(201, "POST", bargesV1, `{"apiVersion":"harbour.example.com/v1","kind":"Barge","metadata":{"name":"old"},"spec":{"length":1}}`, nil)
	one, two := q.Watch(bargesV1), q.Watch(bargesV2)
	one()
	two()
	change := func(storage string, served ...string) {
		t.Helper()
		_, tree := q.Do("GET", bargeDef, "")
		body := strings.Replace(w.barges(w.url(), storage, served...), `"metadata":{`, fmt.Sprintf(`"metadata":{"resourceVersion":%q,`, quaytest.Value(tree, "metadata.resourceVersion")), 1)
		q.Want(200, "PUT", bargeDef, body, nil)
	}
	change("v2")
	q.Want(200, "GET", bargeDef, "", map[string]any{"status.storedVersions": "[v1 v2]"})
	q.Want(201, "POST", bargesV2, `{"apiVersion":"harbour.example.com/v2","kind":"Barge","metadata":{"name":"new"},"spec":{"size":2}}`, nil)
	q.Want(200, "GET", bargesV2, "", map[string]any{"items.0.spec.size": 2, "items.1.spec.size": 1})
	q.Want(200, "GET", bargesV1, "", map[string]any{"items.0.spec.length": 2, "items.1.spec.length": 1})
	if e := one(); quaytest.Value(e, "object.spec.length") != float64(2) {
		t.Errorf("the watch in v1: got %v", e)
	}
	if e := two(); quaytest.Value(e, "object.spec.size") != float64(2) {
		t.Errorf("the watch in v2: got %v", e)
	}
	q.Want(200, "PATCH", bargesV1+"/old", `{"spec":{"length":5}}`, map[string]any{"spec.length": 5}, "Content-Type", quaytest.MergePatch)
	if e := two(); quaytest.Value(e, "object.spec.size") != float64(5) || e["type"] != "MODIFIED" {
		t.Errorf("the watch in v2: got %v", e)
	}
	one()
	change("v2", "v2")
	if e := one(); e != nil {
		t.Errorf("the watch in a version that is no longer served: got %v, want its end", e)
	}
	q.Gone(bargesV1)
	q.Want(200, "PATCH", bargesV2+"/old", `{"spec":{"size":6}}`, nil, "Content-Type", quaytest.MergePatch)
	if e := two(); quaytest.Value(e, "object.spec.size") != float64(6) {
		t.Errorf("the watch in v2: got %v", e)
	}
}

// TestStoredVersionIsGone removes a version from a definition while an object is stored in it.
// Requests that read that object fail and say why, and requests for another object succeed.
func TestStoredVersionIsGone(t *testing.T) {
	q := quaytest.New(t)
	q.Define("rafts", "Raft", quaytest.Version("v1", true), quaytest.Version("v2", false))
	q.Want(201, "POST", q.Path("rafts", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Raft","metadata":{"name":"old"}}`, nil)
	def := quaytest.Definitions + "/rafts." + q.Group
	versions := func(list ...string) string { return `{"spec":{"versions":[` + strings.Join(list, ",") + `]}}` }
	q.Want(200, "PATCH", def, versions(quaytest.Version("v1", false), quaytest.Version("v2", true)), nil, "Content-Type", quaytest.MergePatch)
	q.Want(200, "PATCH", def+"/status", `{"status":{"storedVersions":["v2"]}}`, nil, "Content-Type", quaytest.MergePatch)
	q.Want(200, "PATCH", def, versions(quaytest.Version("v2", true)), nil, "Content-Type", quaytest.MergePatch)
	q.Gone(q.Path("rafts", "v1"))
	q.Want(201, "POST", q.Path("rafts", "v2"), `{"apiVersion":"quay.example.com/v2","kind":"Raft","metadata":{"name":"new"}}`, nil)
	lost := map[string]any{"message": "request to convert CR from an invalid group/version: " + q.Group + "/v1", "reason": nil, "code": 500}
	q.Want(500, "GET", q.Path("rafts", "v2")+"/old", "", lost)
	q.Want(500, "GET", q.Path("rafts", "v2"), "", lost)
	q.Want(500, "DELETE", q.Path("rafts", "v2")+"/old", "", lost)
	q.Want(200, "GET", q.Path("rafts", "v2")+"/new", "", nil)
	q.Want(200, "PATCH", def, versions(quaytest.Version("v1", false), quaytest.Version("v2", true)), nil, "Content-Type", quaytest.MergePatch)
	code := 0
	for end := time.Now().Add(20 * time.Second); code != 200 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		code, _ = q.Raw("GET", q.Path("rafts", "v2")+"/old", "")
	}
	q.Want(200, "GET", q.Path("rafts", "v2")+"/old", "", map[string]any{"apiVersion": q.Group + "/v2"})
}
