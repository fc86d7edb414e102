package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestHandedOnTakesNoSeats: requests to a server behind that hangs are limited, and take no seats
// from requests to this server or to another server behind.
func TestHandedOnTakesNoSeats(t *testing.T) {
	t.Parallel()
	release, came := make(chan struct{}), make(chan struct{}, 100)
	hangs := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/first") {
			hello(w, r)
			return
		}
		came <- struct{}{}
		<-release
		hello(w, r)
	})
	answers := newBehind(t, hello)
	s := hangs.front(t, func(c *server.Config) { c.Limits = server.LimitsConfig{MaxReads: 4, MaxWrites: 2} })
	ferries := answers.service()
	ferries.Name, ferries.Spec.Group = "v1.ferries.example.com", "ferries.example.com"
	register(t, s, ferries)
	ask := asSailor(t, s)
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()

	held := []string{
		"GET /boats", "GET /boats/a", "GET /x", "GET /y", "POST /boats", "DELETE /boats/a",
		"GET /boats?watch=1", "GET /boats?watch=1", "GET /boats/a/log",
	}
	var wg sync.WaitGroup
	for _, what := range held {
		method, path, _ := strings.Cut(what, " ")
		ended := make(chan struct{})
		wg.Go(func() {
			defer close(ended)
			if code, body := ask(method, skiffs+path); code != http.StatusOK {
				t.Errorf("%s: got %d %s", what, code, body)
			}
		})
		select {
		case <-came:
		case <-ended:
		}
	}
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", skiffs + "/boats", 429},
		{"PUT", skiffs + "/boats/a", 429},
		{"GET", "/api/v1/namespaces", 200},
		{"GET", "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1", 200},
		{"GET", "/apis/apiregistration.k8s.io/v1/apiservices", 200},
		{"DELETE", "/api/v1/namespaces/default/configmaps/none", 404},
		{"GET", "/apis/ferries.example.com/v1/ferries", 200},
		{"POST", "/apis/ferries.example.com/v1/ferries", 200},
		{"GET", "/apis/ferries.example.com/v1/ferries?watch=1", 200},
	} {
		if code, body := ask(tt.method, tt.path); code != tt.want {
			t.Errorf("%s %s: got %d %s, want %d", tt.method, tt.path, code, body, tt.want)
		} else if code == 429 && status(body).Reason != "TooManyRequests" {
			t.Errorf("%s %s: got %s", tt.method, tt.path, body)
		}
	}
	letGo()
	wg.Wait()
	for _, method := range []string{"GET", "PUT"} { // a seat is released after the answer has been sent
		eventually(t, "the server behind is asked again", func() bool {
			code, _ := ask(method, skiffs+"/boats/a")
			return code == http.StatusOK
		})
	}
}

// asSailor returns a function that sends requests of a user who may do everything and is no member
// of system:masters.
func asSailor(t *testing.T, s *servertest.Server) func(method, path string) (int, string) {
	t.Helper()
	code, body := do(t, s, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"sailors"},
		"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"sailors"}],
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}}`)
	if code != http.StatusCreated {
		t.Fatal(code, body)
	}
	return func(method, path string) (int, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r := newRequest(t, s, method, path, nil).WithContext(ctx)
		r.Header.Set("Impersonate-User", "sindbad")
		r.Header.Set("Impersonate-Group", "sailors")
		resp, err := s.Client.Do(r)
		if err != nil {
			return 0, fmt.Sprint(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, fmt.Sprint(err)
		}
		return resp.StatusCode, string(text)
	}
}

// TestHandedOnBeforeDefinitions: while an APIService has a server behind for a group version,
// requests go there, and not to a definition of the same group version. When the APIService is
// deleted, the definition is served.
func TestHandedOnBeforeDefinitions(t *testing.T) {
	t.Parallel()
	b := newBehind(t, hello)
	s := b.front(t)
	code, body := do(t, s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"boats.skiffs.example.com"},"spec":{
		"group":"skiffs.example.com","scope":"Cluster","names":{"plural":"boats","kind":"Boat"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	if code != http.StatusCreated {
		t.Fatal(code, body)
	}
	if code, body := do(t, s, "GET", skiffs+"/boats", ""); code != 200 || !strings.HasPrefix(body, "behind") {
		t.Errorf("got %d %s", code, body)
	}
	if code, body := do(t, s, "DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v1.skiffs.example.com", ""); code != http.StatusOK {
		t.Fatal(code, body)
	}
	eventually(t, "the definition is served", func() bool {
		code, body := do(t, s, "GET", skiffs+"/boats", "")
		return code == 200 && strings.Contains(body, "BoatList")
	})
}
