package interop

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// TestShutdown asks a server to end while watches are open and a client has sent half of a request.
// First readiness fails, while requests are still served. Then the half request is answered,
// watches end without an error, and the exit code is 0.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--shutdown-delay-duration=1500ms")
	config := s.config(t)
	c := s.client(t)
	ns := namespace(t, c)
	ctx := t.Context()
	var watches []watch.Interface
	for range 20 {
		w, err := s.client(t).CoreV1().ConfigMaps(ns).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		watches = append(watches, w)
	}
	finish := halfCreate(t, config, ns, "slow")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	s.terminate(t)
	eventually(t, time.Second, func() error {
		resp, err := client.Get(config.Host + "/readyz")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusInternalServerError {
			return fmt.Errorf("readyz: got %s, want 500", resp.Status)
		}
		return nil
	})
	resp, err := client.Get(config.Host + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("livez while readiness fails: got %s, want 200", resp.Status)
	}
	if _, err := c.CoreV1().ConfigMaps(ns).Create(ctx, configMap("late"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a request within the delay: %v", err)
	}
	for i, w := range watches {
		endsCleanly(t, fmt.Sprintf("watch %d", i), w)
	}
	resp, err = client.Get(config.Host + "/api/v1/namespaces/" + ns + "/configmaps/late")
	if err == nil {
		resp.Body.Close()
	}
	if err == nil && resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new request after the delay: got %s, want 503 or no connection", resp.Status)
	}
	if status := finish(); status != http.StatusCreated {
		t.Errorf("the request that ran: got %d, want 201", status)
	}
	if code := s.exit(t, 20*time.Second); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"slow", "late"} {
		if _, err := c.CoreV1().ConfigMaps(ns).Get(ctx, name, metav1.GetOptions{}); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	}
}

// endsCleanly waits for the end of a watch, which must come without an error event.
func endsCleanly(t *testing.T, name string, w watch.Interface) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return
			}
			if e.Type != watch.Added {
				t.Errorf("%s: got %s of %v", name, e.Type, e.Object)
			}
		case <-limit:
			t.Fatalf("%s does not end", name)
		}
	}
}

// halfCreate sends the first half of a request that creates a ConfigMap. The function it returns
// sends the rest and returns the status of the answer.
func halfCreate(t *testing.T, config *rest.Config, ns, name string) (finish func() int) {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(config.Host, "https://"), tlsConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
	head := fmt.Sprintf("POST /api/v1/namespaces/%s/configmaps HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", ns, len(body))
	send := func(text string) {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Error(err)
		}
	}
	send(head + body[:len(body)/2])
	time.Sleep(50 * time.Millisecond) // let it arrive
	return func() int {
		send(body[len(body)/2:])
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
}
