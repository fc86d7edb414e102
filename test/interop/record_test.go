package interop

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// exchange is a request with the head of its answer.
type exchange struct {
	method, path, query string
	status              int
	contentType         string
}

// watches reports whether the request opened a watch.
func (x exchange) watches() bool { return strings.Contains(x.query, "watch=") }

// recorder records the requests of a client.
type recorder struct {
	next http.RoundTripper

	mu  sync.Mutex
	all []exchange
}

// watchRequests puts a recorder into a client's configuration.
func watchRequests(config *rest.Config) *recorder {
	r := &recorder{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.next = next
		return r
	})
	return r
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	x := exchange{method: req.Method, path: req.URL.Path, query: req.URL.RawQuery}
	if err == nil {
		x.status, x.contentType = resp.StatusCode, resp.Header.Get("Content-Type")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
	return resp, err
}

// take returns the exchanges since the last take.
func (r *recorder) take() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}
