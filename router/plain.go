package router

import (
	"net/http"

	"github.com/coracle-project/coracle/scheme/codec"
)

// Plain is the handler of a path that is no API resource. An error that it returns, before it has
// written anything, is answered as a Status.
type Plain func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (p Plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p(w, r); err != nil {
		WriteError(w, r, err)
	}
}

// ReadOnly refuses every request whose method is not GET, with a Status.
func ReadOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			WriteError(w, r, ErrMethod())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Produces is ReadOnly for a handler that answers in one form: it also refuses clients that accept
// only other forms.
func Produces(contentType string, h http.Handler) http.Handler {
	return ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := codec.Producible(r.Header.Get("Accept"), contentType); err != nil {
			WriteError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	}))
}
