package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

var serverLabel = regexp.MustCompile(`apiserver_id_hash="sha256:[0-9a-f]{64}"`)

// anywhere is metrics of a server, whichever machine it runs on.
func anywhere(text string) string {
	return serverLabel.ReplaceAllString(text, `apiserver_id_hash="sha256:X"`)
}

// fileHash is the hash of what a file says.
func fileHash(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return labelHash(string(data))
}

// labelHash stands for a value in a label.
func labelHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestChangeBeforeRun: what changes in a configuration file while the server starts is taken up.
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
		code, _ := (&inProcess{s, t}).do("GET", "/api/v1/namespaces", "", "Authorization", "Bearer alice")
		return code == http.StatusOK
	})
}
