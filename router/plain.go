package router

import (
	"net/http"

	"github.com/coracle-project/coracle/scheme/codec"
)

// Plain is the handler of a path outside of the API's resources. If it returns an error before it
// has written anything, the error is answered as a Status.
type Plain func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (p Plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p(w, r); err != nil {
		WriteError(w, r, err)
	}
}

// ReadOnly wraps h and refuses every method except GET with a Status.
func ReadOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			WriteError(w, r, ErrMethod())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Produces wraps h, which answers in one media type. Like ReadOnly it refuses every method except
// GET, and it refuses clients that do not accept contentType.
func Produces(contentType string, h http.Handler) http.Handler {
	return ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := codec.Producible(r.Header.Get("Accept"), contentType); err != nil {
			WriteError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	}))
}
