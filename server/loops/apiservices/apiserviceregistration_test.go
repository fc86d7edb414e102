package apiservices_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/loops/apiservices"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// localVersions are the versions that a server serves itself.
type localVersions struct {
	mu      sync.Mutex
	all     map[meta.GroupVersion]apiservices.LocalVersion
	changed chan struct{}
}

func (l *localVersions) All() map[meta.GroupVersion]apiservices.LocalVersion {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all)
}

func (l *localVersions) Changed() (own, custom <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return nil, l.changed
}

func (l *localVersions) Hidden(group string) bool { return group == "hidden.example.com" }

func never() bool { return false }

func (l *localVersions) learn(gv meta.GroupVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[gv] = apiservices.LocalVersion{GroupPriority: 1000, VersionPriority: 100}
	close(l.changed)
	l.changed = make(chan struct{})
}

// TestMissing: a version counts as missing until its APIService is available, even if a client
// created the APIService.
func TestMissing(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		services := client.For[*apiregistrationv1.APIService](w.S.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
		local := &localVersions{all: map[meta.GroupVersion]apiservices.LocalVersion{}, changed: make(chan struct{})}
		for _, group := range []string{"absent", "kept", "others", "left"} {
			local.all[meta.GroupVersion{Group: group + ".example.com", Version: "v1"}] = apiservices.LocalVersion{GroupPriority: 1, VersionPriority: 1, Permanent: true}
		}
		local.all[meta.GroupVersion{Group: "Bad.example.com", Version: "v1"}] = apiservices.LocalVersion{GroupPriority: 1, VersionPriority: 1, Permanent: true}
		down := func(group, label string) {
			t.Helper()
			looptest.Make(w, services, &apiregistrationv1.APIService{
				ObjectMeta: meta.ObjectMeta{Name: "v1." + group + ".example.com", Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": label}},
				Spec: apiregistrationv1.APIServiceSpec{
					Group: group + ".example.com", Version: "v1", GroupPriorityMinimum: 7, VersionPriority: 7,
					Service: &apiregistrationv1.ServiceReference{Namespace: "n", Name: "far"},
				},
			}, func(s *apiregistrationv1.APIService) {
				apiregistrationv1.SetCondition(s, apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse}, meta.Now())
			})
		}
		down("kept", "onstart")
		down("others", "")
		down("left", "mine")
		c := &apiservices.APIServiceRegistration{Client: w.S.Client(), Local: local, KubeAPIServerLives: never, Log: zap.NewNop()}
		want := func(what string) {
			t.Helper()
			w.Sleep(time.Second)
			got := ""
			if err := c.Missing(); err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			if got != what {
				t.Errorf("got %q, want %q", got, what)
			}
		}
		want("not finished")
		c.Begin(t.Context())
		want("missing APIService: [v1.left.example.com v1.others.example.com]")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		defer func() { stop(); <-ended }()
		want("missing APIService: [v1.left.example.com v1.others.example.com]")
		change := func(name string, update func(context.Context, *apiregistrationv1.APIService, meta.UpdateOptions) (*apiregistrationv1.APIService, error),
			change func(s *apiregistrationv1.APIService)) {
			t.Helper()
			s, err := services.Get(t.Context(), name, meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			change(s)
			if _, err := update(t.Context(), s, meta.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		change("v1.others.example.com", services.UpdateStatus, func(s *apiregistrationv1.APIService) {
			apiregistrationv1.SetCondition(s, apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}, meta.Now())
		})
		want("missing APIService: [v1.left.example.com]")
		change("v1.left.example.com", services.Update, func(s *apiregistrationv1.APIService) { s.Spec.Service = nil })
		want("")
		looptest.Delete(w, services, "v1.absent.example.com")
		want("") // it was available before
		list, err := services.List(t.Context(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range list.Items {
			if c := apiregistrationv1.Condition(s, apiregistrationv1.Available); strings.HasSuffix(s.Name, ".example.com") {
				got += fmt.Sprintf("%s %v %s;", s.Name, s.Spec.Service == nil, c.Status)
			}
		}
		if want := "v1.kept.example.com true True;v1.left.example.com true True;v1.others.example.com false True;"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestRegisteredByAnother: another server on the store registers a version. Its APIService stays,
// if this server serves the version soon afterwards.
func TestRegisteredByAnother(t *testing.T) {
	s, err := servertest.New(t, server.Config{ // the server does not run, so that it registers nothing
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
	local := &localVersions{all: map[meta.GroupVersion]apiservices.LocalVersion{}, changed: make(chan struct{})}
	c := &apiservices.APIServiceRegistration{Client: s.Client(), Local: local, KubeAPIServerLives: never, Log: zap.NewNop()}
	c.Begin(t.Context())
	(&looptest.World{T: t, S: s}).Run(c.Run)
	begun := time.Now()
	soon := register("soon.example.com")
	never := register("never.example.com")
	local.learn(meta.GroupVersion{Group: "soon.example.com", Version: "v1"})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := services.Get(t.Context(), never.Name, meta.GetOptions{}); meta.IsNotFound(err) {
			break
		} else if err != nil || time.Now().After(end) {
			t.Fatalf("a version that no server has: %v", err)
		}
	}
	if time.Since(begun) < time.Second {
		t.Error("what this server does not know yet is not waited for")
	}
	if s, err := services.Get(t.Context(), soon.Name, meta.GetOptions{}); err != nil || s.ResourceVersion != soon.ResourceVersion {
		t.Errorf("got %+v, %v, want it as it was registered", s, err)
	}
}

// TestRegisteredBeside: beside a kube-apiserver, a server waits a while before it registers a
// version of a custom resource, and does not change the built-in versions that the kube-apiserver
// has registered.
func TestRegisteredBeside(t *testing.T) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		services := client.For[*apiregistrationv1.APIService](w.S.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
		register := func(group, label string) {
			looptest.Make(w, services, &apiregistrationv1.APIService{
				ObjectMeta: meta.ObjectMeta{Name: "v1." + group, Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": label}},
				Spec:       apiregistrationv1.APIServiceSpec{Group: group, Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 100},
			}, nil)
		}
		there := func(when, group string, want bool) {
			t.Helper()
			_, err := services.Get(t.Context(), "v1."+group, meta.GetOptions{})
			if (err == nil) != want || err != nil && !meta.IsNotFound(err) {
				t.Errorf("%s: the APIService of %s: got %v, want it: %v", when, group, err, want)
			}
		}
		register("theirs.example.com", "onstart")
		register("gone.example.com", "true")
		local := &localVersions{all: map[meta.GroupVersion]apiservices.LocalVersion{}, changed: make(chan struct{})}
		c := &apiservices.APIServiceRegistration{Client: w.S.Client(), Local: local, KubeAPIServerLives: func() bool { return true }, Log: zap.NewNop()}
		c.Begin(t.Context())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		defer func() { stop(); <-ended }()
		w.Sleep(10 * time.Millisecond)
		local.learn(meta.GroupVersion{Group: "new.example.com", Version: "v1"})
		w.Sleep(500 * time.Millisecond)
		there("at once", "new.example.com", false)
		w.Sleep(time.Second)
		there("later", "new.example.com", true)
		there("later", "theirs.example.com", true)
		there("later", "gone.example.com", false)
	})
}
