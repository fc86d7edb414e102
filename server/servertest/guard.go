package servertest

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest/leaks"
)

// New makes a server as server.New does, with its log guarded.
func New(t testing.TB, cfg server.Config) (*server.Server, error) {
	t.Helper()
	return server.New(t.Context(), Guarded(t, cfg))
}

// Guarded returns cfg with a guard over the log: a credential in the log, at any level, fails the
// test. The guard finds tokens and private keys by their form (package leaks). It finds other
// credentials by their value: those in files that cfg names, those in requests of this package's
// clients, the data of Secrets, and those in requests that are passed to Sent. In a benchmark or a
// fuzz test Guarded returns cfg unchanged, because the guard costs time.
func Guarded(t testing.TB, cfg server.Config) server.Config {
	t.Helper()
	if _, ok := t.(*testing.T); !ok {
		return cfg
	}
	cfg, log := Guard(cfg)
	t.Cleanup(func() {
		for _, line := range log.CredentialLines() {
			t.Errorf("servertest: a credential in the server's log: %s", line)
		}
	})
	return cfg
}

// Guard is Guarded without a test that fails: it also returns the guard, which has the lines with
// credentials. The guard is a second log, which gets every line at every level, and a further
// admission plugin, which sees the data of Secrets.
func Guard(cfg server.Config) (server.Config, *leaks.Log) {
	learnFiles(&cfg)
	log := new(leaks.Log)
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	cfg.Log = cfg.Log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewTee(c, logging(log))
	}))
	learning := plugins.Plugin{
		Name: secretData{}.Name(),
		Make: func(registry.Stores, []byte) (admission.Plugin, error) { return secretData{}, nil },
	}
	cfg.Admission.Plugins = append([]plugins.Plugin{learning}, cfg.Admission.Plugins...)
	return cfg, log
}

// Sent makes the guards of all servers look for the credentials in the headers of r. Tests call it
// for requests that they do not send through a client of this package.
func Sent(r *http.Request) {
	leaks.Learn(authn.BearerToken(r))
	if _, password, ok := r.BasicAuth(); ok {
		_, encoded, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		leaks.Learn(password, encoded)
	}
}

// fileSecret finds secrets in kubeconfigs and in the configuration of encryption at rest.
var fileSecret = regexp.MustCompile(`\b(?:token|password|secret|client-key-data)"?:\s*"?([^\s",}]+)`)

// learnFiles makes the guards look for the secrets in the files that cfg names. In a .csv file the
// first column is the secret.
func learnFiles(cfg *server.Config) {
	auth := &cfg.Authentication
	for _, file := range []string{
		auth.BasicAuthFile, auth.TokenAuthFile, auth.Webhook.File,
		cfg.Authorization.Webhook.ConfigFile, cfg.Storage.EncryptionConfigFile,
	} {
		text, err := os.ReadFile(file)
		if err != nil { // no file is configured, or the server itself will report the error
			continue
		}
		if strings.HasSuffix(file, ".csv") {
			for line := range strings.Lines(string(text)) {
				first, _, _ := strings.Cut(line, ",")
				leaks.Learn(strings.Trim(first, `"`))
			}
		}
		for _, found := range fileSecret.FindAllStringSubmatch(string(text), -1) {
			leaks.Learn(found[1])
		}
	}
}

// logging returns a core that writes every line to l.
func logging(l *leaks.Log) zapcore.Core {
	return zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(l), zap.DebugLevel)
}

// secretData is an admission plugin that makes the guards look for the data of Secrets.
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
	only := map[corev1.SecretType]string{ // the other keys of these types hold no secrets
		corev1.SecretTypeServiceAccountToken: "token", corev1.SecretTypeBootstrapToken: "token-secret",
	}[secret.Type]
	for key, value := range secret.Data {
		if only == "" || key == only {
			leaks.Learn(string(value))
		}
	}
	return nil
}
