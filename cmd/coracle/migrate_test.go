//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/server/servertest"
)

const (
	sailsDef = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sails.loft.example.com"
	sails    = "/apis/loft.example.com/v1/namespaces/default/sails"
)

// loft is a server with a definition whose storage version changes.
type loft struct {
	*servertest.Server
	t *testing.T
}

// call sends a request and returns the answer, whose status must be code.
func (l *loft) call(code int, method, path, contentType, body string) string {
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

// versions are the versions of the definition, of which one is stored.
func versions(stored string, names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object"}}}`, name, name == stored))
	}
	return strings.Join(list, ",")
}

// TestMigrate kills a migration when it has told of its first page, and goes on from there. Then the old version can go.
func TestMigrate(t *testing.T) {
	t.Parallel()
	const objects, page = 600, 500
	l := &loft{servertest.Start(t), t}
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
			t.Errorf("%q: got %v, want to be told that there is none", resource, err)
		}
	}
	if err := run(t.Context(), io.Discard, "migrate", "sails.loft.example.com", "--kubeconfig", "/nowhere"); err == nil {
		t.Error("without a kubeconfig: got no error")
	}
}
