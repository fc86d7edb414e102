package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// journal records events in order.
type journal struct {
	mu   sync.Mutex
	list []string
}

func (j *journal) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, what)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.list, ", ")
}

// notedStore is a store that records its Close in a journal.
type notedStore struct {
	storage.Store
	j *journal
}

func (n *notedStore) Close() error { n.j.note("store closed"); return n.Store.Close() }

// config returns the configuration of a server without TLS on a free port.
func config(t *testing.T) server.Config {
	t.Helper()
	return server.Config{
		DataDir:       t.TempDir(),
		Storage:       server.StorageConfig{Engine: server.StorageMemory},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
	}
}

// get returns the status and body of a GET.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestOrderOfTheEnd checks the order of a shutdown: hooks, a watch, a running request, controllers,
// the store.
func TestOrderOfTheEnd(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	j := &journal{}
	cfg := config(t)
	cfg.Storage.Store = &notedStore{memory.New(memory.Config{}), j}
	inHook, goOn := make(chan struct{}), make(chan struct{})
	begun, finish := make(chan struct{}), make(chan struct{})
	cfg.Setup = func(s *server.Server) error {
		s.Go(func(ctx context.Context) {
			<-ctx.Done()
			j.note("controller stopped")
		})
		if err := s.AddPreShutdownHook(server.Hook{Name: "last", Run: func(ctx context.Context, _ *server.Server) error {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the context of a pre-shutdown hook has no end")
			}
			j.note("hook")
			close(inHook)
			<-goOn
			return nil
		}}); err != nil {
			return err
		}
		return s.HandleGet("/slow", func(w http.ResponseWriter, _ *http.Request) error {
			close(begun)
			<-finish
			j.note("request finished")
			_, err := io.WriteString(w, "whole")
			return err
		})
	}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Ready()
	url := "http://" + s.PlainAddress().String()
	if code, _ := get(t, url+"/readyz"); code != 200 {
		t.Errorf("readyz: got %d", code)
	}
	var clients sync.WaitGroup
	clients.Go(func() {
		if code, body := get(t, url+"/slow"); code != 200 || body != "whole" {
			t.Errorf("the request under way: got %d %s", code, body)
		}
	})
	<-begun
	watch, err := http.Get(url + "/api/v1/namespaces?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	clients.Go(func() {
		defer watch.Body.Close()
		lines := bufio.NewScanner(watch.Body)
		for lines.Scan() {
		}
		if err := lines.Err(); err != nil {
			t.Errorf("the watch was cut: %v", err)
		}
		j.note("watch ended")
		close(finish)
	})
	cancel()
	<-inHook
	if code, body := get(t, url+"/readyz"); code != 500 || !strings.Contains(body, "[-]shutdown failed") {
		t.Errorf("readyz on the way down: got %d %s", code, body)
	}
	if code, _ := get(t, url+"/livez"); code != 200 {
		t.Errorf("livez on the way down: got %d", code)
	}
	if code, _ := get(t, url+"/api/v1/namespaces"); code != 200 {
		t.Errorf("a request before the drain: got %d", code)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	clients.Wait()
	if got, want := j.String(), "hook, watch ended, request finished, controller stopped, store closed"; got != want {
		t.Errorf("order: got %s, want %s", got, want)
	}
	if code, _ := get(t, url+"/livez"); code != 0 {
		t.Errorf("the port still answers %d", code)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run again: got no error")
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close after Run: %v", err)
	}
}

// TestRefuseNew: with RefuseNew, a server that shuts down keeps listening and refuses new requests
// until the running ones have been answered.
func TestRefuseNew(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	begun, finish := make(chan struct{}), make(chan struct{})
	cfg := config(t)
	cfg.Shutdown.RefuseNew, cfg.Shutdown.WatchGrace = true, 50*time.Millisecond
	cfg.Setup = func(s *server.Server) error {
		return s.HandleGet("/slow", func(w http.ResponseWriter, _ *http.Request) error {
			close(begun)
			<-finish
			_, err := io.WriteString(w, "whole")
			return err
		})
	}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Ready()
	url := "http://" + s.PlainAddress().String()
	watch, err := http.Get(url + "/api/v1/namespaces?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	var clients sync.WaitGroup
	clients.Go(func() {
		if code, body := get(t, url+"/slow"); code != 200 || body != "whole" {
			t.Errorf("the request under way: got %d %s", code, body)
		}
	})
	<-begun
	cancel()
	eventually(t, "new requests are refused", func() bool { code, _ := get(t, url+"/version"); return code == http.StatusTooManyRequests })
	if code, _ := get(t, url+"/livez"); code != 200 {
		t.Errorf("livez: got %d", code)
	}
	if _, err := bufio.NewReader(watch.Body).ReadString('\n'); err != nil {
		t.Errorf("the watch has ended before the requests: %v", err)
	}
	close(finish)
	if _, err := io.Copy(io.Discard, watch.Body); err != nil {
		t.Errorf("the watch was cut: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	clients.Wait()
}

func TestHooks(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		add  func(s *server.Server, h server.Hook) error
	}{
		{"post-start", (*server.Server).AddPostStartHook}, {"pre-shutdown", (*server.Server).AddPreShutdownHook},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := servertest.New(t, config(t))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bad := server.Hook{Name: "bad", Run: func(context.Context, *server.Server) error { cancel(); return boom }}
			if tt.name == "post-start" {
				bad.Run = func(context.Context, *server.Server) error { return boom }
			} else {
				cancel()
			}
			if err := tt.add(s, bad); err != nil {
				t.Fatal(err)
			}
			if err := tt.add(s, bad); err == nil {
				t.Error("two hooks of one name: got no error")
			}
			// A hook that runs on must not hide the failure of another one.
			if err := tt.add(s, server.Hook{Name: "endless", Run: func(ctx context.Context, _ *server.Server) error {
				if tt.name == "post-start" {
					<-ctx.Done()
				}
				return nil
			}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Run(ctx); !errors.Is(err, boom) || !strings.Contains(err.Error(), "hook bad") {
				t.Errorf("Run: got %v, want the failure of the hook", err)
			}
		})
	}
}

// runEarly runs a server, and returns as soon as the server listens, which may be before it is
// ready. end stops the server.
func runEarly(t *testing.T, cfg server.Config) (s *server.Server, url string, end func()) {
	t.Helper()
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for s.PlainAddress() == nil {
		time.Sleep(time.Millisecond)
	}
	return s, "http://" + s.PlainAddress().String(), func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestReadinessWaitsForHooks: readiness waits for all hooks, including those that Setup adds.
func TestReadinessWaitsForHooks(t *testing.T) {
	goOn := make(chan struct{})
	cfg := config(t)
	cfg.Setup = func(s *server.Server) error {
		return s.AddPostStartHook(server.Hook{Name: "mine", Run: func(context.Context, *server.Server) error { <-goOn; return nil }})
	}
	s, url, end := runEarly(t, cfg)
	for path, want := range map[string]string{
		"/readyz": "[-]poststarthook/mine failed", "/readyz/poststarthook/mine": "internal server error: not finished\n", "/livez": "mine failed",
	} {
		if code, body := get(t, url+path); code != 500 || !strings.Contains(body, want) {
			t.Errorf("%s before the hook has ended: got %d %s", path, code, body)
		}
	}
	// The server's own hooks may have ended or not.
	_, index := get(t, url+"/")
	without := "/readyz?exclude=none&verbose"
	for _, hook := range regexp.MustCompile(`/readyz/(poststarthook/[^"]+|autoregister-completion|informer-sync)`).FindAllStringSubmatch(index, -1) {
		without += "&exclude=" + hook[1]
	}
	if code, body := get(t, url+without); code != 200 || !strings.Contains(body, `no matches for "none"`) {
		t.Errorf("without the hooks: got %d %s", code, body)
	}
	close(goOn)
	<-s.Ready()
	if code, body := get(t, url+"/readyz?verbose"); code != 200 || !strings.Contains(body, "[+]poststarthook/mine ok") || !strings.Contains(body, "[+]shutdown ok") {
		t.Errorf("/readyz: got %d %s", code, body)
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		if _, body := get(t, url+path+"?verbose"); !strings.Contains(body, "[+]poststarthook/kube-apiserver-autoregistration ok\n[+]autoregister-completion ok\n") {
			t.Errorf("%s does not say that group versions are registered: %s", path, body)
		}
		if code, body := get(t, url+path+"/autoregister-completion"); code != 200 || body != "ok" {
			t.Errorf("%s/autoregister-completion: got %d %s", path, code, body)
		}
	}
	if code, body := get(t, url+"/"); code != 200 || !strings.Contains(body, "/readyz/poststarthook/mine") {
		t.Errorf("the index: got %d %s", code, body)
	}
	end()
}

func TestListenFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	j := &journal{}
	cfg := config(t)
	cfg.Serving.SecurePort = server.AnyPort
	cfg.Serving.HTTPPort = l.Addr().(*net.TCPAddr).Port
	cfg.Storage.Store = &notedStore{memory.New(memory.Config{}), j}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("Run: got %v", err)
	}
	if j.String() != "store closed" {
		t.Errorf("got %s, want the store closed", j)
	}
	if addr := s.Address(); addr != nil { // the secure port was open when the other one failed
		if c, err := net.Dial("tcp", addr.String()); err == nil {
			c.Close()
			t.Error("the secure port is still open")
		}
	}
}

func TestCloseWithoutRun(t *testing.T) {
	j := &journal{}
	cfg := config(t)
	cfg.Storage.Store = &notedStore{memory.New(memory.Config{}), j}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if j.String() != "store closed" {
		t.Errorf("got %q, want the store closed once", j)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run after Close: got no error")
	}
}

func TestNewReportsEverything(t *testing.T) {
	j := &journal{}
	_, err := servertest.New(t, server.Config{
		DataDir: t.TempDir(), Controllers: []string{"*", "-bogus"},
		Storage:       server.StorageConfig{Engine: "tape", Store: &notedStore{memory.New(memory.Config{}), j}},
		Serving:       server.ServingConfig{BindAddress: "nowhere", SecurePort: 70000, TLS: identity.TLS{CertFile: "cert"}, CORSOrigins: []string{"("}},
		Authorization: access.Config{Modes: []string{"Maybe"}}, Limits: server.LimitsConfig{RequestTimeout: -1},
	})
	for _, want := range []string{"tape", "Maybe", "nowhere", "70000", "given together", "--cors-allowed-origins", "--request-timeout", `unknown controller "-bogus"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: got %v, want it to say %q", err, want)
		}
	}
	if j.String() != "store closed" {
		t.Errorf("got %q, want the store closed", j)
	}
	inMemory, anyPort := server.StorageConfig{Engine: server.StorageMemory}, server.ServingConfig{SecurePort: server.AnyPort}
	for name, cfg := range map[string]server.Config{
		"no port":              {Serving: server.ServingConfig{SecurePort: server.NoPort}},
		"no HTTP port either":  {Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.NoPort}},
		"etcd without servers": {Storage: server.StorageConfig{Engine: server.StorageEtcd}},
		"servers without etcd": {Storage: server.StorageConfig{
			Engine: server.StorageMemory, Etcd: server.EtcdConfig{Servers: []string{"http://127.0.0.1:1"}}}},
		"no token file": {Storage: inMemory, Serving: anyPort, Authentication: identity.Config{TokenAuthFile: "/nonexistent/tokens"}},
		"no client CA":  {Storage: inMemory, Serving: anyPort, Authentication: identity.Config{ClientCAFile: "/nonexistent/ca"}},
		"no certificate": {Storage: inMemory, Serving: server.ServingConfig{
			SecurePort: server.AnyPort, TLS: identity.TLS{CertFile: "/nonexistent/c", KeyFile: "/nonexistent/k"}}},
		"no encryption config": {Serving: anyPort, Storage: server.StorageConfig{
			Engine: server.StorageMemory, EncryptionConfigFile: "/nonexistent/e"}},
		"a group without a kind": {Storage: inMemory, Serving: anyPort, API: server.APIConfig{Groups: []server.Group{{Name: "x.io"}}}},
		"a plugin that fails": {Storage: inMemory, Serving: anyPort, Admission: plugins.Config{
			Plugins: []plugins.Plugin{{Name: "Failing", Make: func(registry.Stores, []byte) (admission.Plugin, error) { return nil, errors.New("no plugin") }}}}},
		"a setup that fails": {Storage: inMemory, Serving: anyPort, Setup: func(*server.Server) error { return errors.New("no setup") }},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("New: panic %v", r)
				}
			}()
			cfg.DataDir = t.TempDir()
			if s, err := servertest.New(t, cfg); err == nil {
				s.Close()
				t.Error("New: got no error")
			}
		})
	}
}

// TestCredentials authenticates over TLS with each type of credentials, over HTTP/1.1 and HTTP/2.
func TestCredentials(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("sesame,alice,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := servertest.Start(t, server.Config{DataDir: dir, Authentication: identity.Config{TokenAuthFile: tokens, Anonymous: new(bool)}})
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "admin.crt"), filepath.Join(dir, "pki", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for name, tt := range map[string]struct {
			token string
			cert  *tls.Certificate
			code  int
		}{
			"token": {token: "sesame", code: 200}, "wrong token": {token: "other", code: 401}, "nothing": {code: 401}, "certificate": {cert: &cert, code: 200},
		} {
			transport := &http.Transport{ForceAttemptHTTP2: proto == "HTTP/2.0", TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CAPEM)}}
			if tt.cert != nil {
				transport.TLSClientConfig.Certificates = []tls.Certificate{*tt.cert}
			}
			r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/v1/namespaces/default", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.token != "" {
				r.Header.Set("Authorization", "Bearer "+tt.token)
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			transport.CloseIdleConnections()
			if resp.StatusCode != tt.code || resp.Proto != proto {
				t.Errorf("%s with %s: got %s %d, want %d", proto, name, resp.Proto, resp.StatusCode, tt.code)
			}
		}
	}
}

// TestWatchOutlivesRequests: a watch outlives the write timeout of a server that limits its
// requests to half a second.
func TestWatchOutlivesRequests(t *testing.T) {
	const timeout = time.Second / 2 // long enough on a busy machine for the server's own requests and the begin of the watch
	s := servertest.Start(t, server.Config{Limits: server.LimitsConfig{RequestTimeout: timeout}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/api/v1/configmaps?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	time.Sleep(timeout + timeout/10)
	store := s.Server.Store(meta.GroupResource{Resource: "configmaps"})
	obj := store.Kind().New()
	obj.GetObjectMeta().Name = "a"
	if _, err := store.Create(t.Context(), &request.Write{Namespace: "default", Options: &meta.CreateOptions{},
		Change: func(context.Context, request.Current) (meta.Typed, error) { return obj, nil }}); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, `"type":"ADDED"`) {
		t.Errorf("got %q, %v", line, err)
	}
	if resp.Proto != "HTTP/2.0" {
		t.Errorf("by %s", resp.Proto)
	}
}

// TestStartSettles: memory that only the start needed is given back to the system after the start.
func TestStartSettles(t *testing.T) {
	forced := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	before := forced()
	servertest.Start(t, server.Config{
		Storage: server.StorageConfig{Engine: server.StorageMemory}, Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	})
	for end := time.Now().Add(30 * time.Second); forced() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was given back in 30 s")
		}
	}
}
