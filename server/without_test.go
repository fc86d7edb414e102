package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestWithoutGarbageCollection: without the garbage collection, a deleted object is gone at once
// with every propagation policy.
func TestWithoutGarbageCollection(t *testing.T) {
	for _, without := range []bool{false, true} {
		p := newInProcess(t, func(c *server.Config) { c.API.Without.GarbageCollection = without })
		for _, policy := range []string{"Orphan", "Foreground", "Background"} {
			p.must("POST", maps, `{"metadata":{"name":"a"}}`)
			if code, body := p.do("DELETE", maps+"/a?propagationPolicy="+policy, ""); code != http.StatusOK {
				t.Fatalf("%s: got %d %s", policy, code, body)
			}
			code, body := p.do("GET", maps+"/a", "")
			if stays := !without && policy != "Background"; (code == http.StatusOK) != stays {
				t.Errorf("without=%t, %s: got %d %s, want it to stay: %t", without, policy, code, body, stays)
			}
			if code == http.StatusOK {
				p.do("PATCH", maps+"/a", `{"metadata":{"finalizers":null}}`)
			}
		}
	}
}

// TestWithoutWatchLists: watches with initial events are refused with kube-apiserver's text. Lists
// are served.
func TestWithoutWatchLists(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) { c.API.Without.WatchLists = true })
	code, body := p.do("GET", maps+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "")
	want := "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
	if code != http.StatusUnprocessableEntity || !strings.Contains(status(body).Message, want) {
		t.Errorf("got %d %s, want %s", code, body, want)
	}
	if code, body := p.do("GET", maps, ""); code != http.StatusOK {
		t.Errorf("a list: got %d %s", code, body)
	}
}

// TestWithoutCompression: a client that accepts compressed answers gets a plain one, if compression
// is off.
func TestWithoutCompression(t *testing.T) {
	for _, without := range []bool{false, true} {
		p := newInProcess(t, func(c *server.Config) { c.API.Without.Compression = without })
		p.must("POST", maps, `{"metadata":{"name":"a"},"data":{"a":"`+strings.Repeat("a", 200<<10)+`"}}`)
		w := p.serve(p.request("GET", maps+"/a", nil, "Accept-Encoding", "gzip"))
		if got := w.Header().Get("Content-Encoding"); w.Code != http.StatusOK || (got == "gzip") == without {
			t.Errorf("without=%t: got %d, encoding %q", without, w.Code, got)
		}
	}
}

// TestExternalHostname: the OpenID configuration and the document at /api have the configured host
// name.
func TestExternalHostname(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) { c.Serving.ExternalHostname, c.Serving.SecurePort = "api.example", 7443 })
	if _, body := p.do("GET", "/.well-known/openid-configuration", ""); !strings.Contains(body, `"jwks_uri":"https://api.example:7443/openid/v1/jwks"`) {
		t.Errorf("got %s", body)
	}
	if _, body := p.do("GET", "/api", ""); !strings.Contains(body, `"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"api.example:7443"}]`) {
		t.Errorf("/api: got %s", body)
	}
	p = newInProcess(t) // has no secure port
	if _, body := p.do("GET", "/api", ""); !strings.Contains(body, `"serverAddress":"example.com"`) {
		t.Errorf("/api without a secure port: got %s", body)
	}
}

// countingStore is a store that counts the leases it grants.
type countingStore struct {
	storage.Store
	asked atomic.Int64
}

func (l *countingStore) Lease(ctx context.Context, ttl time.Duration) (storage.LeaseID, error) {
	l.asked.Add(1)
	return l.Store.Lease(ctx, ttl)
}

// TestEventsForEver: events that never expire are stored without a lease.
func TestEventsForEver(t *testing.T) {
	for ttl, want := range map[time.Duration]int64{0: 1, -1: 0} {
		store := &countingStore{Store: memory.New(memory.Config{})}
		p := newInProcess(t, func(c *server.Config) { c.API.EventTTL, c.Storage = ttl, server.StorageConfig{Store: store} })
		p.must("POST", "/api/v1/namespaces/ns/events", `{"metadata":{"name":"e"},"involvedObject":{"namespace":"ns"}}`)
		if got := store.asked.Load(); got != want {
			t.Errorf("EventTTL %v: got %d leases, want %d", ttl, got, want)
		}
	}
}

// TestWithoutCore: a server serves only a group of its user. If RBAC decides, the server also
// serves reviews of rights and of the user itself. A warning says once that there are no
// namespaces.
func TestWithoutCore(t *testing.T) {
	const group = "punts.example.com"
	config := func(modes ...string) (server.Config, *observer.ObservedLogs) {
		log, lines := observer.New(zap.WarnLevel)
		return server.Config{
			DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Log: zap.New(log),
			Authorization: access.Config{Modes: modes},
			API: server.APIConfig{Groups: []server.Group{{
				Name:        group,
				AddToScheme: func(s *scheme.Scheme) { s.AddKnownTypes(meta.GroupVersion{Group: group, Version: "v1"}, &Canoe{}) },
				Resources: []registry.Resource{registry.Typed(registry.ResourceOf[*Canoe]{
					GroupResource: meta.GroupResource{Group: group, Resource: "canoes"}, Kind: "Canoe", Namespaced: true,
				})},
			}}},
		}, lines
	}
	const (
		reviews = "/apis/authorization.k8s.io/v1/"
		ask     = `{"spec":{"resourceAttributes":{"group":"punts.example.com","resource":"canoes","verb":"create","namespace":"a"}%s}}`
	)
	for _, tt := range []struct {
		modes   []string
		served  bool
		allowed string // the answer about the user alice
	}{
		{[]string{access.RBAC}, true, `"allowed":false`}, {[]string{access.AlwaysDeny, access.RBAC}, true, `"allowed":false`},
		{[]string{access.AlwaysAllow}, false, ""},
	} {
		cfg, lines := config(tt.modes...)
		s := servertest.Start(t, cfg)
		raw := (&harbor{s, t}).raw
		for path, body := range map[string]string{
			reviews + "selfsubjectaccessreviews":                fmt.Sprintf(ask, ""),
			reviews + "subjectaccessreviews":                    fmt.Sprintf(ask, `,"user":"alice"`),
			reviews + "namespaces/a/localsubjectaccessreviews":  fmt.Sprintf(ask, `,"user":"alice"`),
			reviews + "selfsubjectrulesreviews":                 `{"spec":{"namespace":"a"}}`,
			"/apis/authentication.k8s.io/v1/selfsubjectreviews": `{}`,
			"/apis/authentication.k8s.io/v1/tokenreviews":       `{"spec":{"token":"t"}}`,
		} {
			code, answer := raw("POST", path, body)
			if served := code == http.StatusCreated; served != tt.served || !served && code != http.StatusNotFound {
				t.Errorf("%v: %s: got %d %s", tt.modes, path, code, answer)
			}
			if strings.Contains(body, "alice") && !strings.Contains(string(answer), tt.allowed) {
				t.Errorf("%v: %s: got %s, want %s", tt.modes, path, answer, tt.allowed)
			}
		}
		if n := lines.FilterMessageSnippet("there are no namespaces here").Len(); n != 1 {
			t.Errorf("%v: the log says %d times that there are no namespaces", tt.modes, n)
		}
	}
	cfg, lines := config()
	cfg.API.Core = true
	servertest.Start(t, cfg)
	if n := lines.FilterMessageSnippet("namespaces").Len(); n != 0 {
		t.Errorf("with Core: %v", lines.All())
	}
}
