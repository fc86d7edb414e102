package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	apiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/feature"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authz"
)

// theirs is DefaultBuildHandlerChain with static tokens and everything allowed. backend may be nil, for no audit.
func theirs(h http.Handler, backend audit.Backend) http.Handler {
	c := apiserver.NewConfig(serializer.NewCodecFactory(runtime.NewScheme()))
	c.FeatureGate = feature.DefaultFeatureGate
	c.RequestInfoResolver = apiserver.NewRequestInfoResolver(c)
	tokens := bearertoken.New(tokenfile.New(map[string]*user.DefaultInfo{
		"alice-token": {Name: "alice", UID: "2", Groups: []string{"dev", "ops"}},
	}))
	c.Authentication.Authenticator = union.NewFailOnError(group.NewAuthenticatedGroupAdder(tokens), anonymous.NewAuthenticator(nil))
	c.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	if backend != nil {
		c.AuditBackend = backend
		c.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(&auditinternal.Policy{
			Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelMetadata}},
		})
	}
	return apiserver.DefaultBuildHandlerChain(h, c)
}

// null is an audit backend that forgets.
type null struct{}

func (null) ProcessEvents(...*auditinternal.Event) bool { return true }
func (null) Run(<-chan struct{}) error                  { return nil }
func (null) Shutdown()                                  {}
func (null) String() string                             { return "null" }

// ours is the whole chain, metrics included, which theirs has elsewhere.
func ours(tb testing.TB, h http.Handler) http.Handler {
	tokens, err := authn.ReadTokens(strings.NewReader(`alice-token,alice,2,"dev,ops"`))
	if err != nil {
		tb.Fatal(err)
	}
	inflight := &filters.InFlight{Reads: 400, Writes: 200}
	metrics, err := filters.NewMetrics(prometheus.NewRegistry(), inflight)
	if err != nil {
		tb.Fatal(err)
	}
	c := filters.Config{
		Fail:          func(http.ResponseWriter, *http.Request, error) { tb.Error("request failed") },
		Authenticator: authn.Anonymous(authn.Bearer(tokens)),
		Authorizer:    authz.AlwaysAllow(),
		Metrics:       metrics,
		InFlight:      inflight,
	}
	return filters.Chain(h, c.Steps()...)
}

// sink is a ResponseWriter that costs nothing.
type sink struct {
	header http.Header
	code   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) Flush()                      {}

func (s *sink) CloseNotify() <-chan bool { return nil }

var credentials = []string{"Bearer alice-token"}

// sender returns a function that sends one GET.
func sender(tb testing.TB, h http.Handler, target string) func() {
	// As net/http has it: a context that can be cancelled.
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	r := httptest.NewRequest("GET", target, nil).WithContext(ctx)
	r.Header.Set("User-Agent", "bench")
	r.Header.Set("Accept", "application/json")
	w := &sink{header: http.Header{}}
	return func() {
		clear(w.header)
		w.code = 0
		r.Header["Authorization"] = credentials
		h.ServeHTTP(w, r)
		if w.code != http.StatusOK {
			tb.Fatal(errors.New("got no 200"))
		}
	}
}

func BenchmarkChain(b *testing.B) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for _, chain := range []struct {
		name string
		h    http.Handler
	}{
		{"none", handler},
		{"coracle", ours(b, handler)},
		{"apiserver", theirs(handler, nil)},
		{"apiserver,audit=metadata", theirs(handler, null{})},
	} {
		for _, path := range []struct{ name, target string }{
			{"object", "/api/v1/namespaces/default/configmaps/c"},
			{"list", "/apis/apps/v1/namespaces/default/deployments?limit=500&resourceVersion=0"},
			{"version", "/version"},
		} {
			b.Run("chain="+chain.name+"/get="+path.name, func(b *testing.B) {
				send := sender(b, chain.h, path.target)
				b.ReportAllocs()
				for b.Loop() {
					send()
				}
			})
		}
	}
}
