package server_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// failingStore is a store whose Revision fails while err is set.
type failingStore struct {
	storage.Store
	err atomic.Pointer[error]
}

func (s *failingStore) Revision(ctx context.Context) (storage.Revision, error) {
	if err := s.err.Load(); err != nil {
		return 0, *err
	}
	return s.Store.Revision(ctx)
}

// TestHealthChecks: the checks that Kubernetes' e2e tests look for exist, and succeed when the
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

// TestReadHooks: the check for something that is read at the start fails until it has been read.
func TestReadHooks(t *testing.T) {
	t.Parallel()
	store := &failingStore{Store: memory.New(memory.Config{})}
	cfg := config(t)
	cfg.Storage.Store = store
	cfg.Authorization.Modes = []string{access.AlwaysAllow, access.RBAC} // roles are read, but AlwaysAllow decides
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
