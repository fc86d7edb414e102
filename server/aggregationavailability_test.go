package server_test

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage/memory"
)

func apiServices(s *servertest.Server) client.Resource[*apiregistrationv1.APIService] {
	return client.For[*apiregistrationv1.APIService](s.Server.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
}

// says waits until the condition Available of an APIService begins with want: "status reason:
// message".
func says(t testing.TB, s *servertest.Server, name, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	got := ""
	one := apiServices(s).Source(meta.ListOptions{FieldSelector: "metadata.name=" + name})
	failed := func(err error) { t.Error(err) }
	for b := range follow.Changes(ctx, one, follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Gone || ch.Unread != nil {
				continue
			}
			if c := apiregistrationv1.Condition(ch.New, apiregistrationv1.Available); c != nil {
				if got = string(c.Status) + " " + c.Reason + ": " + c.Message; strings.HasPrefix(got, want) {
					return
				}
			}
		}
	}
	t.Fatalf("%s says %q, want %q", name, got, want)
}

// TestAvailability: a server behind starts, fails, recovers and stops. Requests are forwarded only
// while it is available.
func TestAvailability(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		if failing.Load() {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
		hello(w, r)
	})
	s := inFront(t)
	const name = "v1.skiffs.example.com"
	if _, err := apiServices(s).Create(t.Context(), b.service(), meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	says(t, s, name, "True Passed: all checks passed")
	if asked := b.came.Load(); asked.Header.Get("X-Remote-User") == "" {
		t.Errorf("asked with %v", asked.Header)
	}
	failing.Store(true)
	change := func(change func(*apiregistrationv1.APIService)) {
		t.Helper()
		for {
			have, err := apiServices(s).Get(t.Context(), name, meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			change(have)
			if _, err = apiServices(s).Update(t.Context(), have, meta.UpdateOptions{}); err == nil {
				return
			}
			if !meta.IsConflict(err) { // the server may write the status at the same time
				t.Fatal(err)
			}
		}
	}
	change(func(a *apiregistrationv1.APIService) { a.Spec.VersionPriority++ }) // causes a check at once
	url := "https://localhost:" + port(b.Listener.Addr()) + skiffs
	says(t, s, name, "False FailedDiscoveryCheck: failing or missing response from "+url+": bad status from "+url+": 500")
	failing.Store(false)
	says(t, s, name, "True Passed: all checks passed")
	change(func(a *apiregistrationv1.APIService) { a.Spec.CABundle = []byte("none") })
	says(t, s, name, `False FailedDiscoveryCheck: failing or missing response from `+url+`: Get "`+url+`": the CA bundle holds no certificate in PEM`)
	change(func(a *apiregistrationv1.APIService) { a.Spec.CABundle, a.Spec.InsecureSkipTLSVerify = nil, true })
	says(t, s, name, "True Passed: all checks passed")
	b.Close()
	change(func(a *apiregistrationv1.APIService) { a.Spec.VersionPriority++ })
	says(t, s, name, `False FailedDiscoveryCheck: failing or missing response from `+url+`: Get "`+url+`": dial tcp`)
	change(func(a *apiregistrationv1.APIService) { a.Spec.Service, a.Spec.InsecureSkipTLSVerify = nil, false })
	says(t, s, name, "True Local: Local APIServices are always available")
	eventually(t, "it is counted how often it was lost", func() bool { // the metric changes after the status
		return series(t, s, `aggregator_unavailable_apiservice_total{name="v1.skiffs.example.com",reason="FailedDiscoveryCheck"} 3`) == 1
	})
}

// TestGoneServersAreLeft: when an APIService is deleted, the connections to its server are closed.
// If a check is running, they are closed after the check.
func TestGoneServersAreLeft(t *testing.T) {
	t.Parallel()
	came, release := make(chan struct{}, 100), make(chan struct{})
	b := newBehind(t, func(w http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		<-release
		hello(w, r)
	})
	s := inFront(t)
	for range 3 {
		made, err := apiServices(s).Create(t.Context(), b.service(), meta.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		<-came
		if err := apiServices(s).Delete(t.Context(), made.Name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the API service is gone", func() bool {
			code, _ := do(t, s, "GET", skiffs, "")
			return code == 404
		})
		release <- struct{}{}
	}
	close(release)
	eventually(t, "all connections are closed", func() bool { return b.open.Load() == 0 })
}

func port(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

// series returns the number of lines of the metrics that begin with line.
func series(t testing.TB, s *servertest.Server, line string) (n int) {
	t.Helper()
	_, metrics := do(t, s, "GET", "/metrics", "")
	for have := range strings.SplitSeq(metrics, "\n") {
		if strings.HasPrefix(have, line) {
			n++
		}
	}
	return n
}

// TestAvailabilityIsShown: the metric is 1 for each APIService that is not available and 0 for all
// others. Deleted ones have no series.
func TestAvailabilityIsShown(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, server.Config{})
	const gauge = "aggregator_unavailable_apiservice{name="
	if series(t, s, gauge+`"v1.apps"} 0`) != 1 || series(t, s, gauge+`"v1."} 0`) != 1 {
		t.Error("a local APIService is not shown as available")
	}
	made, err := apiServices(s).Create(t.Context(), &apiregistrationv1.APIService{
		ObjectMeta: meta.ObjectMeta{Name: "v1.skiffs.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "skiffs.example.com", Version: "v1", GroupPriorityMinimum: 1, VersionPriority: 1,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "absent"},
		},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	says(t, s, made.Name, `False ServiceNotFound: service/absent in "default" is not present`)
	eventually(t, "it is shown as unavailable", func() bool { return series(t, s, gauge+`"v1.skiffs.example.com"} 1`) == 1 })
	if err := apiServices(s).Delete(t.Context(), made.Name, meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is shown no more", func() bool { return series(t, s, gauge+`"v1.skiffs`) == 0 })
}

// TestAvailabilityCostsNothing: without servers behind, no further goroutine runs, even if there
// were some before.
func TestAvailabilityCostsNothing(t *testing.T) {
	s := servertest.Start(t, server.Config{Controllers: []string{}})
	working := func() bool {
		buf := make([]byte, 1<<20)
		return strings.Contains(string(buf[:runtime.Stack(buf, true)]), "APIServiceAvailability")
	}
	if working() {
		t.Error("a goroutine of the checks runs without servers behind")
	}
	for range 3 {
		made, err := apiServices(s).Create(t.Context(), newBehind(t, hello).service(), meta.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		says(t, s, made.Name, "False ServiceNotFound")
		if !working() {
			t.Error("no goroutine of the checks runs for a server behind")
		}
		if err := apiServices(s).Delete(t.Context(), made.Name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nobody works", func() bool { return !working() })
	}
}

// TestAvailabilityOnTwoServers: two servers on one store come to the same result, and only one
// write stores it.
func TestAvailabilityOnTwoServers(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	b := newBehind(t, hello)
	with := func(c *server.Config) { c.Storage.Store = store }
	first := inFront(t, with)
	if _, err := apiServices(first).Create(t.Context(), b.service(), meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	says(t, first, "v1.skiffs.example.com", "True Passed")
	before, err := apiServices(first).Get(t.Context(), "v1.skiffs.example.com", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for len(b.done) > 0 {
		<-b.done
	}
	second := inFront(t, with)
	<-b.done // the second server checks, too
	eventually(t, "the second hands requests on", func() bool {
		code, _ := do(t, second, "GET", skiffs+"/boats", "")
		return code == http.StatusOK
	})
	after, err := apiServices(second).Get(t.Context(), "v1.skiffs.example.com", meta.GetOptions{})
	if err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("got %v, %v, want it as it was at %s", after.ResourceVersion, err, before.ResourceVersion)
	}
}
