package servertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
)

// New makes a server as server.New does, with its log guarded.
func New(t testing.TB, cfg server.Config) (*server.Server, error) {
	t.Helper()
	return server.New(t.Context(), Guarded(t, cfg))
}

// Guarded returns cfg with a guard over the log: a credential in it, at whatever level, fails the test. Tokens, passwords and keys are
// found by their form, and those that are known wherever they stand: those in the files of the configuration, those that requests
// through the clients of this package carry, the data of secrets, and what Sent is shown. Benchmarks and fuzzers, whose t is no
// *testing.T, get cfg as it is.
func Guarded(t testing.TB, cfg server.Config) server.Config {
	t.Helper()
	if _, ok := t.(*testing.T); !ok {
		return cfg
	}
	cfg, g := guarded(cfg)
	t.Cleanup(func() {
		for _, line := range g.lines() {
			t.Errorf("servertest: a credential in the server's log: %s", line)
		}
	})
	return cfg
}

func guarded(cfg server.Config) (server.Config, *guard) {
	learnFiles(&cfg)
	g := new(guard)
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	cfg.Log = cfg.Log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return zapcore.NewTee(c, g.core()) }))
	own := cfg.Admission.Plugins
	cfg.Admission.Plugins = func(resources server.Stores) (admission.Chain, error) {
		chain := admission.Chain{secretData{}}
		if own == nil {
			return chain, nil
		}
		more, err := own(resources)
		return append(chain, more...), err
	}
	return cfg, g
}

// Sent learns the credentials in a request's headers.
func Sent(r *http.Request) {
	learn(authn.BearerToken(r))
	if _, password, ok := r.BasicAuth(); ok {
		_, encoded, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		learn(password, encoded)
	}
}

const (
	knownSecrets = 256 // more are forgotten, the oldest first
	leastSecret  = 8   // bytes: what is shorter stands in logs by chance
	leakedLines  = 5   // shown
)

// known are the credentials that any test has used, as they are and in base64: no server may tell of those of another.
var known struct {
	mu   sync.Mutex
	last []string
}

func learn(secrets ...string) {
	known.mu.Lock()
	defer known.mu.Unlock()
	for _, s := range secrets {
		if len(s) < leastSecret || slices.Contains(known.last, s) {
			continue
		}
		known.last = append(known.last, s, base64.StdEncoding.EncodeToString([]byte(s)))
	}
	known.last = slices.Delete(known.last, 0, max(0, len(known.last)-knownSecrets))
}

// fileSecret finds secrets in kubeconfigs and the configuration of encryption.
var fileSecret = regexp.MustCompile(`\b(?:token|password|secret|client-key-data)"?:\s*"?([^\s",}]+)`)

func learnFiles(cfg *server.Config) {
	auth := &cfg.Authentication
	for _, file := range []string{auth.BasicAuthFile, auth.TokenAuthFile, auth.Webhook.File, cfg.Authorization.Webhook.ConfigFile, cfg.Storage.EncryptionConfigFile} {
		text, err := os.ReadFile(file)
		if err != nil { // the server says so, if it is one that should be there
			continue
		}
		if strings.HasSuffix(file, ".csv") {
			for line := range strings.Lines(string(text)) {
				first, _, _ := strings.Cut(line, ",")
				learn(strings.Trim(first, `"`))
			}
		}
		for _, found := range fileSecret.FindAllStringSubmatch(string(text), -1) {
			learn(found[1])
		}
	}
}

// forms are what credentials look like: tokens of JSON, headers, tokens of new nodes, private keys.
var forms = regexp.MustCompile(`eyJ[\w-]{8,}\.eyJ[\w-]{8,}|\b(?:Bearer|Basic) [\w+/=.~-]{8,}|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|PRIVATE KEY|` +
	strings.Join(encodedAnywhere("PRIVATE KEY"), "|"))

// encodedAnywhere returns how a text looks in base64, which depends on what is before it.
func encodedAnywhere(text string) []string {
	var all []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		all = append(all, regexp.QuoteMeta(encoded[(before*8+5)/6:len(encoded)-1]))
	}
	return all
}

// credential returns one that stands in a line, "" if there is none.
func credential(line string) string {
	if found := forms.FindString(line); found != "" {
		return found
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if i := slices.IndexFunc(known.last, func(s string) bool { return strings.Contains(line, s) }); i >= 0 {
		return known.last[i]
	}
	return ""
}

// guard reads a log, and keeps lines that hold credentials.
type guard struct {
	mu     sync.Mutex
	leaked []string
}

// core writes everything to g.
func (g *guard) core() zapcore.Core {
	return zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(g), zap.DebugLevel)
}

// Write takes a line.
func (g *guard) Write(line []byte) (int, error) {
	if found := credential(string(line)); found != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.leaked) < leakedLines {
			g.leaked = append(g.leaked, fmt.Sprintf("%q in %s", found, line))
		}
	}
	return len(line), nil
}

// lines returns what was found.
func (g *guard) lines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.leaked)
}

// secretData is an admission plugin that learns the data of secrets.
type secretData struct{}

// Name implements admission.Plugin.
func (secretData) Name() string { return "servertest.SecretData" }

// Handles implements admission.Plugin.
func (secretData) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.Validator, and rejects nothing.
func (secretData) Validate(_ context.Context, a *admission.Attributes) error {
	secret, ok := a.Object.(*corev1.Secret)
	if !ok {
		return nil
	}
	only := map[corev1.SecretType]string{ // what else is in them are names and settings
		corev1.SecretTypeServiceAccountToken: "token", corev1.SecretTypeBootstrapToken: "token-secret",
	}[secret.Type]
	for key, value := range secret.Data {
		if only == "" || key == only {
			learn(string(value))
		}
	}
	return nil
}
