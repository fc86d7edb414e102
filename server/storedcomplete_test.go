package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestStoredIsComplete: stored objects have everything that the next server would add. A second
// server on the same bytes shows every object as the first one, which did not complete the objects
// that it had written.
func TestStoredIsComplete(t *testing.T) {
	for _, protobuf := range []bool{false, true} {
		t.Run(fmt.Sprintf("protobuf=%v", protobuf), func(t *testing.T) {
			store := memory.New(memory.Config{Rev: 2, Entries: []storage.Entry{{
				Key: "/registry/ranges/servicenodeports", Rev: 2,
				Value: []byte(`{"kind":"RangeAllocation","apiVersion":"v1","metadata":{},"range":"30000-32767","data":""}`),
			}}})
			first := newInProcess(t, func(c *server.Config) {
				c.Storage = server.StorageConfig{Store: store, Protobuf: protobuf}
			})
			var paths []string
			shown := map[string]string{} // by path
			for _, r := range resourcesToPlay(t, first) {
				text, err := os.ReadFile(filepath.Join(examples, strings.TrimSuffix(r.Resource+"."+r.Group, ".")+".yaml"))
				if err != nil {
					t.Fatal(err)
				}
				code, body := first.do("POST", r.paths[0], string(text), "Content-Type", "application/yaml")
				if code != http.StatusCreated {
					t.Fatalf("%s: %d %s", r, code, body)
				}
				var made struct{ Metadata struct{ Name string } }
				if err := json.Unmarshal([]byte(body), &made); err != nil {
					t.Fatal(err)
				}
				for _, path := range r.paths {
					paths = append(paths, path+"/"+made.Metadata.Name)
				}
			}
			var all storage.RangeResult
			for changed := true; changed; { // until no loop writes
				var err error
				if all, err = store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/"}); err != nil {
					t.Fatal(err)
				}
				for _, path := range paths {
					code, body := first.do("GET", path, "")
					if code != http.StatusOK {
						t.Fatalf("%s: %d %s", path, code, body)
					}
					shown[path] = body
				}
				now, err := store.Revision(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				changed = now != all.Rev
			}
			second, err := servertest.New(t, server.Config{
				DataDir:       t.TempDir(),
				Storage:       server.StorageConfig{Store: memory.New(memory.Config{Rev: all.Rev, Entries: all.Entries}), Protobuf: protobuf},
				Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
				Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			next := &inProcess{&handled{Server: second, TB: t}}
			for path, want := range shown {
				if _, got := next.do("GET", path, ""); got != want {
					t.Errorf("%s:\n the next server shows %s\nthe first one showed %s", path, got, want)
				}
			}
		})
	}
}
