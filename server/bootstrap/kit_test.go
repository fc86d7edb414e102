package bootstrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// definitions is the path of CustomResourceDefinitions.
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// shared is a store that several servers share. Its Close does nothing, so that no server closes it
// under the others.
type shared struct{ storage.Store }

func (shared) Close() error { return nil }

func newShared(t *testing.T) shared {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	return shared{store}
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

// running is a server that runs. Its methods send requests as the administrator.
type running struct {
	*servertest.Server
	t testing.TB
}

// raw sends a request and returns the code and the answer.
func (s *running) raw(method, path, body string, header ...string) (int, []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// do sends a request and returns the code and the decoded answer.
func (s *running) do(method, path, body string, header ...string) (int, map[string]any) {
	s.t.Helper()
	code, data := s.raw(method, path, body, header...)
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		s.t.Fatalf("%s %s: %d %q: %v", method, path, code, data, err)
	}
	return code, tree
}

// want sends a request, and compares the code and the values at dotted paths of the answer.
func (s *running) want(code int, method, path, body string, at map[string]any, header ...string) {
	s.t.Helper()
	got, tree := s.do(method, path, body, header...)
	if got != code {
		s.t.Errorf("%s %s: got %d %v, want %d", method, path, got, tree["message"], code)
	}
	for p, want := range at {
		if v := value(tree, p); fmt.Sprint(v) != fmt.Sprint(want) {
			s.t.Errorf("%s %s: %s: got %v, want %v", method, path, p, v, want)
		}
	}
}

// gone waits until a GET of a path answers 404.
func (s *running) gone(path string) {
	s.t.Helper()
	code := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if code, _ = s.raw("GET", path, ""); code == 404 {
			return
		}
	}
	s.t.Fatalf("GET %s: got %d, want 404 in the end", path, code)
}

// value returns the value at a dotted path of a tree. A number in the path is the index in a list.
func value(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(t) {
				return nil
			}
			v = t[i]
		default:
			return nil
		}
	}
	return v
}
