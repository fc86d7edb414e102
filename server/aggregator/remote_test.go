package aggregator

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open is a gate with a seat for everybody.
type open struct{}

func (open) Seat(context.Context, *request.Info, filters.Phase) (filters.Seat, error) {
	return nil, nil
}
func (open) Separate() filters.Gate { return open{} }

// behind starts a server with handler h behind the group version boats.example.com/v1, and returns
// its remote.
func behind(t *testing.T, h http.HandlerFunc) (*reach, *apiregistrationv1.APIService) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	way := &reach{
		resolve: func(_ context.Context, to callout.Service) (string, error) {
			if to.Name != "boats" {
				return "", fmt.Errorf("no service %s", to.Name)
			}
			return s.Listener.Addr().String(), nil
		},
		certificate: func() *tls.Certificate { return nil },
		gate:        open{}, flawed: func(callout.Flaw) {}, ends: t.Context(), log: zap.NewNop(),
	}
	service := &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{
		Group: "boats.example.com", Version: "v1", InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "boats"},
	}}
	service.Status.Conditions = []apiregistrationv1.APIServiceCondition{
		{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue},
	}
	return way, service
}

// TestHandOn: the server behind learns the user of a request, and the client gets the answer.
func TestHandOn(t *testing.T) {
	const path = "/apis/boats.example.com/v1/boats"
	way, service := behind(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		fmt.Fprint(w, r.Method, " ", r.URL, " for ", h["X-Remote-User"], h["X-Remote-Group"], h["Authorization"])
	})
	r := way.newRemote(service, nil)
	defer r.close()
	send := func(r *remote) (int, string) {
		in := httptest.NewRequest("GET", path+"?b=2&a=1", nil)
		in.Header.Set("Authorization", "Bearer of-this-server")
		in.Header.Set("X-Remote-User", "somebody-else")
		info := new(request.Info)
		if err := request.Parse(in, info); err != nil {
			t.Fatal(err)
		}
		info.User = &request.User{Name: "ann", Groups: []string{"sailors"}}
		w := httptest.NewRecorder()
		r.handOn(w, in.WithContext(request.NewContext(t.Context(), info)))
		return w.Code, w.Body.String()
	}
	want := "GET " + path + "?a=1&b=2 for [ann] [sailors] []"
	if code, body := send(r); code != http.StatusOK || body != want {
		t.Errorf("got %d %q, want %q", code, body, want)
	}
}

// TestRouteStays: a route stays while an APIService names the same target, and a new target makes a
// new route.
func TestRouteStays(t *testing.T) {
	way, service := behind(t, http.NotFound)
	first := way.newRemote(service, nil)
	again := *service
	again.Spec.VersionPriority++
	if next := way.newRemote(&again, first); next.route != first.route {
		t.Error("another priority: got another route")
	}
	moved := again
	moved.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "default", Name: "ships"}
	next := way.newRemote(&moved, first)
	if next.route == first.route {
		t.Error("another service: got the same route")
	}
	if _, err := next.address(t.Context()); err == nil {
		t.Error("a service that is not there has an address")
	}
}

// TestDescribe: describe reads the answers of a server behind, keeps the parts that did not change,
// and marks as stale the versions that the server no longer describes.
func TestDescribe(t *testing.T) {
	fails, asked := false, []string{}
	way, service := behind(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("X-Remote-User")+" "+r.Header.Get("If-None-Match"))
		switch {
		case fails:
			http.Error(w, "", http.StatusServiceUnavailable)
		case r.URL.Path == "/openapi/v3":
			io.WriteString(w, boats[1])
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Type", aggregatedForm)
			w.Header().Set("ETag", `"1"`)
			io.WriteString(w, boats[0])
		}
	})
	r := way.newRemote(service, nil)
	defer r.close()
	gv := meta.GroupVersion{Group: "boats.example.com", Version: "v1"}
	first, err := describe(t.Context(), []*remote{r}, &description{})
	if err != nil || len(first.versions[gv].resources) != 1 || first.schemas["apis/boats.example.com/v1"] != "ABC" {
		t.Fatalf("at first: got %+v, %v", first, err)
	}
	second, err := describe(t.Context(), []*remote{r}, &first)
	if err != nil || &second.versions[gv].resources[0] != &first.versions[gv].resources[0] {
		t.Errorf("not modified: got %+v, %v, want what was there", second, err)
	}
	fails = true
	if third, err := describe(t.Context(), []*remote{r}, &second); err == nil || !third.versions[gv].stale {
		t.Errorf("failing: got %+v, %v, want it stale", third, err)
	}
	want := []string{`/apis system:kube-aggregator `, `/openapi/v3 system:aggregator `, `/apis system:kube-aggregator "1"`}
	if !slices.Equal(asked[:3], want) {
		t.Errorf("asked %q, want %q", asked[:3], want)
	}
}

func TestVersionOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api": "v1", "/api/v1/pods": "v1", "/apis/b.io/v2": "b.io/v2", "/apis/b.io/v2/x/y": "b.io/v2",
		"/apis/b.io": "", "/apis/b.io/": "", "/apis//v1": "", "//apis/b.io/v2": "", "/apix": "", "/version": "",
	} {
		if got := strings.TrimPrefix(versionOf(path, nil).String(), "/"); got != want {
			t.Errorf("versionOf(%q): got %q, want %q", path, got, want)
		}
	}
}

func TestEscapeKey(t *testing.T) {
	for key, want := range map[string]string{
		"plain-Key.1": "plain-Key.1", "example.com/knots": "example.com%2Fknots", "ä%": "%C3%A4%25",
	} {
		if got := escapeKey(key); got != want {
			t.Errorf("escapeKey(%q): got %q, want %q", key, got, want)
		}
	}
}
