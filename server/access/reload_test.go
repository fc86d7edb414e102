package access_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestChangeBeforeRun: a change of a configuration file while the server starts is not lost.
func TestChangeBeforeRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "authorization.yaml")
	config := func(first, second string) string {
		return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: " + first + ", name: " + strings.ToLower(first) + "}, {type: " + second + ", name: " + strings.ToLower(second) + "}]\n"
	}
	write(t, file, config("AlwaysDeny", "AlwaysAllow"))
	s, err := servertest.New(t, server.Config{
		DataDir: t.TempDir(), Controllers: []string{}, Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving:        server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authentication: identity.Config{TokenAuthFile: tokensOf(t, "alice,alice,1")},
		Authorization:  access.Config{ConfigFile: file},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, config("AlwaysAllow", "AlwaysDeny"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-s.Ready()
	eventually(t, "the configuration was not taken up", func() bool {
		code, _ := do(t, s, "alice", "GET", "/api/v1/namespaces", "")
		return code == http.StatusOK
	})
}
