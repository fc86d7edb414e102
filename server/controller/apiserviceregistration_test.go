package controller_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/servertest"
)

// localVersions are what a server has itself.
type localVersions struct {
	mu      sync.Mutex
	all     map[meta.GroupVersion]controller.LocalVersion
	changed chan struct{}
}

func (l *localVersions) All() map[meta.GroupVersion]controller.LocalVersion {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all)
}

func (l *localVersions) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *localVersions) learn(gv meta.GroupVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[gv] = controller.LocalVersion{GroupPriority: 1000, VersionPriority: 100}
	close(l.changed)
	l.changed = make(chan struct{})
}

// TestRegisteredByAnother: a version that another server has registered stays, if this one learns of it soon.
func TestRegisteredByAnother(t *testing.T) {
	s, err := servertest.New(t, server.Config{ // which does not run, and so registers nothing itself
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	services := client.For[*apiregistrationv1.APIService](s.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
	register := func(group string) *apiregistrationv1.APIService {
		created, err := services.Create(t.Context(), &apiregistrationv1.APIService{
			ObjectMeta: meta.ObjectMeta{Name: "v1." + group, Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"}},
			Spec:       apiregistrationv1.APIServiceSpec{Group: group, Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 100},
		}, meta.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	local := &localVersions{all: map[meta.GroupVersion]controller.LocalVersion{}, changed: make(chan struct{})}
	c := &controller.APIServiceRegistration{Client: s.Client(), Local: local, Log: zap.NewNop()}
	c.Begin(t.Context())
	(&world{t, s}).run(c.Run)
	begun := time.Now()
	soon := register("soon.example.com")
	never := register("never.example.com")
	local.learn(meta.GroupVersion{Group: "soon.example.com", Version: "v1"})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := services.Get(t.Context(), never.Name, meta.GetOptions{}); meta.IsNotFound(err) {
			break
		} else if err != nil || time.Now().After(end) {
			t.Fatalf("what no server has: %v", err)
		}
	}
	if time.Since(begun) < time.Second {
		t.Error("what this server does not know yet is not waited for")
	}
	if s, err := services.Get(t.Context(), soon.Name, meta.GetOptions{}); err != nil || s.ResourceVersion != soon.ResourceVersion {
		t.Errorf("got %+v, %v, want it as it was registered", s, err)
	}
}
