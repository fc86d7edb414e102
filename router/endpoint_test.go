package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

const (
	maps     = "/api/v1/namespaces/ns/configmaps"
	protobuf = "application/vnd.kubernetes.protobuf"
	table    = "application/json;as=Table;g=meta.k8s.io;v=v1"
	partial  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	partials = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

func TestGetForms(t *testing.T) {
	o := configMap("a", "text")
	rr := core(t, &fake{objects: []request.Encoded{o}})
	for _, tt := range []struct {
		accept string
		code   int
		typ    string
		body   string // the response contains it
	}{
		{"", 200, "application/json", o.json + "\n"},
		{"application/yaml", 200, "application/yaml", "  k: text\n"},
		{protobuf, 200, protobuf, "k8s\x00"},
		{partial, 200, "application/json", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"`},
		{table, 200, "application/json", `"kind":"Table"`},
		{partials, 406, "application/json", "is not a list (*core.ConfigMap)"},
		{"text/html", 406, "application/json", "406: Not Acceptable"},
		{"application/json;stream=watch", 200, "application/json", o.json + "\n"},
		{"application/json;pretty=1", 200, "application/json", "\n  \"metadata\": {"},
	} {
		w := serve(t, rr, "GET", maps+"/a", "", "Accept", tt.accept)
		if w.Code != tt.code || w.Header().Get("Content-Type") != tt.typ || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("Accept %q: got %d %s %q, want %d %s %q", tt.accept, w.Code, w.Header().Get("Content-Type"), w.Body, tt.code, tt.typ, tt.body)
		}
		if n := w.Header().Get("Content-Length"); n != "" && n != fmt.Sprint(w.Body.Len()) {
			t.Errorf("Accept %q: Content-Length %s of %d bytes", tt.accept, n, w.Body.Len())
		}
	}
	built := o.built
	serve(t, rr, "GET", maps+"/a", "", "Accept", protobuf)
	if o.built != built {
		t.Error("a form is made again")
	}
	if w := serve(t, rr, "GET", maps+"/a?pretty=1", ""); !strings.Contains(w.Body.String(), "\n  \"metadata\": {") {
		t.Errorf("pretty: got %s", w.Body)
	}
}

// TestListForms lists more objects than one flush holds, in every form, and reads the lists back.
func TestListForms(t *testing.T) {
	f := &fake{}
	const n = 300
	for i := range n {
		f.objects = append(f.objects, configMap(fmt.Sprintf("c%03d", i), strings.Repeat("x", 1000)))
	}
	rr := core(t, f)
	names := func(items []struct{ Metadata struct{ Name string } }) (out []string) {
		for _, i := range items {
			out = append(out, i.Metadata.Name)
		}
		return out
	}
	for _, accept := range []string{"", partials, "pretty"} {
		path := maps
		if accept == "pretty" {
			path, accept = maps+"?pretty=true", ""
		}
		w := serve(t, rr, "GET", path, "", "Accept", accept)
		var list struct {
			Kind, APIVersion string
			Metadata         struct{ ResourceVersion string }
			Items            []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatalf("Accept %q: %v in %.200s", accept, err, w.Body)
		}
		if got := names(list.Items); len(got) != n || got[n-1] != "c299" || list.Metadata.ResourceVersion != "9" || !strings.HasSuffix(list.Kind, "List") {
			t.Errorf("Accept %q: got %d items, %s, version %s", accept, len(got), list.Kind, list.Metadata.ResourceVersion)
		}
		if has := bytes.Contains(w.Body.Bytes(), []byte(`"kind":"ConfigMap"`)); has {
			t.Errorf("Accept %q: items say their kind", accept)
		}
	}
	w := serve(t, rr, "GET", maps, "", "Accept", protobuf)
	decoded, err := testConfig(t).Codecs.Decode(codec.DecodeRequest{Data: w.Body.Bytes(), Type: codec.Protobuf})
	if err != nil {
		t.Fatal(err)
	}
	if list := decoded.Object.(*corev1.ConfigMapList); len(list.Items) != n || list.ResourceVersion != "9" || list.Items[n-1].Name != "c299" {
		t.Errorf("protobuf: got %d items", len(list.Items))
	}
	if w = serve(t, rr, "GET", maps, "", "Accept", "application/yaml"); strings.Count(w.Body.String(), "name: c") != n {
		t.Errorf("yaml: got %.300s", w.Body)
	}
	for include, want := range map[string]string{"": `"kind":"PartialObjectMetadata"`, "None": `"object":null`, "Object": `"kind":"ConfigMap"`} {
		w := serve(t, rr, "GET", maps+"?includeObject="+include, "", "Accept", table)
		if got := strings.Count(w.Body.String(), want); got != n {
			t.Errorf("Table with includeObject %q: %d rows have %s, want %d", include, got, want, n)
		}
	}
	if w := serve(t, rr, "GET", maps+"?includeObject=x", "", "Accept", table); w.Code != 400 {
		t.Errorf("includeObject=x: got %d", w.Code)
	}
	if w := serve(t, rr, "GET", maps, "", "Accept", partial); w.Code != 406 {
		t.Errorf("the form of one object: got %d, want 406", w.Code)
	}
}

// failingWriter is a ResponseWriter that fails after some bytes.
type failingWriter struct {
	*httptest.ResponseRecorder
	left int
}

func (b *failingWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the connection is gone")
	}
	return b.ResponseRecorder.Write(p)
}

// TestListIsCut: a list that cannot be completed is aborted, whatever has failed.
func TestListIsCut(t *testing.T) {
	f := &fake{}
	for i := range 300 {
		f.objects = append(f.objects, configMap(fmt.Sprint(i), strings.Repeat("x", 1000)))
	}
	aborted := func(name, accept string, w http.ResponseWriter) {
		t.Helper()
		defer func() {
			if got := recover(); got != http.ErrAbortHandler {
				t.Errorf("%s: got panic %v, want http.ErrAbortHandler", name, got)
			}
		}()
		r, _ := parsed(t, "GET", maps, "", "Accept", accept)
		core(t, f).ServeHTTP(w, r)
	}
	aborted("a dead connection", "", &failingWriter{httptest.NewRecorder(), 100_000})
	aborted("a dead connection at the end", "", &failingWriter{httptest.NewRecorder(), 300_000})
	aborted("a dead connection, protobuf", protobuf, &failingWriter{httptest.NewRecorder(), 100_000})
	f.objects = append(f.objects, &object{json: `{"kind":"ConfigMap"`, forms: map[uint32][]byte{}})
	for _, accept := range []string{protobuf, partials} {
		if w := serve(t, core(t, f), "GET", maps, "", "Accept", accept); w.Code != 500 {
			t.Errorf("an object that cannot be converted, as %s: got %d, want 500 for the whole list", accept, w.Code)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		says string
	}{
		{meta.NewNotFound(meta.GroupResource{Resource: "things"}, "a"), 404, `things \"a\" not found`},
		{errors.New("plain"), 500, "plain"},
		{fmt.Errorf("wrapped: %w", meta.NewBadRequest("inner")), 400, "inner"},
		{context.DeadlineExceeded, 504, "request did not complete"},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), 504, "request did not complete"},
		{meta.NewTooManyRequests("busy", 7), 429, "busy"},
	} {
		w := serve(t, core(t, &fake{err: tt.err}), "GET", maps+"/a", "")
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%v: got %d %s", tt.err, w.Code, w.Body)
		}
		if tt.code == 429 && w.Header().Get("Retry-After") != "7" {
			t.Errorf("Retry-After: got %q", w.Header().Get("Retry-After"))
		}
	}
	f := &fake{err: meta.NewBadRequest("x")}
	for accept, typ := range map[string]string{"application/yaml": "application/yaml", protobuf: protobuf, table: "application/json", "text/html": "application/json"} {
		if w := serve(t, core(t, f), "GET", maps+"/a", "", "Accept", accept); w.Header().Get("Content-Type") != typ {
			t.Errorf("Accept %q: got an error in %s, want %s", accept, w.Header().Get("Content-Type"), typ)
		}
	}
	for accept, indented := range map[string]bool{"application/json": false, "application/*": false, "text/html": true, table: true, "application/json;pretty=1": true} {
		if w := serve(t, core(t, f), "GET", "/api/v1/nothing", "", "Accept", accept); strings.HasPrefix(w.Body.String(), "{\n  ") != indented {
			t.Errorf("Accept %q: got %s, want it indented: %v", accept, w.Body, indented)
		}
	}
}

func TestCreateAndUpdateBodies(t *testing.T) {
	const patchTypes = "the body of the request was in an unknown format - accepted media types include: " +
		`application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"`
	good := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`
	for _, tt := range []struct {
		name, method, target, body string
		header                     []string
		code                       int
		says                       string
	}{
		{"create", "POST", maps, good, nil, 201, ""},
		{"no kind", "POST", maps, `{"metadata":{"name":"a"}}`, nil, 201, ""},
		{"yaml", "POST", maps, "metadata:\n  name: a\n", []string{"Content-Type", "application/yaml"}, 201, ""},
		{"other kind", "POST", maps, `{"kind":"Secret","apiVersion":"v1"}`, nil, 400, "Secret"},
		{"other version", "POST", maps, `{"kind":"ConfigMap","apiVersion":"v9"}`, nil, 400, ""},
		{"unknown kind", "POST", maps, `{"kind":"X","apiVersion":"x/v1"}`, nil, 400, ""},
		{"empty", "POST", maps, "", nil, 400, ""},
		{"no object", "POST", maps, `[]`, nil, 400, ""},
		{"half", "POST", maps, `{"metadata":`, nil, 400, ""},
		{"type", "POST", maps, good, []string{"Content-Type", "text/html"}, 415, ""},
		{"dryRun", "POST", maps + "?dryRun=Some", good, nil, 422, "dryRun"},
		{"strict", "POST", maps + "?fieldValidation=Strict", `{"metadata":{"name":"a"},"x":1}`, nil, 400, `unknown field \"x\"`},
		{"strict twice", "POST", maps + "?fieldValidation=Strict", `{"metadata":{"name":"a","name":"a"}}`, nil, 400, "duplicate"},
		{"ignored", "POST", maps + "?fieldValidation=Ignore", `{"metadata":{"name":"a"},"x":1}`, nil, 201, ""},
		{"unknown validation", "POST", maps + "?fieldValidation=Maybe", good, nil, 422, "fieldValidation"},
		{"accept", "POST", maps, good, []string{"Accept", "text/html"}, 406, ""},
		{"update", "PUT", maps + "/a", good, nil, 200, ""},
		{"no name", "PUT", maps + "/a", `{}`, nil, 400, "the name of the object (a based on URL) was undeterminable"},
		{"other name", "PUT", maps + "/b", good, nil, 400, "does not match the name on the URL"},
		{"other namespace", "PUT", maps + "/a", `{"metadata":{"name":"a","namespace":"x"}}`, nil, 400, "namespace"},
		{"patch", "PATCH", maps + "/a", `{"data":{"x":"y"}}`, []string{"Content-Type", mergePatch}, 200, ""},
		{"json patch", "PATCH", maps + "/a", `[{"op":"add","path":"/data/x","value":"y"}]`, []string{"Content-Type", jsonPatch}, 200, ""},
		{"strategic patch", "PATCH", maps + "/a", `{"data":{"x":"y"}}`, []string{"Content-Type", strategicPatch}, 200, ""},
		{"strategic patch, strictly", "PATCH", maps + "/a?fieldValidation=Strict", `{"x":1}`, []string{"Content-Type", strategicPatch}, 422,
			`strict decoding error: unknown field \"x\"`},
		{"patch type", "PATCH", maps + "/a", `{}`, []string{"Content-Type", "application/json"}, 415, ""},
		{"apply as CBOR", "PATCH", maps + "/a", `{}`, []string{"Content-Type", "application/apply-patch+cbor"}, 415, "415: Unsupported Media Type"},
		{"several patch types", "PATCH", maps + "/a", `{}`, []string{"Content-Type", "text/plain, " + mergePatch}, 415, patchTypes},
		{"a space after a patch type", "PATCH", maps + "/a", `{}`, []string{"Content-Type", mergePatch + " ; charset=utf-8"}, 415, patchTypes},
		{"parameters of a patch type", "PATCH", maps + "/a", `{"data":{"x":"y"}}`, []string{"Content-Type", mergePatch + ";;charset"}, 200, ""},
		{"patch without type", "PATCH", maps + "/a", `{}`, nil, 415, ""},
		{"no patch", "PATCH", maps + "/a", `[1`, []string{"Content-Type", jsonPatch}, 400, ""},
		{"patch renames", "PATCH", maps + "/a", `{"metadata":{"name":"b"}}`, []string{"Content-Type", mergePatch}, 400, "does not match"},
		{"patch makes no object", "PATCH", maps + "/a", `{"data":5}`, []string{"Content-Type", mergePatch}, 422, "patch"},
		{"patch changes the kind", "PATCH", maps + "/a", `{"kind":"Secret"}`, []string{"Content-Type", mergePatch}, 422, ""},
		{"patch takes the version", "PATCH", maps + "/a", `{"apiVersion":null}`, []string{"Content-Type", mergePatch}, 400, "undeterminable"},
		{"patch takes the version, strictly", "PATCH", maps + "/a?fieldValidation=Strict", `{"apiVersion":""}`, []string{"Content-Type", mergePatch}, 422,
			"strict decoding error: unknown field"},
		{"patch takes the version of another kind", "PATCH", maps + "/a", `{"apiVersion":null,"kind":"x"}`, []string{"Content-Type", mergePatch}, 422,
			"is registered for the internal version of group"},
		{"patch of a wrong type", "PATCH", maps + "/a", `[5]`, []string{"Content-Type", jsonPatch}, 400, "error decoding patch: "},
		{"patch of a wrong type, unchecked", "PATCH", maps + "/a?fieldValidation=Ignore", `[5]`, []string{"Content-Type", jsonPatch}, 400, "jsonpatch.Operation"},
		{"patch is a list, unchecked", "PATCH", maps + "/a?fieldValidation=Ignore", `[5]`, []string{"Content-Type", mergePatch}, 422, "[5]"},
		{"json patch test", "PATCH", maps + "/a", `[{"op":"test","path":"/data/k","value":"no"}]`, []string{"Content-Type", jsonPatch}, 422, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{objects: []request.Encoded{configMap("a", "v")}}
			w := serve(t, core(t, f), tt.method, tt.target, tt.body, tt.header...)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("got %d %s, want %d with %q", w.Code, w.Body, tt.code, tt.says)
			}
		})
	}
}

func TestRepeatedOwnersWarn(t *testing.T) {
	owner := `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}`
	body := `{"metadata":{"name":"a","ownerReferences":[` + owner + "," + owner + `]}}`
	for method, target := range map[string]string{"POST": maps, "PUT": maps + "/a"} {
		f := &fake{objects: []request.Encoded{configMap("a", "v")}}
		r, info := parsed(t, method, target, body)
		core(t, f).ServeHTTP(httptest.NewRecorder(), r)
		if len(info.Warnings) != 1 || !strings.HasSuffix(info.Warnings[0], "duplicate UID(s) observed: u") {
			t.Errorf("%s: warnings: got %q", method, info.Warnings)
		}
		if f.body == nil || len(f.body.GetObjectMeta().OwnerReferences) != 1 {
			t.Errorf("%s: got %v, want one owner", method, f.body)
		}
	}
}

func TestUnknownFieldsWarn(t *testing.T) {
	r, info := parsed(t, "POST", maps, `{"metadata":{"name":"a"},"x":1,"data":{"a":"1","a":"2"}}`)
	core(t, &fake{objects: []request.Encoded{configMap("a", "v")}}).ServeHTTP(httptest.NewRecorder(), r)
	if got := fmt.Sprint(info.Warnings); got != `[duplicate field "data.a" unknown field "x"]` && got != `[unknown field "x" duplicate field "data.a"]` {
		t.Errorf("warnings: got %s", got)
	}
}

func TestDeleteOptions(t *testing.T) {
	const options = `{"kind":"DeleteOptions","apiVersion":"v1",`
	for _, tt := range []struct {
		name, query, body string
		code              int
		want              string // the options for the store, as JSON
	}{
		{"nothing", "", "", 200, `{}`},
		{"query", "?gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All", "", 200, `{"gracePeriodSeconds":5,"propagationPolicy":"Orphan","dryRun":["All"]}`},
		{"body", "", options + `"gracePeriodSeconds":5,"preconditions":{"uid":"u"}}`, 200, `{"gracePeriodSeconds":5,"preconditions":{"uid":"u"}}`},
		{"both: the query counts for what the body lacks", "?dryRun=All&gracePeriodSeconds=1", options + `"gracePeriodSeconds":5}`, 200, `{"gracePeriodSeconds":5,"dryRun":["All"]}`},
		{"orphans in the query", "?orphanDependents=true", "", 200, `{"orphanDependents":true}`},
		{"orphans in the query, a body without a policy", "?orphanDependents=true", options + `"gracePeriodSeconds":5}`, 200, `{"gracePeriodSeconds":5,"orphanDependents":true}`},
		{"orphans in the query, a policy in the body", "?orphanDependents=true", options + `"propagationPolicy":"Foreground"}`, 200, `{"propagationPolicy":"Foreground"}`},
		{"a policy in the query, orphans in the body", "?propagationPolicy=Orphan", options + `"orphanDependents":false}`, 200, `{"orphanDependents":false}`},
		{"both in the body", "", options + `"orphanDependents":false,"propagationPolicy":"Orphan"}`, 422, ""},
		{"preconditions in the query", "?uid=u&resourceVersion=5", "", 200, `{"preconditions":{"uid":"u","resourceVersion":"5"}}`},
		{"preconditions beside a body", "?uid=u&resourceVersion=5", options + `"gracePeriodSeconds":5}`, 200, `{"gracePeriodSeconds":5}`},
		{"body without kind", "", `{"gracePeriodSeconds":0}`, 200, `{"gracePeriodSeconds":0}`},
		{"other kind", "", `{"kind":"ConfigMap","apiVersion":"v1"}`, 400, ""},
		{"no JSON", "", `{`, 400, ""},
		{"bad policy", "?propagationPolicy=Never", "", 422, ""},
		{"empty policy", "?propagationPolicy=", "", 422, ""},
		{"both policies", "?propagationPolicy=Orphan&orphanDependents=true", "", 422, ""},
		{"no number", "?gracePeriodSeconds=x", "", 400, ""},
		{"an unreadable object, dry run", "?dryRun=All&ignoreStoreReadErrorWithClusterBreakingPotential=true", "", 422, ""},
		{"an unreadable object, with a policy", "?propagationPolicy=Orphan", options + `"ignoreStoreReadErrorWithClusterBreakingPotential":true}`, 422, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{objects: []request.Encoded{configMap("a", "v")}}
			for _, target := range []string{maps + "/a", maps} { // an object, and a collection
				w := serve(t, core(t, f), "DELETE", target+tt.query, tt.body, "Content-Type", "application/json")
				if w.Code != tt.code {
					t.Fatalf("%s: got %d %s, want %d", target, w.Code, w.Body, tt.code)
				}
				if tt.code != 200 {
					continue
				}
				f.delete.TypeMeta = meta.TypeMeta{}
				if got, _ := json.Marshal(f.delete); string(got) != tt.want {
					t.Errorf("%s: got options %s, want %s", target, got, tt.want)
				}
			}
		})
	}
}

// TestDeleteUnread: unreadable objects are deleted one by one. The body takes precedence over the
// query.
func TestDeleteUnread(t *testing.T) {
	f := &fake{objects: []request.Encoded{configMap("a", "v")}}
	const option = "ignoreStoreReadErrorWithClusterBreakingPotential"
	for body, want := range map[string]bool{"": true, `{"` + option + `":false}`: false} {
		if w := serve(t, core(t, f), "DELETE", maps+"/a?"+option+"=true", body, "Content-Type", "application/json"); w.Code != 200 {
			t.Fatalf("%s: got %d %s", body, w.Code, w.Body)
		}
		if got := f.delete.IgnoreStoreReadErrorWithClusterBreakingPotential; got == nil || *got != want {
			t.Errorf("%q: got %v, want %v", body, got, want)
		}
	}
	w := serve(t, core(t, f), "DELETE", maps+"?"+option+"=true", "")
	want := `DeleteOptions.meta.k8s.io \"\" is invalid: ` + option + `: Invalid value: true: is not allowed with DELETECOLLECTION, try again after removing the option`
	if w.Code != 422 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want 422 with %s", w.Code, w.Body, want)
	}
	if w := serve(t, core(t, f), "DELETE", maps+"?"+option+"=false", ""); w.Code != 200 {
		t.Errorf("without: got %d %s", w.Code, w.Body)
	}
}

func TestListOptions(t *testing.T) {
	for _, tt := range []struct {
		query string
		code  int
		says  string
	}{
		{"limit=5&continue=x&labelSelector=a%3Db&fieldSelector=metadata.name%3Da", 200, ""},
		{"limit=-1", 200, ""},
		{"limit=9223372036854775807", 200, ""},
		{"limit=9223372036854775808", 400, "value out of range"},
		{"limit=x", 400, "invalid syntax"},
		{"timeoutSeconds=x", 400, "invalid syntax"},
		{"limit=1&limit=x", 200, ""}, // the first counts
		{"labelSelector=%3D%3D%3D", 400, ""},
		{"labelSelector=a+in+(", 400, ""},
		{"fieldSelector=a", 400, ""},
		{"resourceVersionMatch=Exact", 422, "resourceVersionMatch"},
		{"resourceVersion=5&resourceVersionMatch=Odd", 422, ""},
		{"sendInitialEvents=true", 422, ""},
	} {
		w := serve(t, core(t, &fake{}), "GET", maps+"?"+tt.query, "")
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("?%s: got %d %s, want %d with %q", tt.query, w.Code, w.Body, tt.code, tt.says)
		}
	}
}

// failingBody is a body that ends in an error.
type failingBody struct {
	data io.Reader
	err  error
}

func (s *failingBody) Read(p []byte) (int, error) {
	n, err := s.data.Read(p)
	if err == io.EOF {
		err = s.err
	}
	return n, err
}

func TestBodies(t *testing.T) {
	const limit = 200 << 10
	for _, tt := range []struct {
		name   string
		body   io.Reader
		length int64 // announced; -1 for unknown
		size   int
		code   int // of the error; 0 for none
	}{
		{"none", nil, 0, 0, 0},
		{"small", strings.NewReader("abc"), 3, 3, 0},
		{"of unknown length", strings.NewReader("abc"), -1, 3, 0},
		{"as large as may be", strings.NewReader(strings.Repeat("x", limit)), limit, limit, 0},
		{"as large as may be, unknown", strings.NewReader(strings.Repeat("x", limit)), -1, limit, 0},
		{"announced too large", strings.NewReader(""), limit + 1, 0, 413},
		{"too large", strings.NewReader(strings.Repeat("x", limit+1)), -1, 0, 413},
		{"shorter than announced", strings.NewReader("abc"), 10, 0, 400},
		{"too slow", &failingBody{strings.NewReader("abc"), os.ErrDeadlineExceeded}, 10, 0, 504},
		{"too slow, unknown", &failingBody{strings.NewReader("abc"), os.ErrDeadlineExceeded}, -1, 0, 504},
		{"over the limit of another reader", &failingBody{strings.NewReader("abc"), &http.MaxBytesError{Limit: 7}}, -1, 0, 413},
	} {
		r := &http.Request{ContentLength: tt.length}
		if tt.body != nil {
			r.Body = io.NopCloser(tt.body)
		}
		body, err := readBody(r, limit)
		var status *meta.StatusError
		code := 0
		if errors.As(err, &status) {
			code = int(status.Status.Code)
		} else if errors.Is(err, context.DeadlineExceeded) {
			code = 504
		}
		if len(body) != tt.size || code != tt.code {
			t.Errorf("a body %s: got %d bytes, %v, want %d, code %d", tt.name, len(body), err, tt.size, tt.code)
		}
	}
	huge := &http.Request{ContentLength: 3 << 20, Body: io.NopCloser(strings.NewReader("x"))}
	if n := testing.AllocsPerRun(10, func() { _, _ = readBody(huge, 3<<20) }); n > 20 {
		t.Errorf("an announced body: %v allocations", n)
	}
}
