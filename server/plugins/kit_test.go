package plugins_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/handlertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess is a server that does not listen, with helpers for the tests of this package.
type inProcess struct{ *handled }

// handled is embedded under a name of its own, so that p.Server is the server.Server.
type handled = handlertest.Server

func newInProcess(tb testing.TB, change ...func(*server.Config)) *inProcess {
	tb.Helper()
	return &inProcess{handlertest.New(tb, change...)}
}

// do sends one request and returns the response.
func (p *inProcess) do(method, target, body string, header ...string) (int, string) {
	p.TB.Helper()
	return p.Do(method, target, body, header...)
}

// must creates an object, or fails the test.
func (p *inProcess) must(method, target, body string) {
	p.TB.Helper()
	if code, answer := p.do(method, target, body); code != http.StatusCreated {
		p.TB.Fatalf("%s %s: got %d %s", method, target, code, answer)
	}
}

// ownGroup returns a group that is not Kubernetes'.
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
