package differential

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// storedVariants is the number of stored objects for each example, version and encoding.
const storedVariants = 2

// TestStoredObjects puts the same bytes into the stores of a whole kube-apiserver and of Coracle:
// objects of every kind, in every version that Kubernetes still decodes, as JSON and as protobuf,
// whole and owned or without any subset of the fields that defaults fill in. Then it sends the same
// requests to both: reads in each served version, lists, selectors, watches, tables, and writes
// through each door.
func TestStoredObjects(t *testing.T) {
	etcd := etcdproc.Start(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	s := &storedCourt{ours: newOurs(t), theirs: startKubernetes(t, etcd), found: map[string][]string{}, counted: map[string]int{}}
	for _, r := range storedResources() {
		objects := r.objects(t)
		for i := range objects {
			o := &objects[i]
			key := place(r.resource, r.rows[0].namespace(), o.name)
			if _, err := client.Put(t.Context(), key, string(o.data)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.ours.store.Put(t.Context(), key, o.data, storage.Pre{}, 0); err != nil {
				t.Fatal(err)
			}
		}
		s.judge(t, r, objects)
	}
	s.print(t)
}

// storedResource is a resource with the rows of all its served versions.
type storedResource struct {
	resource string
	rows     []Row
}

// storedResources are the resources of all rows, without definitions and API services, which change
// what the servers serve, and without IPAddresses, which kube-apiserver deletes if they have no
// service.
func storedResources() []*storedResource {
	byName := map[string]*storedResource{}
	for _, row := range rows {
		switch row.Resource {
		case "customresourcedefinitions", "apiservices", "ipaddresses":
			continue
		}
		r := byName[row.Resource]
		if r == nil {
			r = &storedResource{resource: row.Resource}
			byName[row.Resource] = r
		}
		r.rows = append(r.rows, row)
	}
	var list []*storedResource
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}

// otherGroups are the groups in which older servers have stored objects of a kind under the same
// keys.
var otherGroups = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}:                 {"extensions"},
	{Group: "apps", Kind: "DaemonSet"}:                  {"extensions"},
	{Group: "apps", Kind: "ReplicaSet"}:                 {"extensions"},
	{Group: "networking.k8s.io", Kind: "Ingress"}:       {"extensions"},
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: {"extensions"},
	{Group: "", Kind: "Event"}:                          {"events.k8s.io"},
}

// versions are all versions in which Kubernetes decodes objects of the resource.
func (r *storedResource) versions() []schema.GroupVersionKind {
	gk := r.rows[0].Kind.GroupKind()
	if gk.Group == "events.k8s.io" { // events are stored in the core group
		gk.Group = ""
	}
	var list []schema.GroupVersionKind
	for _, group := range append([]string{gk.Group}, otherGroups[gk]...) {
		for _, gv := range legacyscheme.Scheme.PrioritizedVersionsForGroup(group) {
			if gvk := gv.WithKind(gk.Kind); legacyscheme.Scheme.Recognizes(gvk) {
				list = append(list, gvk)
			}
		}
	}
	return list
}

// storedObject is an object as some server has stored it.
type storedObject struct {
	name    string
	version schema.GroupVersionKind
	form    string
	lacks   []string // the paths of the fields that were left out
	data    []byte
	lost    bool // one of the servers cannot read it
}

func (o *storedObject) String() string {
	return fmt.Sprintf("%s stored as %s in %s without %s", o.name, o.form, o.version.GroupVersion(), strings.Join(o.lacks, ", "))
}

// objects makes objects of the examples of the resource.
func (r *storedResource) objects(t *testing.T) []storedObject {
	t.Helper()
	var list []storedObject
	random := random("stored objects", r.resource)
	for _, example := range r.rows[0].examples(t) {
		hub := internal(t, example)
		for _, gvk := range r.versions() {
			obj, err := legacyscheme.Scheme.ConvertToVersion(hub.DeepCopyObject(), gvk.GroupVersion())
			if err != nil {
				t.Fatalf("%s: %v", gvk, err)
			}
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			legacyscheme.Scheme.Default(obj)
			whole := tree(obj).(map[string]any)
			optional := defaulted(t, whole)
			for _, form := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
				for i := range times(storedVariants) {
					o := storedObject{name: r.name(nameOf(example), len(list)), version: gvk, form: form}
					part := tree(whole).(map[string]any)
					if i > 0 {
						o.lacks = leaveOut(random, part, optional)
					}
					o.data = r.encode(t, part, &o)
					list = append(list, o)
				}
			}
		}
	}
	return list
}

// name is a unique name for the nth object.
func (r *storedResource) name(example string, n int) string {
	if len(example) > 40 {
		example = example[:40]
	}
	return fmt.Sprintf("%s-%d", strings.Trim(strings.ReplaceAll(example, ":", "-"), "-."), n)
}

// encode makes the bytes of an object as Kubernetes stores it, with the metadata that a create
// adds.
func (r *storedResource) encode(t *testing.T, obj map[string]any, o *storedObject) []byte {
	t.Helper()
	m := obj["metadata"].(map[string]any)
	m["name"], m["uid"], m["creationTimestamp"] = o.name, "11111111-2222-4333-8444-555555555555", "2024-02-29T12:00:00Z"
	labels, _ := m["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		m["labels"] = labels
	}
	labels["judged"] = "yes"
	if !r.rows[0].Cluster {
		m["namespace"] = where
	}
	if len(o.lacks) == 0 { // with owners in the version, even if it is not served
		entry := func(manager, operation string) map[string]any {
			return map[string]any{"manager": manager, "operation": operation, "apiVersion": o.version.GroupVersion().String(), "time": "2024-02-29T12:00:00Z",
				"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:judged": map[string]any{}}}}}
		}
		m["managedFields"] = []any{entry("judge", "Apply"), entry("before", "Update")}
	}
	decoded, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(encode(obj), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	info, _ := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), o.form)
	var b bytes.Buffer
	if err := info.Serializer.Encode(decoded, &b); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// defaulted returns the paths of the fields that Kubernetes' defaults would fill in with the same
// values.
func defaulted(t *testing.T, whole map[string]any) [][]any {
	t.Helper()
	want := encode(whole)
	var list [][]any
	each(whole, nil, func(path []any) {
		if path[0] == "apiVersion" || path[0] == "kind" {
			return
		}
		part := tree(whole).(map[string]any)
		cutOut(part, path)
		obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(encode(part), nil, nil)
		if err != nil {
			return
		}
		legacyscheme.Scheme.Default(obj)
		if bytes.Equal(encode(tree(obj)), want) {
			list = append(list, path)
		}
	})
	return list
}

// leaveOut removes a random subset of fields from an object and returns their paths.
func leaveOut(random *rand.Rand, obj map[string]any, optional [][]any) []string {
	var out []string
	share := 1 + random.IntN(9)
	for _, path := range optional {
		if random.IntN(10) < share && cutOut(obj, path) {
			out = append(out, fmt.Sprint(path...))
		}
	}
	return out
}

// each calls f with the path of each member of each object in a tree.
func each(v any, path []any, f func(path []any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := append(slices.Clone(path), key)
			f(at)
			each(v[key], at, f)
		}
	case []any:
		for i := range v {
			each(v[i], append(slices.Clone(path), i), f)
		}
	}
}

// cutOut removes the value at a path from a tree, and reports whether there was one.
func cutOut(v any, path []any) bool {
	for len(path) > 1 {
		switch at := path[0].(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[at]
		case int:
			list, _ := v.([]any)
			if at >= len(list) {
				return false
			}
			v = list[at]
		}
		path = path[1:]
	}
	m, _ := v.(map[string]any)
	key, _ := path[0].(string)
	_, there := m[key]
	delete(m, key)
	return there
}

// storedCourt asks both servers about the stored objects, and keeps the differences.
type storedCourt struct {
	ours    *ours
	theirs  http.Handler
	found   map[string][]string // the first cases, by kind and place of the difference
	counted map[string]int
	asked   int
}

// compare sends a request to both servers, notes the differences, and returns the answers.
func (s *storedCourt) compare(about fmt.Stringer, step, method, url string, body []byte, form, accept string) (theirs, ours answer) {
	s.asked++
	theirs = settledAnswer(send(s.theirs, method, url, body, form, accept))
	ours = settledAnswer(send(s.ours, method, url, body, form, accept))
	if theirs.Code == http.StatusNotFound && ours.Code == http.StatusNotFound {
		return theirs, ours
	}
	s.differ(about, step, theirs.Code, ours.Code, theirs.Body, ours.Body)
	return theirs, ours
}

func (s *storedCourt) differ(about fmt.Stringer, step string, theirCode, ourCode int, theirs, ours any) {
	note := func(path string, theirs, ours any) {
		if excused(about.String(), step, path, theirs, ours) {
			return
		}
		what := step + ": " + path
		if s.counted[what]++; len(s.found[what]) < shown {
			s.found[what] = append(s.found[what], fmt.Sprintf("%s\n    theirs %d %.300s\n    ours   %d %.300s", about, theirCode, encode(theirs), ourCode, encode(ours)))
		}
	}
	if theirCode != ourCode {
		note("code", theirs, ours)
		return
	}
	difference("", theirs, ours, note)
}

// excused reports whether a difference is known. about is the object or request, path the place in
// the answer.
func excused(about, step, path string, theirs, ours any) bool {
	switch {
	case strings.HasPrefix(step, "FlowSchema.") && strings.HasSuffix(step, "list as table"):
		return true // Kubernetes sorts this table by precedence, Coracle by name
	case strings.HasPrefix(step, "NetworkPolicy.") && strings.Contains(about, " in extensions/v1beta1 "):
		// Kubernetes' conversion turns absent lists into empty ones, and the first update counts
		// that as a change of its writer
		return path == "metadata.generation" || strings.Contains(path, "metadata.managedFields")
	case strings.HasPrefix(step, "Event."):
		return strings.Contains(path, "metadata.managedFields") // in Kubernetes a write in one group of events drops the owners in the other
	case strings.HasPrefix(step, "CertificateSigningRequest.") && strings.HasSuffix(path, "].lastUpdateTime"):
		return soonAfter(theirs, ours) // a condition without this time gets the time of the update
	case strings.HasPrefix(step, "Service.") || strings.HasPrefix(step, "PersistentVolumeClaim."):
		// in Kubernetes an update starts from an object without the defaults of its store, so the
		// writer then owns the fields that a read fills in
		return strings.HasSuffix(path, ".fieldsV1.f:spec") ||
			path == "metadata.managedFields" && strings.HasSuffix(step, "put of what is there")
	}
	return false
}

// soonAfter reports whether two values are times with less than a minute between them.
func soonAfter(a, b any) bool {
	var times [2]time.Time
	for i, v := range []any{a, b} {
		text, _ := v.(string)
		var err error
		if times[i], err = time.Parse(time.RFC3339, text); err != nil {
			return false
		}
	}
	return times[0].Sub(times[1]).Abs() < time.Minute
}

// settledAnswer is an answer without the values that each server generates.
func settledAnswer(a answer) answer {
	a.Body = settledTree(a.withoutGenerated(nil).Body).(map[string]any)
	if a.Body["kind"] == "Status" { // other tests compare this metadata
		delete(a.Body, "metadata")
	}
	return a
}

// settledTree removes revisions and servers' times from a tree.
func settledTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "resourceVersion", "deletionTimestamp", "remainingItemCount":
				if _, text := value.(string); text {
					v[key] = "SOME"
					continue
				}
			case "columnDefinitions": // each server has descriptions of its own
				for _, c := range value.([]any) {
					delete(c.(map[string]any), "description")
				}
			case "managedFields":
				list, _ := value.([]any)
				for _, e := range list {
					delete(e.(map[string]any), "time")
				}
				slices.SortFunc(list, func(a, b any) int { return bytes.Compare(encode(a), encode(b)) })
			}
			settledTree(value)
		}
	case []any:
		for _, value := range v {
			settledTree(value)
		}
	}
	return v
}

const tableForm = "application/json;as=Table;v=v1;g=meta.k8s.io"

// judge sends all requests for the objects of a resource: first the reads, then the writes.
func (s *storedCourt) judge(t *testing.T, r *storedResource, objects []storedObject) {
	t.Helper()
	for _, row := range r.rows {
		s.lists(t, r, row)
		for i := range objects {
			o := &objects[i]
			step := func(name string) string { return row.String() + " " + name }
			theirs, ours := s.compare(o, step("get"), http.MethodGet, row.url(o.name, ""), nil, "", "application/json")
			if theirs.Code != ours.Code {
				o.lost = true
				continue
			}
			s.compare(o, step("table"), http.MethodGet, row.url(o.name, "")+"?includeObject=None", nil, "", tableForm)
		}
	}
	for i := range objects {
		if objects[i].lost { // a difference is noted already
			continue
		}
		s.writes(r.rows[i%len(r.rows)], &objects[i])
	}
}

// about is a request about a whole resource.
type about string

func (a about) String() string { return string(a) }

// lists compares lists and the beginnings of watches, with selectors that match values of the
// objects.
func (s *storedCourt) lists(t *testing.T, r *storedResource, row Row) {
	t.Helper()
	base := row.collection() + "?labelSelector=judged%3Dyes"
	list, _ := s.compare(about(row.collection()), row.String()+" list", http.MethodGet, base, nil, "", "application/json")
	s.compare(about(row.collection()), row.String()+" list as table", http.MethodGet, base+"&includeObject=None", nil, "", tableForm)
	items, _ := list.Body["items"].([]any)
	for _, label := range selectable[r.resource] {
		values := map[string]bool{"": true}
		for _, item := range items {
			values[textAt(item, label)] = true
		}
		for _, value := range slices.Sorted(maps.Keys(values)) {
			selector := "&fieldSelector=" + url.QueryEscape(label+"="+value)
			theirs, ours := send(s.theirs, http.MethodGet, base+selector, nil, "", "application/json"), send(s.ours, http.MethodGet, base+selector, nil, "", "application/json")
			s.asked++
			s.differ(about(label+"="+value), row.String()+" selected", theirs.Code, ours.Code, itemNames(theirs), itemNames(ours))
		}
	}
	watch := base + "&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
	s.asked++
	s.differ(about(row.collection()), row.String()+" initial events", 200, 200, initialEvents(t, s.theirs, watch), initialEvents(t, s.ours, watch))
}

// selectable are the fields for field selectors that defaults or conversions fill in.
var selectable = map[string][]string{
	"pods":   {"spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP", "spec.hostNetwork"},
	"events": {"type", "reason", "source", "reportingComponent", "involvedObject.kind"}, "secrets": {"type"}, "namespaces": {"status.phase"},
	"nodes": {"spec.unschedulable"}, "jobs": {"status.successful"}, "services": {"spec.clusterIP", "spec.type"},
	"certificatesigningrequests": {"spec.signerName"}, "replicasets": {"status.replicas"}, "replicationcontrollers": {"status.replicas"},
	"resourceslices": {"spec.driver", "spec.nodeName"},
}

// textAt is the text of the field at a path; "" if there is none.
func textAt(v any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// itemNames are the names in a list, or the message of a refusal.
func itemNames(a answer) any {
	if !a.accepted() {
		return a.Body["message"]
	}
	items, _ := a.Body["items"].([]any)
	list := []any{}
	for _, item := range items {
		list = append(list, nameOf(item.(map[string]any)))
	}
	return list
}

// initialEvents are the objects that a watch begins with, by name.
func initialEvents(t *testing.T, h http.Handler, url string) any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &recorded{header: http.Header{}}
	h.ServeHTTP(w, r)
	objects := map[string]any{}
	for line := range bytes.Lines(w.body.Bytes()) {
		var event struct {
			Type   string
			Object map[string]any
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("watch %s: %v in %s", url, err, line)
		}
		if event.Type != "BOOKMARK" {
			objects[event.Type+" "+nameOf(event.Object)] = settledTree(tree(event.Object))
		}
	}
	return objects
}

// recorded is an http.ResponseWriter that keeps a streamed answer.
type recorded struct {
	header http.Header
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header         { return w.header }
func (w *recorded) WriteHeader(int)             {}
func (w *recorded) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *recorded) Flush()                      {}

// writes changes one object through each door, and deletes it.
func (s *storedCourt) writes(row Row, o *storedObject) {
	const merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
	url := row.url(o.name, "")
	step := func(name string) string { return row.String() + " " + name }
	accept := "application/json"
	theirs, ours := send(s.theirs, http.MethodGet, url, nil, "", accept), send(s.ours, http.MethodGet, url, nil, "", accept)
	if theirs.accepted() && ours.accepted() {
		s.asked++
		a := settledAnswer(send(s.theirs, http.MethodPut, url, encode(theirs.Body), accept, accept))
		b := settledAnswer(send(s.ours, http.MethodPut, url, encode(ours.Body), accept, accept))
		s.differ(o, step("put of what is there"), a.Code, b.Code, a.Body, b.Body)
	}
	s.compare(o, step("label"), http.MethodPatch, url, []byte(`{"metadata":{"labels":{"a":"b"}}}`), merge, accept)
	config := map[string]any{"apiVersion": row.Kind.GroupVersion().String(), "kind": row.Kind.Kind,
		"metadata": map[string]any{"name": o.name, "labels": map[string]any{"c": "d"}}}
	s.compare(o, step("apply"), http.MethodPatch, url+"?fieldManager=judge", encode(config), apply, accept)
	s.compare(o, step("patch of status"), http.MethodPatch, row.url(o.name, "status"), []byte(`{"metadata":{"annotations":{"e":"f"}}}`), merge, accept)
	s.compare(o, step("finalizer"), http.MethodPatch, url, []byte(`{"metadata":{"finalizers":["example.com/keep"]}}`), merge, accept)
	s.compare(o, step("delete"), http.MethodDelete, url, []byte(`{"propagationPolicy":"Background"}`), accept, accept)
	s.compare(o, step("get while it goes"), http.MethodGet, url, nil, "", accept)
	s.compare(o, step("last finalizer"), http.MethodPatch, url, []byte(`{"metadata":{"finalizers":null}}`), merge, accept)
	s.compare(o, step("get when it is gone"), http.MethodGet, url, nil, "", accept)
}

// print reports the differences, the most frequent first.
func (s *storedCourt) print(t *testing.T) {
	t.Helper()
	t.Logf("%d requests, %d differences", s.asked, len(s.found))
	list := slices.SortedFunc(maps.Keys(s.found), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.counted[b], s.counted[a]), cmp.Compare(a, b))
	})
	for _, what := range list {
		t.Errorf("%s (%d times)\n  %s", what, s.counted[what], strings.Join(s.found[what], "\n  "))
	}
}
