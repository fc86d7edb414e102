package differential

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	k8sapiserver "k8s.io/apiserver/pkg/apis/apiserver"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	apiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	theirauthenticator "k8s.io/kubernetes/pkg/kubeapiserver/authenticator"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/coracle-project/coracle/filters"
	filtersaudit "github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/filters/audit/backend"
	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

// entrance holds what both chains know: how users authenticate, and what users may do.
type entrance struct {
	ca     *authorityPool
	key    *ecdsa.PrivateKey // signs tokens
	token  string            // of the service account bot
	policy *manyRoles
}

const chainIssuer = "https://issuer"

func newEntrance(tb testing.TB) *entrance {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	e := &entrance{ca: newAuthorityPool(tb), key: key, policy: newManyRoles(tb)}
	e.token = e.sign(tb)
	return e
}

// sign makes a token, which differs each time.
func (e *entrance) sign(tb testing.TB) string {
	signer, err := authn.NewTokenSigner(e.key, chainIssuer)
	if err != nil {
		tb.Fatal(err)
	}
	token, _, err := signer.Sign(tb.Context(), &authn.BoundToken{
		Namespace: "ns-321", Account: authn.Ref{Name: "bot", UID: "a1"}, Audiences: []string{chainIssuer}, Issued: time.Now(), Lasts: time.Hour,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// account is the account that the token stands for, found at once, as both servers find it in
// memory.
type account struct{ state authn.ObjectState }

func (a *account) Object(string, string, string) authn.Object           { return a }
func (a *account) Get(context.Context) (*authn.ObjectState, error)      { return &a.state, nil }
func (a *account) Used(_ context.Context, _ string, _ string, _ string) {}
func (e *entrance) roots() *x509.CertPool                               { return e.ca.pool }
func (e *entrance) ourAccounts(tb testing.TB) request.TokenAuthenticator {
	keys, err := authn.NewTokenKeys(e.key.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return authn.NewServiceAccounts(authn.ServiceAccountConfig{
		Issuers: []string{chainIssuer}, Keys: keys, Audiences: []string{chainIssuer}, Objects: &account{authn.ObjectState{UID: "a1"}},
	})
}

// ours is the whole chain with what `coracle serve` has by default. It includes metrics, which
// kube-apiserver does not have in its chain. sink may be nil, for no audit.
func (e *entrance) ours(tb testing.TB, h http.Handler, may request.Authorizer, sink filtersaudit.Sink) http.Handler {
	reg := prometheus.NewRegistry()
	c := filters.Config{
		Fail:          func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusForbidden) },
		Authenticator: authn.Anonymous(authn.Union(authn.NewX509(e.roots), authn.Bearer(e.ourAccounts(tb), chainIssuer))),
		Authorizer:    may,
		Registry:      reg,
		Metrics:       filters.NewMetrics(reg),
		Gate:          filters.NewInFlight(filters.Limits{Reads: 400, Writes: 200}, reg),
	}
	if sink != nil {
		policy, err := filtersaudit.ParsePolicy([]byte(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}`))
		if err != nil {
			tb.Fatal(err)
		}
		counts, err := backend.NewMetrics(reg)
		if err != nil {
			tb.Fatal(err)
		}
		c.Auditing = &filters.Auditing{Policy: policy, Sink: sink, Counts: counts}
	}
	return filters.Chain(h, c.Steps()...)
}

// batches is our backend in the mode batch, with a log that is thrown away.
func batches(tb testing.TB) filtersaudit.Sink {
	c := backend.Config{Log: backend.DefaultLog(), Webhook: backend.DefaultWebhook(), Logger: zap.NewNop()}
	c.Log.Path, c.Log.Mode = os.DevNull, backend.ModeBatch
	var err error
	if c.Metrics, err = backend.NewMetrics(prometheus.NewRegistry()); err != nil {
		tb.Fatal(err)
	}
	b, err := backend.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.Close(context.Background()) })
	return b
}

// discard is a sink of ours that drops all events.
type discard struct{}

func (discard) Process(*filtersaudit.Event) bool { return true }

// theirAuthenticator is the authenticator of kube-apiserver.
func (e *entrance) theirAuthenticator(tb testing.TB) theirauthenticator.Config {
	keys, err := serviceaccount.StaticPublicKeysGetter([]any{e.key.Public()})
	if err != nil {
		tb.Fatal(err)
	}
	ca, err := dynamiccertificates.NewStaticCAContent("ca", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.ca.cert.Raw}))
	if err != nil {
		tb.Fatal(err)
	}
	return theirauthenticator.Config{
		Anonymous:                      k8sapiserver.AnonymousAuthConfig{Enabled: true},
		ClientCAContentProvider:        ca,
		ServiceAccountIssuers:          []string{chainIssuer},
		APIAudiences:                   []string{chainIssuer},
		ServiceAccountLookup:           true,
		ServiceAccountPublicKeysGetter: keys,
		ServiceAccountTokenGetter: boundThings{
			"serviceaccounts/ns-321/bot": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-321", Name: "bot", UID: "a1"}},
		},
		SecretsWriter:        fake.NewSimpleClientset().CoreV1(),
		TokenSuccessCacheTTL: 10 * time.Second,
	}
}

// theirs is DefaultBuildHandlerChain with kube-apiserver's authenticator. sink may be nil, for no
// audit.
func (e *entrance) theirs(tb testing.TB, h http.Handler, may authorizer.Authorizer, sink audit.Backend) http.Handler {
	c := apiserver.NewConfig(serializer.NewCodecFactory(runtime.NewScheme()))
	c.FeatureGate = feature.DefaultFeatureGate
	c.RequestInfoResolver = apiserver.NewRequestInfoResolver(c)
	var err error
	if c.Authentication.Authenticator, _, _, _, err = e.theirAuthenticator(tb).New(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	c.Authentication.APIAudiences = []string{chainIssuer}
	c.Authorization.Authorizer = may
	if sink != nil {
		c.AuditBackend = sink
		c.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(&auditinternal.Policy{
			Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelMetadata}},
		})
	}
	return apiserver.DefaultBuildHandlerChain(h, c)
}

// null is an audit backend that drops all events.
type null struct{}

func (null) ProcessEvents(...*auditinternal.Event) bool { return true }
func (null) Run(<-chan struct{}) error                  { return nil }
func (null) Shutdown()                                  {}
func (null) String() string                             { return "null" }

// sink is a ResponseWriter that costs nothing.
type sink struct {
	header http.Header
	code   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) Flush()                      {}
func (s *sink) CloseNotify() <-chan bool    { return nil }

// caller is the user who sends a request, and how the request says so.
type caller struct {
	name   string
	show   func(e *entrance, tb testing.TB, r *http.Request) // sets what stays with the connection
	header func(e *entrance, h http.Header)                  // sets headers for each request; chains remove them
}

var (
	certificateOf = func(name string) func(*entrance, testing.TB, *http.Request) {
		return func(e *entrance, tb testing.TB, r *http.Request) {
			cert := e.ca.sign(tb, &x509.Certificate{
				Subject: pkix.Name{CommonName: name, Organization: []string{"dev", "ops"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			})
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
		}
	}
	byCertificate = caller{"certificate", certificateOf("user-4321"), nil}
	byToken       = caller{"token", nil, func(e *entrance, h http.Header) { h["Authorization"] = []string{"Bearer " + e.token} }}
	byOther       = caller{"impersonation", certificateOf("user-0"), func(_ *entrance, h http.Header) { h["Impersonate-User"] = []string{"user-4321"} }}
	byNobody      = caller{"nobody", nil, nil}
)

const (
	toObject  = "/api/v1/namespaces/ns-321/configmaps/c"
	toList    = "/api/v1/namespaces/ns-321/pods?limit=500&resourceVersion=0"
	toVersion = "/version"
)

// sender returns a function that sends a GET of target and returns the code of the answer.
func (e *entrance) sender(tb testing.TB, h http.Handler, by caller, target string) func() int {
	// The context can be cancelled, as net/http's can.
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	r := httptest.NewRequest("GET", target, nil).WithContext(ctx)
	r.Header.Set("User-Agent", "bench")
	r.Header.Set("Accept", "application/json")
	if by.show != nil {
		by.show(e, tb, r)
	}
	carried := http.Header{}
	if by.header != nil {
		by.header(e, carried)
	}
	w := &sink{header: http.Header{}}
	return func() int {
		clear(w.header)
		w.code = 0
		for name, values := range carried {
			r.Header[name] = values
		}
		h.ServeHTTP(w, r)
		return w.code
	}
}

// chains are both chains, with 1,000 roles and 5,000 bindings, and with everything allowed.
func (e *entrance) chains(tb testing.TB, h http.Handler) map[string]http.Handler {
	all, byRoles := authorizerfactory.NewAlwaysAllowAuthorizer(), union.New(authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup), e.policy.theirs)
	ourRoles := authz.Union(authz.Privileged(request.GroupMasters), e.policy.ours)
	return map[string]http.Handler{
		"coracle/may=roles":                  e.ours(tb, h, ourRoles, nil),
		"coracle,audit=metadata/may=roles":   e.ours(tb, h, ourRoles, discard{}),
		"coracle,audit=batch/may=roles":      e.ours(tb, h, ourRoles, batches(tb)),
		"apiserver/may=roles":                e.theirs(tb, h, byRoles, nil),
		"apiserver,audit=metadata/may=roles": e.theirs(tb, h, byRoles, null{}),
		"coracle/may=all":                    e.ours(tb, h, authz.AlwaysAllow(), nil),
		"coracle,audit=metadata/may=all":     e.ours(tb, h, authz.AlwaysAllow(), discard{}),
		"coracle,audit=batch/may=all":        e.ours(tb, h, authz.AlwaysAllow(), batches(tb)),
		"apiserver/may=all":                  e.theirs(tb, h, all, nil),
		"apiserver,audit=metadata/may=all":   e.theirs(tb, h, all, null{}),
	}
}

var answered = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// TestChains compares which requests both chains let in: those that BenchmarkChain measures, and
// some that may not pass.
func TestChains(t *testing.T) {
	e := newEntrance(t)
	for name, h := range e.chains(t, answered) {
		for _, tt := range []struct {
			by     caller
			target string
			want   int
		}{
			{byCertificate, toObject, http.StatusOK},
			{byCertificate, toList, http.StatusOK},
			{byToken, toObject, http.StatusOK},
			{byOther, toObject, http.StatusOK},
			{byNobody, toObject, http.StatusForbidden},
			{byCertificate, "/api/v1/namespaces/ns-322/configmaps/c", http.StatusForbidden},
			{byOther, "/api/v1/namespaces/ns-322/configmaps/c", http.StatusForbidden},
		} {
			want := tt.want
			if everything := name[len(name)-3:] == "all"; everything {
				want = http.StatusOK
			}
			for range 2 { // the second request finds what the first one cached
				if got := e.sender(t, h, tt.by, tt.target)(); got != want {
					t.Errorf("chain=%s: GET %s by %s: got code %d, want %d", name, tt.target, tt.by.name, got, want)
				}
			}
		}
	}
}

// BenchmarkChain is one GET through both chains to a handler that does nothing: by a user with a
// client certificate, a service account with a token that has been used before, and a user who is
// served as another; with roles, and with everything allowed.
func BenchmarkChain(b *testing.B) {
	e := newEntrance(b)
	chains := e.chains(b, answered)
	for _, may := range []string{"roles", "all"} {
		for _, what := range []struct {
			by          caller
			get, target string
		}{
			{byCertificate, "object", toObject},
			{byCertificate, "list", toList},
			{byCertificate, "version", toVersion},
			{byToken, "object", toObject},
			{byToken, "list", toList},
			{byOther, "object", toObject},
		} {
			if may == "roles" && what.get == "version" { // no role allows it
				continue
			}
			for _, side := range []string{
				"coracle", "coracle,audit=metadata", "coracle,audit=batch", "apiserver", "apiserver,audit=metadata",
			} {
				chain := side + "/may=" + may
				b.Run("chain="+chain+"/by="+what.by.name+"/get="+what.get, func(b *testing.B) {
					send := e.sender(b, chains[chain], what.by, what.target)
					send() // fills the caches
					b.ReportAllocs()
					defer reportCPU(b)()
					for b.Loop() {
						if code := send(); code != http.StatusOK {
							b.Fatalf("got code %d, want 200", code)
						}
					}
				})
			}
		}
	}
}

// reportCPU begins to measure the CPU time of the process, garbage collection included, and returns
// a function that reports it. On a busy machine elapsed time includes other processes.
func reportCPU(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkFirstUse is the first authentication by a token, which verifies the signature. The case
// with the signature alone is the lower bound.
func BenchmarkFirstUse(b *testing.B) {
	e := newEntrance(b)
	tokens := make([]string, 4096)
	for i := range tokens {
		tokens[i] = e.sign(b)
	}
	b.Run("coracle", func(b *testing.B) {
		var ours request.TokenAuthenticator
		b.ReportAllocs()
		defer reportCPU(b)()
		n := 0
		for b.Loop() {
			if n%len(tokens) == 0 { // so that no token is in a cache
				ours = e.ourAccounts(b)
			}
			if u, _, err := ours.AuthenticateToken(b.Context(), tokens[n%len(tokens)], []string{chainIssuer}); u == nil || err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
	b.Run("kubernetes", func(b *testing.B) {
		keys, err := serviceaccount.StaticPublicKeysGetter([]any{e.key.Public()})
		if err != nil {
			b.Fatal(err)
		}
		theirs := serviceaccount.JWTTokenAuthenticator([]string{chainIssuer}, keys, []string{chainIssuer},
			serviceaccount.NewValidator(e.theirAuthenticator(b).ServiceAccountTokenGetter))
		b.ReportAllocs()
		defer reportCPU(b)()
		n := 0
		for b.Loop() {
			if _, ok, err := theirs.AuthenticateToken(b.Context(), tokens[n%len(tokens)]); !ok || err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
	b.Run("signature", func(b *testing.B) {
		digest := crypto.SHA256.New().Sum(nil)
		signature, err := ecdsa.SignASN1(crand.Reader, e.key, digest)
		if err != nil {
			b.Fatal(err)
		}
		defer reportCPU(b)()
		for b.Loop() {
			if !ecdsa.VerifyASN1(&e.key.PublicKey, digest, signature) {
				b.Fatal("a good signature does not hold")
			}
		}
	})
}
