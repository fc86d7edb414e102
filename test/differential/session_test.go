package differential

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/memory"
)

// sessionSteps is the number of steps of all random sessions.
const sessionSteps = 2000

// TestSessions sends the same sessions to a whole kube-apiserver on an etcd and to Coracle: random
// writes, reads, watches and deletions of stored objects. It compares the whole answers, headers
// included. There are no controllers, so nobody else writes.
//
// Sessions that once failed are in testdata/sessions. If a session fails, the test shortens it and
// prints it in the form of those files. With SESSION=n in the environment, only the session of that
// number is played.
func TestSessions(t *testing.T) {
	c := newSessionCourt(t)
	files, err := filepath.Glob("testdata/sessions/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var steps []step
		if err := decode(must1(os.ReadFile(file)), &steps); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d := c.play(t, steps); d != nil {
			t.Errorf("%s: %s", file, d)
		}
	}
	c.embedded(t)
	rnd := random("sessions")
	began := time.Now()
	n := 0
	for left := times(sessionSteps); left > 0; n++ {
		steps := makeSession(rnd, min(50+rnd.IntN(151), left))
		left -= len(steps)
		if only := os.Getenv("SESSION"); only != "" && only != fmt.Sprint(n) {
			continue
		}
		if d := c.play(t, steps); d != nil {
			c.report(t, n, steps, d)
		}
		if len(c.reported) >= 20 {
			t.Error("there may be more")
			break
		}
	}
	t.Logf("%d sessions, %d steps in %v, %d differences decided", n, c.played, time.Since(began).Round(time.Second), c.listed)
	for _, e := range sessionExcuses {
		if e.seen == 0 {
			t.Logf("listed, but not met: %s", e.reason)
		}
	}
}

// sessionCourt plays sessions on both servers.
type sessionCourt struct {
	theirs, ours *party
	played       int // steps, without those of shrink
	listed       int
	over         bool // the session cannot go on
	reported     map[string]bool
}

func newSessionCourt(t *testing.T) *sessionCourt {
	kube := startKubernetes(t, startSessionEtcd(t))
	coracle := startSessionServer(t, []string{})
	c := &sessionCourt{theirs: newParty(t, kube.url, kubeToken), ours: newParty(t, coracle.URL, coracle.Token), reported: map[string]bool{}}
	for _, s := range []*party{c.theirs, c.ours} {
		s.prepare(t)
	}
	return c
}

// startSessionEtcd runs an etcd whose revisions begin above 1,000, so that no other number in a
// message equals a revision.
func startSessionEtcd(t *testing.T) string {
	t.Helper()
	url := etcdproc.Start(t)
	store := must1(etcd.Open(t.Context(), etcd.Config{Endpoints: []string{url}}))
	defer store.Close()
	spend(t, store)
	return url
}

func spend(t *testing.T, store storage.Store) {
	t.Helper()
	for range 1000 {
		must1(store.Put(t.Context(), "/elsewhere", nil, storage.Pre{}, 0))
	}
}

// startSessionServer runs Coracle with some controllers until the end of the test.
func startSessionServer(t *testing.T, controllers []string) *servertest.Server {
	t.Helper()
	store := memory.New(memory.Config{})
	spend(t, store)
	return servertest.Start(madeUp{t}, server.Config{
		API:         server.APIConfig{AllowPrivileged: true, Services: addresses.Config{NoKubernetesEndpoints: true}},
		Storage:     server.StorageConfig{Store: store},
		Controllers: controllers,
	})
}

// finding is a difference between the servers, and its step.
type finding struct {
	at           int
	step         step
	what         string
	theirs, ours any
	their, our   reply
}

func (f *finding) String() string {
	return fmt.Sprintf("step %d, %s: %s\n  Kubernetes: %d %.1500s\n  Coracle:    %d %.1500s\n  whole answer of Kubernetes: %.2000s\n  whole answer of Coracle:    %.2000s",
		f.at, encode(f.step), f.what, f.their.Code, encode(f.theirs), f.our.Code, encode(f.ours), encode(f.their), encode(f.our))
}

// play sends a session to both servers, from empty namespaces, until their answers differ.
func (c *sessionCourt) play(t *testing.T, steps []step) *finding {
	t.Helper()
	for _, s := range []*party{c.theirs, c.ours} {
		s.forget()
		s.clean(t)
		s.forget()
		s.begin(t)
	}
	c.over = false
	for i, st := range steps {
		if c.over {
			break
		}
		c.played++
		their, our := c.theirs.do(t, st), c.ours.do(t, st)
		if f := c.compare(i, st, their, our); f != nil {
			return f
		}
		if st.Read == 0 || their.Code >= 300 {
			continue
		}
		their, our = c.theirs.read(st, markOf(st.Read)), c.ours.read(st, markOf(st.Read))
		if f := c.compare(i, st, their, our); f != nil {
			return f
		}
	}
	return nil
}

// do sends a step. Before a step that reads from a cache, it reads the collection from the store,
// so that the cache has all writes.
func (s *party) do(t *testing.T, st step) reply {
	t.Helper()
	if v := st.Query["resourceVersion"]; st.Method == http.MethodGet && (st.Watch > 0 || v != "" && st.Query["resourceVersionMatch"] != "Exact") {
		s.exchange(t, step{Method: http.MethodGet, Path: collectionOf(st.Path)})
	}
	if st.Watch > 0 {
		return s.watch(t, st)
	}
	r := s.send(t, st)
	if strings.HasPrefix(st.Path, "/api/v1/namespaces/two") && strings.Count(st.Path, "/") <= 5 && st.Method != http.MethodGet || st.Path == "/api/v1/namespaces" {
		time.Sleep(100 * time.Millisecond) // kube-apiserver's admission learns of namespaces by watching them
	}
	return r
}

// collectionOf is the path of the collection that a path is in.
func collectionOf(path string) string {
	for _, k := range sessionKinds {
		for _, namespace := range append([]string{""}, sessionNamespaces...) {
			if base := k.collection(namespace); path == base || strings.HasPrefix(path, base+"/") {
				return base
			}
		}
	}
	return path
}

// compare returns the first difference between two answers that has no excuse.
func (c *sessionCourt) compare(i int, st step, their, our reply) *finding {
	var f *finding
	note := func(path string, theirs, ours any) {
		if f != nil {
			return
		}
		path = indices.ReplaceAllString(path, "[*]")
		if e := sessionExcused(st, path, their, our, theirs, ours); e != nil {
			c.listed++
			c.over = c.over || e.ends
			return
		}
		f = &finding{i, st, path, theirs, ours, their, our}
	}
	if their.Code != our.Code {
		note("code", their.Body, our.Body)
		return f
	}
	a, b := map[string]any{}, map[string]any{}
	for name, values := range their.Headers {
		a[name] = values
	}
	for name, values := range our.Headers {
		b[name] = values
	}
	difference("header", tree(a), tree(b), note)
	difference("", their.Body, our.Body, note)
	return f
}

// report shortens a failed session for at most shrinkTime, and fails the test with it.
func (c *sessionCourt) report(t *testing.T, n int, steps []step, f *finding) {
	t.Helper()
	what := fmt.Sprintf("%s %s %s", f.step.Method, pattern(f.what), f.step.Accept)
	if c.reported[what] {
		return
	}
	c.reported[what] = true
	played := c.played
	short := c.shrink(t, steps[:f.at+1], f)
	c.played = played
	var b bytes.Buffer
	for i, st := range short {
		fmt.Fprintf(&b, "%s%s", map[bool]string{true: "[", false: ",\n "}[i == 0], encode(st))
	}
	t.Errorf("SEED=%d, session %d, %s\nstored case:\n%s]", seed, n, f, b.String())
}

// shrinkTime bounds the search for a shorter session that fails.
const shrinkTime = 20 * time.Second

// shrink removes the steps that a session does not need to fail in the same way.
func (c *sessionCourt) shrink(t *testing.T, steps []step, f *finding) []step {
	fails := func(steps []step) bool {
		g := c.play(t, steps)
		return g != nil && g.what == f.what && g.step.Method == f.step.Method
	}
	end := time.Now().Add(shrinkTime)
	for size := len(steps) / 2; size > 0; {
		left := false
		for from := 0; from+size < len(steps)+1 && time.Now().Before(end); {
			if fewer := slices.Concat(steps[:from], steps[from+size:]); len(fewer) > 0 && fails(fewer) {
				steps, left = fewer, true
			} else {
				from += size
			}
		}
		if time.Now().After(end) {
			break
		}
		if !left || size > 1 {
			size /= 2
		}
	}
	return steps
}

// must sends a request that has to succeed.
func (s *party) must(t *testing.T, method, path, form string, body any) reply {
	t.Helper()
	st := step{Method: method, Path: path, Body: body, Form: form}
	r := s.send(t, st)
	if r.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, r.Code, encode(r.Body))
	}
	return r
}

// prepare makes the namespaces and definitions of sessions.
func (s *party) prepare(t *testing.T) {
	t.Helper()
	for _, name := range sessionNamespaces {
		s.must(t, http.MethodPost, "/api/v1/namespaces", "application/json", map[string]any{"metadata": map[string]any{"name": name}})
	}
	for _, definition := range []string{widgetDefinition, gadgetDefinition, frameDefinition} {
		s.must(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", definition)
	}
	for _, k := range playedKinds {
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			r := s.send(t, step{Method: http.MethodGet, Path: k.collection("one")})
			if r.Code == http.StatusOK {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d %s", k.resource, r.Code, encode(r.Body))
			}
		}
	}
}

// clean deletes the objects that a session has left.
func (s *party) clean(t *testing.T) {
	t.Helper()
	s.revive(t)
	for _, k := range playedKinds {
		for end := time.Now().Add(30 * time.Second); ; {
			items := s.items(t, k)
			if len(items) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s are not deleted: %s", k.resource, encode(items))
			}
			for _, item := range items {
				path := k.collection(textAt(item, "metadata.namespace")) + "/" + textAt(item, "metadata.name")
				if textAt(item, "metadata.finalizers") != "" {
					s.exchange(t, step{Method: http.MethodPatch, Path: path, Form: mergeForm, Body: `{"metadata":{"finalizers":null}}`})
				}
				s.exchange(t, step{Method: http.MethodDelete, Path: path, Form: "application/json", Body: `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`})
			}
		}
	}
}

// begin notes the revision of the store. Earlier sessions may have ended differently on the two
// sides, so this session ignores their revisions.
func (s *party) begin(t *testing.T) {
	t.Helper()
	_, data := s.exchange(t, step{Method: http.MethodGet, Path: "/api/v1/namespaces"})
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := decode(data, &list); err != nil {
		t.Fatal(err)
	}
	s.began = must1(strconv.ParseUint(list.Metadata.ResourceVersion, 10, 64))
}

// items are the objects of a kind that sessions have made.
func (s *party) items(t *testing.T, k *sessionKind) []any {
	t.Helper()
	_, data := s.exchange(t, step{Method: http.MethodGet, Path: k.root + "/" + k.resource})
	var list struct{ Items []any }
	if err := decode(data, &list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(item any) bool {
		return !k.cluster && !slices.Contains(sessionNamespaces, textAt(item, "metadata.namespace"))
	})
}

// revive creates the namespace "two" again if a session has deleted it.
func (s *party) revive(t *testing.T) {
	t.Helper()
	const path = "/api/v1/namespaces/two"
	r := s.send(t, step{Method: http.MethodGet, Path: path})
	obj, _ := r.Body.(map[string]any)
	switch {
	case r.Code == http.StatusNotFound:
	case textAt(obj, "metadata.deletionTimestamp") != "":
		s.send(t, step{Method: http.MethodPut, Path: path + "/finalize", Form: "application/json",
			Body: map[string]any{"metadata": map[string]any{"name": "two"}, "spec": map[string]any{"finalizers": []any{}}}})
	case textAt(obj, "spec.finalizers") == "": // a session has removed them
		s.must(t, http.MethodPut, path+"/finalize", "application/json",
			map[string]any{"metadata": map[string]any{"name": "two"}, "spec": map[string]any{"finalizers": []any{"kubernetes"}}})
		return
	default:
		return
	}
	s.must(t, http.MethodPost, "/api/v1/namespaces", "application/json", map[string]any{"metadata": map[string]any{"name": "two"}})
	time.Sleep(200 * time.Millisecond) // kube-apiserver's admission learns of the namespace by watching
}

const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.session.example.com"},"spec":{
 "group":"session.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","categories":["all"]},"versions":[
 {"name":"v1","served":true,"storage":true,` + widgetVersion + `},
 {"name":"v1beta1","served":true,"storage":false,"deprecated":true,` + widgetVersion + `}]}}`

const widgetVersion = `"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
 "additionalPrinterColumns":[{"name":"Note","type":"string","jsonPath":".spec.note"},{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
 "schema":{"openAPIV3Schema":{"type":"object","properties":{
  "spec":{"type":"object","properties":{"note":{"type":"string","maxLength":10},"replicas":{"type":"integer","default":1},
   "parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
    "properties":{"name":{"type":"string"},"size":{"type":"integer"}}}}}},
  "status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}`

const gadgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.session.example.com"},"spec":{
 "group":"session.example.com","scope":"Cluster","names":{"plural":"gadgets","kind":"Gadget"},"versions":[
 {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
