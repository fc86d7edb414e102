//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/file"
)

// shared is a store that outlives a server on it.
type shared struct{ storage.Store }

func (shared) Close() error { return nil }

// unreadableObjects are objects that cannot be read, and what fsck says of each.
var unreadableObjects = []struct{ key, value, says string }{
	{"/registry/apiextensions.k8s.io/customresourcedefinitions/oars.boats.example.com",
		`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v99","metadata":{"name":"oars.boats.example.com"}}`,
		"\tapiextensions.k8s.io/v99\tstored in version \"apiextensions.k8s.io/v99\", which is not known\n"},
	{"/registry/boats.example.com/oars/default/o", `{"kind":"Oar","apiVersion":"boats.example.com/v1","metadata":{"name":"o","namespace":"default"}}`,
		"\t?\tits definition oars.boats.example.com cannot be read\n"},
	{"/registry/configmaps/default/typed", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"typed","namespace":"default"},"data":5}`,
		"\tv1\tstored in version \"v1\": "},
	{"/registry/pods/default/garbage", "\x00\x01}{", "\t?\tstored in no version that can be made out: "},
	{"/registry/secrets/default/sealed", "k8s:enc:aescbc:v1:lost:0123456789", "\t?\t"},
}

// TestFsck puts objects that cannot be read into stores, and lists them: through the running server, and at rest.
func TestFsck(t *testing.T) {
	t.Parallel()
	for engine, open := range map[string]func(dir string) (storage.Store, error){
		"embedded": func(dir string) (storage.Store, error) {
			return embedded.Open(t.Context(), embedded.Config{Dir: filepath.Join(dir, "etcd")})
		},
		"file": func(dir string) (storage.Store, error) {
			return file.Open(file.Config{Dir: filepath.Join(dir, "objects"), NoSync: true})
		},
	} {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			store, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: shared{store}}})
			fsck(t, 0, nil, "--kubeconfig", s.Kubeconfig)
			for _, o := range unreadableObjects {
				if _, err := store.Put(t.Context(), o.key, []byte(o.value), storage.Pre{}, 0); err != nil {
					t.Fatal(err)
				}
			}
			said := func(text string) {
				t.Helper()
				if n := strings.Count(text, "\n"); n != len(unreadableObjects) {
					t.Errorf("got %d lines, want %d:\n%s", n, len(unreadableObjects), text)
				}
				for _, o := range unreadableObjects {
					if !strings.Contains(text, o.key+o.says) {
						t.Errorf("got\n%swant %s%s", text, o.key, o.says)
					}
				}
			}
			fsck(t, exitUnreadable, said, "--kubeconfig", s.Kubeconfig)
			if engine == "embedded" {
				fsck(t, exitFailed, nil, "--data-dir", dir) // a server runs on it
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			before := contents(t, dir)
			fsck(t, exitUnreadable, said, "--data-dir", dir, "--storage", engine)
			if after := contents(t, dir); after != before {
				t.Errorf("the folder has changed:\n%s\n%s", before, after)
			}
		})
	}
	fsck(t, exitFailed, nil, "--data-dir", t.TempDir())
	fsck(t, exitFailed, nil, "--kubeconfig", "/nowhere")
	fsck(t, exitFailed, nil, "--kubeconfig", "/nowhere", "--data-dir", "x")
}

// fsck runs the command and wants its exit code; said is told what it prints.
func fsck(t *testing.T, code int, said func(text string), args ...string) {
	t.Helper()
	var out bytes.Buffer
	err := run(context.Background(), &out, append([]string{"fsck"}, args...)...)
	got := 0
	if err != nil {
		got = exitCode(err)
	}
	if got != code {
		t.Errorf("fsck %v: got %d, %v, want %d\n%s", args, got, err, code, out.String())
	}
	if said != nil {
		said(out.String())
	}
}

// contents tells what the files of a folder hold.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&all, path)
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}
