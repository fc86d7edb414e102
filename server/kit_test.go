package server_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/handlertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess is a server that does not listen, with helpers for the tests of this package.
type inProcess struct{ *handled }

// handled is embedded under a name of its own, so that p.Server is the server.Server.
type handled = handlertest.Server

func newInProcess(tb testing.TB, change ...func(*server.Config)) *inProcess {
	tb.Helper()
	return &inProcess{handlertest.New(tb, change...)}
}

// do sends one request and returns the answer.
func (p *inProcess) do(method, target, body string, header ...string) (int, string) {
	p.TB.Helper()
	return p.Do(method, target, body, header...)
}

func (p *inProcess) request(method, target string, body io.Reader, header ...string) *http.Request {
	p.TB.Helper()
	return p.Request(method, target, body, header...)
}

func (p *inProcess) serve(r *http.Request) *httptest.ResponseRecorder { return p.Serve(r) }

// measured is a test that measures the server. The server therefore logs nothing.
type measured struct{ testing.TB }

// status decodes an answer as a Status; the zero value if it is none.
func status(body string) (s struct {
	Kind, Reason, Message string
	Code                  int
}) {
	_ = json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&s)
	return s
}

// pool returns a pool with the certificates in pem.
func pool(tb testing.TB, pem []byte) *x509.CertPool {
	tb.Helper()
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		tb.Fatal("no certificate")
	}
	return p
}

// appears waits until ok accepts the object, and returns the object.
func appears[T meta.Object](t *testing.T, r client.Resource[T], name string, ok func(obj T) bool) (found T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	one := r.Source(meta.ListOptions{FieldSelector: "metadata.name=" + name})
	for b := range follow.Changes(ctx, one, follow.Options{}) {
		for _, ch := range b.Changes {
			if !ch.Gone && ch.Unread == nil && ok(ch.New) {
				return ch.New
			}
		}
	}
	t.Fatalf("%s is not what it is waited for", name)
	return found
}

// sharedStore is a store that several servers use, at once or in turn. None of them closes it.
type sharedStore struct{ storage.Store }

func (sharedStore) Close() error { return nil }

func newSharedStore(t *testing.T) sharedStore {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	return sharedStore{store}
}

// cpuTime returns the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
