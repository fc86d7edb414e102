package server_test

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

func configMapsOf(s *server.Server) client.Resource[*corev1.ConfigMap] {
	return client.For[*corev1.ConfigMap](s.Client(), corev1.GroupVersion.WithResource("configmaps")).In("default")
}

// buffer is a log to which several goroutines may write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// debugLog writes everything to a buffer.
func debugLog() (*zap.Logger, *buffer) {
	b := &buffer{}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(b), zap.DebugLevel)), b
}

// recordingPlugin is an admission plugin that records who creates config maps with the name "a".
type recordingPlugin struct {
	mu    sync.Mutex
	users []request.User
}

func (*recordingPlugin) Name() string                        { return "Witness" }
func (*recordingPlugin) Handles(op admission.Operation) bool { return op == admission.Create }

func (p *recordingPlugin) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Resource.Resource == "configmaps" && a.Name == "a" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.users = append(p.users, *a.User)
	}
	return nil
}

// TestClientIdentity: the server's own requests are those of system:apiserver, on a server where no
// other user may do anything and all seats are taken. No handler sees the token.
func TestClientIdentity(t *testing.T) {
	cfg := config(t)
	log, lines := debugLog()
	who := &recordingPlugin{}
	cfg.Log, cfg.Authorization.Modes, cfg.Authentication.Anonymous = log, []string{access.AlwaysDeny}, new(bool)
	cfg.Limits = server.LimitsConfig{MaxReads: 1, MaxWrites: 1, MaxWatches: 1}
	cfg.Admission.Plugins = []plugins.Plugin{{Name: who.Name(), Make: func(registry.Stores, []byte) (admission.Plugin, error) { return who, nil }}}
	cfg.Controllers = []string{} // requests of controllers would be recorded as well
	early := make(chan error, 1)
	var token string
	cfg.Authentication.Authenticators = []request.Authenticator{authenticatorFunc(func(r *http.Request) (*request.User, error) {
		token = r.Header.Get("Authorization") // asked only if no other authenticator knows the token
		return nil, nil
	})}
	cfg.Setup = func(s *server.Server) error {
		return s.AddPostStartHook(server.Hook{Name: "early", Run: func(ctx context.Context, s *server.Server) error {
			_, err := client.For[*corev1.Namespace](s.Client(), corev1.GroupVersion.WithResource("namespaces")).Get(ctx, "kube-system", meta.GetOptions{})
			if meta.IsNotFound(err) { // the server creates the system namespaces at the same time
				err = nil
			}
			early <- err
			return nil
		}})
	}
	s, stop := run(t, cfg)
	defer stop()
	if err := <-early; err != nil {
		t.Errorf("before the server is ready: %v", err)
	}
	maps := configMapsOf(s)
	for range 3 {
		w, err := maps.Watch(t.Context(), meta.ListOptions{})
		if err != nil {
			t.Fatalf("beyond the limit: %v", err)
		}
		defer w.Close()
	}
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "a"}}, meta.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if u := who.users; len(u) != 1 || u[0].Name != request.APIServerUser || !u[0].InGroup(request.GroupMasters) || !u[0].InGroup(request.GroupAuthenticated) {
		t.Errorf("admission saw %+v", u)
	}
	if token != "" {
		t.Error("the server asked others about its own token")
	}
	if text := lines.String(); !strings.Contains(text, `"user":"system:apiserver"`) || strings.Contains(text, "Bearer") {
		t.Errorf("the log has no line of the request, or too much in it: %s", text)
	}
	other, stopOther := run(t, config(t))
	defer stopOther()
	if s.Client() == other.Client() {
		t.Error("two servers share a client")
	}
}

type authenticatorFunc func(r *http.Request) (*request.User, error)

func (f authenticatorFunc) Authenticate(r *http.Request) (*request.User, error) { return f(r) }

// run runs a server until stop. stop fails the test if the server ends with an error.
func run(t *testing.T, cfg server.Config) (s *server.Server, stop func()) {
	t.Helper()
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Ready()
	return s, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// TestClientEndsWithTheServer shuts a server down while its controllers and another client in the
// process have watches open. It ends quickly, logs no warning, and its client fails afterwards.
func TestClientEndsWithTheServer(t *testing.T) {
	cfg := config(t)
	log, lines := debugLog()
	cfg.Log, cfg.Shutdown.Timeout, cfg.DataDir = log, 30*time.Second, filepath.Join(cfg.DataDir, "closed")
	s, stop := run(t, cfg)
	maps := configMapsOf(s)
	w, err := maps.Watch(context.Background(), meta.ListOptions{FieldSelector: "metadata.name=a"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	if _, err := w.Next(); err == nil {
		t.Error("the watch goes on")
	}
	for line := range strings.Lines(lines.String()) {
		if strings.Contains(line, `"level":"warn"`) && !strings.Contains(line, "admission plugins") || strings.Contains(line, `"level":"error"`) {
			t.Errorf("there was a warning: %s", line)
		}
	}
	if _, err := maps.Get(t.Context(), "a", meta.GetOptions{}); !meta.IsServiceUnavailable(err) {
		t.Errorf("after the end: got %v", err)
	}
}
