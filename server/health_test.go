package server_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// ailing is a store that fails to tell its revision while err is set.
type ailing struct {
	storage.Store
	err atomic.Pointer[error]
}

func (s *ailing) Revision(ctx context.Context) (storage.Revision, error) {
	if err := s.err.Load(); err != nil {
		return 0, *err
	}
	return s.Store.Revision(ctx)
}

// TestHealthLog asks for the health of an ailing server again and again: the log tells of it once, or not at all if the
// store has told of it.
func TestHealthLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	store := &ailing{Store: memory.New(memory.Config{})}
	p := newInProcess(t, func(cfg *server.Config) { cfg.Storage.Store, cfg.Log = store, zap.New(core) })
	probe := func(want, lines int) {
		t.Helper()
		for range 10 {
			if code, body := p.do("GET", "/livez/etcd", ""); code != want {
				t.Errorf("got %d %s, want %d", code, body, want)
			}
		}
		if got := logs.FilterMessage("health check failed").Len(); got != lines {
			t.Errorf("got %d lines in the log, want %d", got, lines)
		}
	}
	probe(http.StatusOK, 0)
	broken := errors.New("broken")
	for round := range 2 {
		store.err.Store(&broken)
		probe(http.StatusInternalServerError, round+1)
		store.err.Store(nil)
		probe(http.StatusOK, round+1)
	}
	away := error(&storage.Error{Op: "revision", Kind: storage.Unavailable})
	store.err.Store(&away)
	probe(http.StatusInternalServerError, 2)
}

// TestHealthMetrics wants what endpoints find counted, and what was left out or asked for alone not.
func TestHealthMetrics(t *testing.T) {
	store := &ailing{Store: memory.New(memory.Config{})}
	p := newInProcess(t, func(cfg *server.Config) { cfg.Storage.Store = store })
	p.do("GET", "/livez", "")
	p.do("GET", "/livez?exclude=log", "")
	p.do("GET", "/livez/ping", "")
	broken := errors.New("broken")
	store.err.Store(&broken)
	p.do("GET", "/livez", "")
	gone, leave := context.WithCancel(t.Context())
	leave()
	p.serve(p.request("GET", "/livez", http.NoBody).WithContext(gone))
	_, body := p.do("GET", "/metrics/slis", "")
	for _, want := range []string{
		`kubernetes_healthcheck{name="ping",type="livez"} 1`, `kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 3`,
		`kubernetes_healthcheck{name="etcd",type="livez"} 0`, `kubernetes_healthchecks_total{name="etcd",status="error",type="livez"} 1`,
		`kubernetes_healthchecks_total{name="etcd",status="success",type="livez"} 2`,
		`kubernetes_healthchecks_total{name="log",status="success",type="livez"} 2`, "process_start_time_seconds ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	for _, other := range []string{`type="readyz"`, "go_goroutines"} {
		if strings.Contains(body, other) {
			t.Errorf("%s is in %s", other, body)
		}
	}
}

// TestHealthChecks: the checks that Kubernetes' e2e tests look for are there, and succeed when the
// server is ready.
func TestHealthChecks(t *testing.T) {
	s := servertest.Start(t)
	hooks := []string{
		"start-apiserver-admission-initializer", "generic-apiserver-start-informers", "start-apiextensions-informers",
		"start-apiextensions-controllers", "crd-informer-synced", "bootstrap-controller", "start-system-namespaces-controller",
		"start-service-ip-repair-controllers", "scheduling/bootstrap-system-priority-classes", "start-cluster-authentication-info-controller",
		"start-kube-aggregator-informers", "apiservice-registration-controller", "apiservice-status-local-available-controller",
		"apiservice-status-remote-available-controller", "kube-apiserver-autoregistration", "apiservice-openapi-controller", "storage-readiness",
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		names := []string{"ping", "log", "etcd", "autoregister-completion"}
		for _, hook := range hooks {
			names = append(names, "poststarthook/"+hook)
		}
		if path == "/readyz" {
			names = append(names, "informer-sync")
		}
		code, body := ask(t, s, path+"?verbose=1", nil, "Authorization", "Bearer "+s.Token)
		if code != http.StatusOK {
			t.Errorf("%s: got %d %s", path, code, body)
		}
		lines := strings.Split(body, "\n")
		for _, name := range names {
			if !slices.Contains(lines, "[+]"+name+" ok") {
				t.Errorf("%s lacks the check %s: %s", path, name, body)
			}
			if code, body := ask(t, s, path+"/"+name, nil, "Authorization", "Bearer "+s.Token); code != http.StatusOK || body != "ok" {
				t.Errorf("%s/%s: got %d %s", path, name, code, body)
			}
		}
	}
}

// TestReadHooks: a check that stands for something read fails until it has been read.
func TestReadHooks(t *testing.T) {
	store := &ailing{Store: memory.New(memory.Config{})}
	cfg := config(t)
	cfg.Storage.Store = store
	cfg.Authorization.Modes = []string{access.AlwaysAllow, access.RBAC} // roles are read, and needed by nobody
	away := error(&storage.Error{Op: "revision", Kind: storage.Unavailable})
	store.err.Store(&away)
	s, url, end := runEarly(t, cfg)
	url += "/readyz/"
	checks := []string{
		"informer-sync", "poststarthook/storage-readiness", "poststarthook/generic-apiserver-start-informers",
		"poststarthook/start-apiserver-admission-initializer", "poststarthook/start-apiextensions-informers",
		"poststarthook/start-apiextensions-controllers", "poststarthook/start-kube-aggregator-informers",
		"poststarthook/apiservice-openapi-controller", "poststarthook/apiservice-status-local-available-controller",
	}
	for _, check := range checks {
		if code, body := get(t, url+check); code != http.StatusInternalServerError || body != "internal server error: not finished\n" {
			t.Errorf("%s while the store does not answer: got %d %s", check, code, body)
		}
	}
	store.err.Store(nil)
	<-s.Ready()
	for _, check := range checks {
		if code, body := get(t, url+check); code != http.StatusOK {
			t.Errorf("%s of a server that is ready: got %d %s", check, code, body)
		}
	}
	end()
}
