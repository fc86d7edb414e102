package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

func TestMain(m *testing.M) {
	etcdproc.Main() // does not return if this process was started to be an etcd
	// Most of the time the tests wait: for reads of future revisions, and for the end of watches.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("24"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// An engine is a kind of store against which all recordings are replayed.
type engine struct {
	name   string
	config func(t *testing.T) server.Config
}

// engines has all engines. Tests that also run with the race detector use only the first;
// engines_test.go has the tests of the others.
var engines = []engine{
	{"memory", func(*testing.T) server.Config {
		return server.Config{Storage: server.StorageConfig{Engine: server.StorageMemory}}
	}},
	{"embedded", func(*testing.T) server.Config {
		return server.Config{Storage: server.StorageConfig{Engine: server.StorageEmbedded}}
	}},
	{"file", func(*testing.T) server.Config {
		return server.Config{Storage: server.StorageConfig{Engine: server.StorageFile}}
	}},
	{"etcd", func(t *testing.T) server.Config {
		// The resource with the most writes is stored in an etcd cluster of its own. Responses must
		// not differ because of that.
		overrides, err := server.ParseStorageOverrides([]string{"/configmaps#" + etcdproc.Start(t), "apps/deployments#" + etcdproc.Start(t)})
		if err != nil {
			t.Fatal(err)
		}
		return server.Config{Storage: server.StorageConfig{Etcd: server.EtcdConfig{Servers: []string{etcdproc.Start(t)}}, Overrides: overrides}}
	}},
}

// start runs a server that resembles the recorded one: no controllers, so no service accounts in
// new namespaces and no plugin ServiceAccount, and a user alice without rights of her own.
func start(t *testing.T, cfg server.Config) *target {
	t.Helper()
	tokens, err := authn.ReadTokens(strings.NewReader("alice-token,alice,alice,dev\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Controllers = []string{}
	cfg.Admission.Disable = []string{"ServiceAccount"}
	cfg.Authentication.Authenticators = []request.Authenticator{authn.Bearer(tokens)}
	cfg.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	s := servertest.Start(t, cfg)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CAPEM)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &target{
		url: s.URL,
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		tokens: map[string]string{"admin": s.Token, "alice": "alice-token", "anonymous": "", "bad": "unknown-token"},
	}
}

// TestScenarios plays every scenario.
func TestScenarios(t *testing.T) { playScenarios(t, engines[:1]) }

func playScenarios(t *testing.T, engines []engine) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			to := start(t, engine.config(t))
			names := map[string]bool{}
			for _, s := range scenarios(t) {
				names[s.Name] = true
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					playScenario(t, to, s)
				})
			}
			for name := range waiting {
				if !names[name] {
					t.Errorf("waiting has %q, which is no scenario", name)
				}
			}
		})
	}
}

// playScenario fails the test for each step whose response differs. For the steps that table
// waiting lists, it fails the test if the response does not differ.
func playScenario(t *testing.T, to *target, s *scenario) {
	p := newPlayer(t, to)
	p.prepare(t, s.Namespaces)
	w, waits := waiting[s.Name]
	if waits && w.steps == nil {
		p.patience = time.Second // the wait is expected to fail
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		if d, ok := differences[stepOf{s.Name, i}]; ok {
			d.apply(step.Expect)
		}
		found, err := p.play(t.Context(), step)
		if err != nil {
			found = append(found, err.Error())
		}
		what := step.title(i) + ":\n\t" + strings.Join(found, "\n\t")
		switch mayDiffer := waits && (w.steps == nil || slices.Contains(w.steps, i)); {
		case len(found) > 0 && !mayDiffer:
			t.Error(what)
		case len(found) > 0:
			t.Logf("waits for %s: %s", w.what, what)
			if w.steps == nil {
				return
			}
		case mayDiffer && w.steps != nil:
			t.Errorf("%s is said to wait for %s, and agrees: take it off the list", step.title(i), w.what)
		}
		if errors.Is(err, errStop) || errors.Is(err, context.Canceled) {
			return
		}
	}
	if waits && w.steps == nil {
		t.Errorf("is said to wait for %s, and passes: take it off the list", w.what)
	}
}
