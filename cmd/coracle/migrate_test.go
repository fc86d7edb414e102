//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

const (
	sailsDef = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sails.loft.example.com"
	sails    = "/apis/loft.example.com/v1/namespaces/default/sails"
)

// callServer is a running server to which a test sends requests.
type callServer struct {
	*servertest.Server
	t *testing.T
}

// call sends a request and returns the answer, whose status must be code.
func (l *callServer) call(code int, method, path, contentType, body string) string {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.URL+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := l.Client.Do(r)
	if err != nil {
		l.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != code {
		l.t.Errorf("%s %s: got %d %.300s, want %d", method, path, resp.StatusCode, data, code)
	}
	return string(data)
}

// versions returns the versions of the definition, one of which is the storage version.
func versions(stored string, names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object"}}}`, name, name == stored))
	}
	return strings.Join(list, ",")
}

// TestMigrate kills a migration after its first report, and continues it from there. After that the
// old version can be removed.
func TestMigrate(t *testing.T) {
	t.Parallel()
	const objects, page = 600, 500
	l := &callServer{servertest.Start(t), t}
	const json, merge = "application/json", "application/merge-patch+json"
	l.call(201, "POST", strings.TrimSuffix(sailsDef, "/sails.loft.example.com"), json, fmt.Sprintf(`{"metadata":{"name":"sails.loft.example.com"},"spec":{
		"group":"loft.example.com","scope":"Namespaced","names":{"plural":"sails","kind":"Sail"},"versions":[%s]}}`, versions("v1", "v1", "v2")))
	for !strings.Contains(l.call(200, "GET", sailsDef, "", ""), `"InitialNamesAccepted"`) {
	}
	var posting sync.WaitGroup
	for i := range 8 {
		posting.Go(func() {
			for n := i; n < objects; n += 8 {
				l.call(201, "POST", sails, json, fmt.Sprintf(`{"apiVersion":"loft.example.com/v1","kind":"Sail","metadata":{"name":"s%03d"}}`, n))
			}
		})
	}
	posting.Wait()
	l.call(200, "PATCH", sailsDef, merge, fmt.Sprintf(`{"spec":{"versions":[%s]}}`, versions("v2", "v1", "v2")))
	l.call(422, "PATCH", sailsDef, merge, fmt.Sprintf(`{"spec":{"versions":[%s]}}`, versions("v2", "v2"))) // there are objects in v1

	p := start(t, "", "migrate", "sails.loft.example.com", "--kubeconfig", l.Kubeconfig)
	if !p.log.Scan() {
		t.Fatal("the migration says nothing")
	}
	p.Process.Kill()
	_, after, ok := strings.Cut(p.log.Text(), "--after ")
	if want := fmt.Sprintf("sails.loft.example.com: %d objects, %d stored again; to go on from here: --after default/s499", page, page); p.log.Text() != want {
		t.Fatalf("got %q, want %q", p.log.Text(), want)
	}
	migrate := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(context.Background(), &out, append([]string{"migrate", "--kubeconfig", l.Kubeconfig}, args...)...); err != nil {
			t.Errorf("migrate %v: %v", args, err)
		}
		return out.String()
	}
	if got := migrate("sails.loft.example.com", "--after", after); !ok || !strings.HasPrefix(got, "sails.loft.example.com: 100 objects, ") || !strings.HasSuffix(got, "; all are stored as v2\n") {
		t.Errorf("the rest: got %q", got)
	}
	l.call(200, "PATCH", sailsDef, merge, fmt.Sprintf(`{"spec":{"versions":[%s]}}`, versions("v2", "v2")))
	if got := l.call(200, "GET", strings.Replace(sails, "v1", "v2", 1), "", ""); strings.Count(got, `"name":"s`) != objects {
		t.Errorf("without v1, %d objects are there, want %d", strings.Count(got, `"name":"s`), objects)
	}
	if got, want := migrate("sails.loft.example.com"), "sails.loft.example.com: 600 objects, 0 stored again; all are stored as v2\n"; got != want {
		t.Errorf("once more: got %q, want %q", got, want)
	}
	for resource, want := range map[string]string{
		"namespaces":                        "namespaces: 4 objects, 0 stored again\n",
		"deployments.apps":                  "deployments.apps: 0 objects, 0 stored again\n",
		"priorityclasses.scheduling.k8s.io": "priorityclasses.scheduling.k8s.io: 2 objects, 0 stored again\n",
	} {
		if got := migrate(resource); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, resource := range []string{"sails", "sails.example.com", "deploy.apps", "", "../x.y"} {
		err := run(t.Context(), io.Discard, "migrate", "--kubeconfig", l.Kubeconfig, resource)
		if err == nil || !strings.Contains(err.Error(), "the server has no resource "+resource) {
			t.Errorf("%q: got %v, want an error that there is none", resource, err)
		}
	}
	if err := run(t.Context(), io.Discard, "migrate", "sails.loft.example.com", "--kubeconfig", "/nowhere"); err == nil {
		t.Error("without a kubeconfig: got no error")
	}
}

// TestMigrateUnreadable migrates resources with objects that cannot be read. The command names each
// of them and stores all other objects again. The definition keeps its old stored version until the
// unreadable objects are gone.
func TestMigrateUnreadable(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	defer store.Close()
	l := &callServer{servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: shared{store}}}), t}
	const json, merge = "application/json", "application/merge-patch+json"
	l.call(201, "POST", strings.TrimSuffix(sailsDef, "/sails.loft.example.com"), json, fmt.Sprintf(`{"metadata":{"name":"sails.loft.example.com"},"spec":{
		"group":"loft.example.com","scope":"Namespaced","names":{"plural":"sails","kind":"Sail"},"versions":[%s]}}`, versions("v1", "v1", "v2")))
	for !strings.Contains(l.call(200, "GET", sailsDef, "", ""), `"InitialNamesAccepted"`) {
	}
	const key, objects = "/registry/loft.example.com/sails/default/", 20
	put := func(key, value string) {
		t.Helper()
		if _, err := store.Put(t.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for n := range objects {
		l.call(201, "POST", sails, json, fmt.Sprintf(`{"apiVersion":"loft.example.com/v1","kind":"Sail","metadata":{"name":"s%02d"}}`, n))
	}
	bad := []string{"s00a", "s07", "s07a", "s99"}
	for _, name := range bad {
		put(key+name, "}{")
	}
	l.call(200, "PATCH", sailsDef, merge, fmt.Sprintf(`{"spec":{"versions":[%s]}}`, versions("v2", "v1", "v2")))
	migrate := func(code int, resource string) (out, told string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		cmd := newCommand()
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		cmd.SetArgs([]string{"migrate", "--kubeconfig", l.Kubeconfig, resource})
		got, err := 0, cmd.ExecuteContext(t.Context())
		if err != nil {
			got = exitCode(err)
		}
		if got != code {
			t.Errorf("migrate %s: got code %d, %v, want %d", resource, got, err, code)
		}
		return stdout.String(), stderr.String()
	}
	out, told := migrate(exitUnreadable, "sails.loft.example.com")
	if out != "sails.loft.example.com: 19 objects, 19 stored again\n" || strings.Count(told, " cannot be read: ") != len(bad) {
		t.Errorf("got %q and the errors\n%s", out, told)
	}
	for _, name := range bad {
		if want := "sails.loft.example.com: default/" + name + " cannot be read: "; !strings.Contains(told, want) {
			t.Errorf("got the errors\n%swant %s", told, want)
		}
	}
	kept, err := store.Range(t.Context(), storage.RangeRequest{Prefix: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range kept.Entries {
		if isBad := slices.Contains(bad, strings.TrimPrefix(e.Key, key)); strings.Contains(string(e.Value), `"loft.example.com/v2"`) == isBad {
			t.Errorf("%s: stored as %s", e.Key, e.Value)
		}
	}
	if def := l.call(200, "GET", sailsDef, "", ""); !strings.Contains(def, `"storedVersions":["v1","v2"]`) {
		t.Errorf("some objects cannot be read, so v1 must stay a stored version: got the definition %s", def)
	}
	for _, name := range bad {
		if _, err := store.Delete(t.Context(), key+name, storage.Pre{}); err != nil {
			t.Fatal(err)
		}
	}
	if out, told := migrate(0, "sails.loft.example.com"); out != "sails.loft.example.com: 19 objects, 0 stored again; all are stored as v2\n" {
		t.Errorf("after their deletion: got %q and the errors\n%s", out, told)
	}

	put("/registry/configmaps/default/typed", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"typed","namespace":"default"},"data":5}`)
	put("/registry/namespaces/strange", `{"kind":"Namespace","apiVersion":"v99","metadata":{"name":"strange"}}`)
	for resource, want := range map[string]string{"configmaps": "configmaps: default/typed cannot be read: ", "namespaces": "namespaces: strange cannot be read: "} {
		if _, told := migrate(exitUnreadable, resource); strings.Count(told, want) != 1 || strings.Count(told, " cannot be read: ") != 1 {
			t.Errorf("got the errors\n%swant one %s", told, want)
		}
	}
}
