//go:build !race && unix

package server_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestDataDirIsPrivate starts servers with each engine, and checks the modes of all files. It does
// so several times, because servers create their files concurrently. The umask forbids nothing.
func TestDataDirIsPrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for _, engine := range []string{server.StorageFile, server.StorageEmbedded, server.StorageMemory} {
		t.Run(engine, func(t *testing.T) {
			for range 10 {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					base := t.TempDir()
					dir := filepath.Join(base, "made", "data")
					t.Run("", func(t *testing.T) { // the end of the subtest ends the server
						s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Engine: engine}, DataDir: dir})
						resp, err := s.Client.Post(s.URL+"/api/v1/namespaces/default/configmaps", "application/json", strings.NewReader(`{"metadata":{"name":"x"}}`))
						if err != nil || resp.StatusCode != http.StatusCreated {
							t.Fatal(resp, err)
						}
						resp.Body.Close()
						wantPrivate(t, filepath.Join(base, "made"))
					})
					wantPrivate(t, filepath.Join(base, "made"))
				})
			}
		})
	}
}

// wantPrivate fails if the mode of a file or folder gives others any right.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // deleted since it was listed
		}
		if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files++
		return nil
	})
	if err != nil || files < 8 {
		t.Errorf("got %d files, %v, want all that a server makes", files, err)
	}
}

// TestOpenDataDir: a server whose data folder others can read logs that, once.
func TestOpenDataDir(t *testing.T) {
	for mode, want := range map[os.FileMode]int{0o755: 1, 0o710: 1, 0o701: 1, 0o700: 0} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		core, logs := observer.New(zapcore.WarnLevel)
		s, err := servertest.New(t, server.Config{
			DataDir: dir, Log: zap.New(core), Storage: server.StorageConfig{Engine: server.StorageMemory},
			Serving: server.ServingConfig{SecurePort: server.AnyPort},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		got := logs.FilterField(zap.String("path", dir)).All()
		if len(got) != want {
			t.Errorf("mode %04o: got %d warnings, want %d", mode, len(got), want)
		}
		if want > 0 && len(got) > 0 && got[0].ContextMap()["mode"] != fmt.Sprintf("%04o", mode) {
			t.Errorf("mode %04o: the warning says %v", mode, got[0].ContextMap())
		}
	}
}

// TestUnreadableFileIsLogged starts a server on a folder with a file that is no YAML, and with a
// link to outside of the folder.
func TestUnreadableFileIsLogged(t *testing.T) {
	dir := t.TempDir()
	broken, link := filepath.Join(dir, "objects/registry/broken.yaml"), filepath.Join(dir, "objects/registry/link.yaml")
	if err := os.MkdirAll(filepath.Dir(broken), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.WarnLevel)
	s, err := servertest.New(t, server.Config{
		DataDir: dir, Log: zap.New(core), Storage: server.StorageConfig{Engine: server.StorageFile},
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, path := range []string{broken, link} {
		if logs.FilterField(zap.String("path", path)).Len() == 0 {
			t.Errorf("nothing is said of %s", path)
		}
	}
}
