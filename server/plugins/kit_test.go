package plugins_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess is a server that does not listen: its handler is called directly.
type inProcess struct {
	*server.Server
	t *testing.T
}

// newInProcess makes one with a memory store, whom everybody may ask for everything, and a namespace
// "ns".
func newInProcess(t *testing.T, change ...func(*server.Config)) *inProcess {
	t.Helper()
	cfg := server.Config{
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &inProcess{s, t}
	p.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	return p
}

// request makes a request.
func (p *inProcess) request(method, target string, body io.Reader, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, body)
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// serve sends a request and returns the answer.
func (p *inProcess) serve(r *http.Request) *httptest.ResponseRecorder {
	servertest.Sent(r)
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

// do sends a request and returns the answer.
func (p *inProcess) do(method, target, body string, header ...string) (int, string) {
	w := p.serve(p.request(method, target, strings.NewReader(body), header...))
	return w.Code, w.Body.String()
}

// must creates an object.
func (p *inProcess) must(method, target, body string) {
	p.t.Helper()
	if code, answer := p.do(method, target, body); code != http.StatusCreated {
		p.t.Fatalf("%s %s: got %d %s", method, target, code, answer)
	}
}

// ownGroup is a group of one's own.
func ownGroup() []server.Group {
	gv := meta.GroupVersion{Group: "own.io", Version: "v1"}
	return []server.Group{{Name: gv.Group,
		AddToScheme: func(s *scheme.Scheme) {
			s.AddKnownType(gv.WithKind("Thing"), &v1alpha1.Fischer{})
			s.AddKnownType(gv.WithKind("ThingList"), &v1alpha1.FischerList{})
		},
		Resources: []registry.Resource{{GroupResource: gv.WithResource("things").GroupResource(), Kind: "Thing", Namespaced: true}},
	}}
}
