package filters

import (
	"math/rand/v2"
	"net/http"
)

// Goaway has a share of the HTTP/2 connections end after a request, where chance is that of one request: clients connect again
// then, perhaps to another server behind the same address, and so the load spreads. What still runs on the connection is
// served. Watches that go on for long keep to their server. A chance of 0 leaves the filter out.
// Order: before the first answer. Cost: a random number.
func Goaway(chance float64) Filter {
	if chance <= 0 {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && rand.Float64() < chance {
				w.Header().Set("Connection", "close") // net/http sends GOAWAY for it
			}
			next(w, r)
		}
	}
}
