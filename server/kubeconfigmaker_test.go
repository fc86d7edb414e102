package server_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestKubeconfigMaker makes kubeconfigs for other users, and checks as whom the server
// authenticates them.
func TestKubeconfigMaker(t *testing.T) {
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{}})
	h := identity.KubeconfigMaker{DataDir: filepath.Dir(s.Kubeconfig), Lasts: time.Hour}
	accounts := client.For[*corev1.ServiceAccount](s.Server.Client(), corev1.GroupVersion.WithResource("serviceaccounts")).In("default")
	bot, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "bot"}}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		target, err := callout.ReadKubeconfig(file)
		if err != nil {
			t.Fatal(err)
		}
		way, err := callout.New(callout.Config{Name: "test", Target: target})
		if err != nil {
			t.Fatal(err)
		}
		defer way.Close()
		resp, err := (&http.Client{Transport: way}).Get(target.URL + "/api/v1/namespaces/default")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask(h.User(`alice "the cat"`, []string{"dev"})); !strings.Contains(got, `User \"alice \\\"the cat\\\"\" cannot get resource`) {
		t.Errorf("alice: got %s, want her to be told that she may not", got)
	}
	if got := ask(h.User("root", []string{"dev", "system:masters"})); !strings.Contains(got, `"kind":"Namespace"`) {
		t.Errorf("root: got %s", got)
	}
	text, err := h.ServiceAccount(t.Context(), "default", "bot")
	if got := ask(text, err); !strings.Contains(got, "system:serviceaccount:default:bot") {
		t.Errorf("bot: got %s", got)
	}
	if !strings.Contains(string(text), "namespace: \"default\"") {
		t.Errorf("got %s, want the account's namespace in it", text)
	}
	if err := accounts.Delete(t.Context(), bot.Name, meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := ask(text, nil); !strings.Contains(got, `"reason":"Unauthorized"`) {
		t.Errorf("bot, which is gone: got %s", got)
	}
	if _, err := h.ServiceAccount(t.Context(), "default", "bot"); !meta.IsNotFound(err) {
		t.Errorf("an account that is gone: got %v", err)
	}
	for name, h := range map[string]identity.KubeconfigMaker{
		"no server":     {DataDir: t.TempDir(), Lasts: time.Hour},
		"no time":       {DataDir: h.DataDir},
		"after the end": {DataDir: h.DataDir, Lasts: 100 * 365 * 24 * time.Hour},
	} {
		if text, err := h.User("alice", nil); err == nil {
			t.Errorf("%s: got %s", name, text)
		}
	}
	if _, err := h.User("", nil); err == nil {
		t.Error("a user without a name")
	}
}
