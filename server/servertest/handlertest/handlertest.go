// Package handlertest calls the handler of a whole server in process, without a listener. Tests of
// packages below server use it where a connection would only cost time.
//
// A Server keeps its objects in memory, allows every request, and has a namespace "ns". It runs no
// controllers, so namespaces have no service accounts: the admission plugin ServiceAccount is off,
// unless the test replaces Config.Admission. A Server ends with its test. Its log is guarded
// (servertest.Guarded). Its methods may be called at once. Only Must fails the test if a request is
// refused.
package handlertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// Server is a server that does not listen.
type Server struct {
	*server.Server
	TB testing.TB
}

// New makes a Server. Each function of change may alter its configuration.
func New(tb testing.TB, change ...func(*server.Config)) *Server {
	tb.Helper()
	cfg := server.Config{
		DataDir:       tb.TempDir(),
		Storage:       server.StorageConfig{Engine: server.StorageMemory},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
		Admission:     plugins.Config{Disable: []string{"ServiceAccount"}},
	}
	for _, f := range change {
		f(&cfg)
	}
	made, err := servertest.New(tb, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := made.Close(); err != nil {
			tb.Error(err)
		}
	})
	s := &Server{made, tb}
	s.Must("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	return s
}

// Request makes a request for any target, including targets that httptest.NewRequest refuses.
// header has names and values in turn. A PATCH is a merge patch unless header has a Content-Type.
func (s *Server) Request(method, target string, body io.Reader, header ...string) *http.Request {
	s.TB.Helper()
	r := httptest.NewRequest("GET", "/", body)
	r.Method = method
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery, r.RequestURI = path, "", query, target
	if strings.Contains(path, "%") {
		if u, err := r.URL.Parse(path); err == nil {
			r.URL.Path, r.URL.RawPath = u.Path, u.RawPath
		}
	}
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// Serve passes a request to the server's handler, and returns the response.
func (s *Server) Serve(r *http.Request) *httptest.ResponseRecorder {
	servertest.Sent(r)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// Do serves one request, and returns the status code and the body of the response.
func (s *Server) Do(method, target, body string, header ...string) (int, string) {
	s.TB.Helper()
	w := s.Serve(s.Request(method, target, strings.NewReader(body), header...))
	return w.Code, w.Body.String()
}

// Must serves one request like Do, and fails the test unless the request succeeds. It returns the
// body of the response.
func (s *Server) Must(method, target, body string) string {
	s.TB.Helper()
	code, answer := s.Do(method, target, body)
	if code >= 300 {
		s.TB.Fatalf("%s %s: %d %s", method, target, code, answer)
	}
	return answer
}
