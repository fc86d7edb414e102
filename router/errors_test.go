package router

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

type nowhere struct{ h http.Header }
func (n nowhere) Header() http.Header { return n.h }
func (n nowhere) WriteHeader(int) {}
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func BenchmarkWriteError(b *testing.B) {
	for _, a := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
	b.Run(a, func(b *testing.B) {
		r := httptest.NewRequest("GET", "/api/v1/pods", nil)
		r.Header.Set("Accept", a)
		w := nowhere{http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			WriteError(w, r, meta.NewForbidden(meta.GroupResource{Resource:"pods"}, "", errors.New("no no no no no no no no no no no no no")))
		}
	})
	}
}
