package upkeep_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/upkeep"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestPaths sends requests for the two paths to a server whose store has no database.
func TestPaths(t *testing.T) {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: lateStore{Store: store}}})
	found, err := upkeep.CheckServer(t.Context(), s.Kubeconfig)
	if err != nil || found.Objects == 0 || found.Unreadable == nil || len(found.Unreadable) > 0 {
		t.Errorf("CheckServer: got %+v, %v, want that all objects can be read", found, err)
	}
	if _, err := upkeep.DefragmentServer(t.Context(), s.Kubeconfig); err == nil || !strings.Contains(err.Error(), "there is no embedded store") {
		t.Errorf("DefragmentServer: got %v, want that there is no database", err)
	}
	if _, err := upkeep.DefragmentStore(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no embedded store") {
		t.Errorf("DefragmentStore: got %v, want that there is no database", err)
	}
	for path, method := range map[string]string{upkeep.CheckPath: http.MethodPost, filters.DefragmentPath: http.MethodGet} {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: got %d, want 405", method, path, resp.StatusCode)
		}
	}
}
