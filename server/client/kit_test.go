package client_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	namespaceResource = corev1.GroupVersion.WithResource("namespaces")
	configMapResource = corev1.GroupVersion.WithResource("configmaps")
)

// newClient returns a client, or fails the test.
func newClient(t testing.TB, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// onBoth runs a test twice, each time with a new server without controllers: with a client over the
// network, and with a client of the server's handler.
func onBoth(t *testing.T, test func(t *testing.T, c *client.Client)) {
	t.Run("network", func(t *testing.T) {
		s := servertest.Start(t, server.Config{Controllers: []string{}})
		test(t, newClient(t, client.Config{URL: s.URL, Transport: s.Client.Transport, Codecs: s.Server.Codecs}))
	})
	t.Run("handler", func(t *testing.T) {
		test(t, servertest.Start(t, server.Config{
			Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}, Controllers: []string{},
		}).Server.Client())
	})
}

// to returns a client of a handler that stands for a server.
func to(t testing.TB, h http.HandlerFunc) *client.Client {
	t.Helper()
	return newClient(t, client.Config{Transport: client.HandlerTransport(h), Codecs: codecs(t)})
}

func configMap(name string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers}}
}
