package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// TestStartTogether starts members with a log to replay, several at once so that their goroutines have to wait for a
// processor: none may look into its log for the election when it has cut that off.
func TestStartTogether(t *testing.T) {
	from := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: from, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 60 {
				if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d-%d", w, i), []byte("1"), storage.Pre{}, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	for range 8 {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range 5 {
				s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Get(t.Context(), "/a/3-59"); err != nil {
					t.Error(err)
				}
				s.Close()
			}
		})
	}
	wg.Wait()
}
