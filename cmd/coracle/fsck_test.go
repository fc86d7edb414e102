//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
)

// shared is a store that the server on it does not close.
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

// TestFsck puts objects that cannot be read into stores. fsck lists them through the running
// server, and without a server.
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
	fsck(t, exitFailed, nil, "--no-such-flag")
	fsck(t, exitFailed, nil, "an argument")
	fsck(t, exitFailed, nil, "--kubeconfig", "/nowhere", "--data-dir", "x")
}

// TestFsckEncrypted checks an etcd with secrets that two keys have sealed. fsck lists a secret if
// the configuration lacks the secret's key, or has another key by its name.
func TestFsckEncrypted(t *testing.T) {
	t.Parallel()
	url := etcdproc.Start(t)
	configured := func(keys ...string) (file string) {
		t.Helper()
		file = filepath.Join(t.TempDir(), "encryption.yaml")
		text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n"
		for _, key := range keys {
			name, secret, _ := strings.Cut(key, "=")
			text += fmt.Sprintf("  - aesgcm: {keys: [{name: %s, secret: %s}]}\n", name, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(secret, 32))))
		}
		if err := os.WriteFile(file, []byte(text+"  - identity: {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, keys := range [][]string{{"old=a"}, {"new=b", "old=a"}} {
		secret, _, _ := strings.Cut(keys[0], "=")
		l := &callServer{servertest.Start(t, server.Config{Storage: server.StorageConfig{
			Etcd: server.EtcdConfig{Servers: []string{url}}, EncryptionConfigFile: configured(keys...),
		}}), t}
		l.call(201, "POST", "/api/v1/namespaces/default/secrets", "application/json", fmt.Sprintf(`{"metadata":{"name":%q},"stringData":{"k":"v"}}`, secret))
		l.call(201, "POST", "/api/v1/namespaces/default/configmaps", "application/json", fmt.Sprintf(`{"metadata":{"name":%q}}`, secret))
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	}
	store, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	before, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const oldSecret, newSecret = "/registry/secrets/default/old\t?\t", "/registry/secrets/default/new\t?\t"
	for _, tt := range []struct {
		keys []string // nil: no configuration
		want []string // beginnings of lines
	}{
		{[]string{"new=b", "old=a"}, nil},
		{[]string{"new=b"}, []string{oldSecret + "no provider has the key that the value was encrypted with"}},
		{[]string{"new=b", "old=c"}, []string{oldSecret + "k8s:enc:aesgcm:v1:old: the value cannot be decrypted: "}},
		{nil, []string{newSecret, oldSecret}},
	} {
		args := []string{"--etcd-servers", url}
		if tt.keys != nil {
			args = append(args, "--encryption-provider-config", configured(tt.keys...))
		}
		code := 0
		if len(tt.want) > 0 {
			code = exitUnreadable
		}
		fsck(t, code, func(text string) {
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			for i, want := range tt.want {
				if len(lines) != len(tt.want) || !strings.HasPrefix(lines[i], want) {
					t.Errorf("with the keys %q: got\n%swant %q", tt.keys, text, tt.want)
				}
			}
		}, args...)
	}
	if after, err := store.Revision(t.Context()); err != nil || after != before {
		t.Errorf("fsck has written: the revision was %d and is %d, %v", before, after, err)
	}
	fsck(t, exitFailed, nil, "--etcd-servers", url, "--encryption-provider-config", "/nowhere")
}

// fsck runs the command, which must exit with code, and passes what it prints to said.
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

// contents returns the paths in a folder, and the hash of each file.
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
