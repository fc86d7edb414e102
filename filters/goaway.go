package filters

import (
	"math/rand/v2"
	"net/http"
)

// Goaway ends HTTP/2 connections at random: after each request with the given chance. The client
// then connects again, perhaps to another server behind the same address, so the load spreads.
// Requests that run on the connection are still served, and long watches stay with their server. A
// chance of 0 leaves the filter out.
// Order: before the first response. Cost: a random number.
func Goaway(chance float64) Filter {
	if chance <= 0 {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && rand.Float64() < chance {
				w.Header().Set("Connection", "close") // net/http's HTTP/2 server sends GOAWAY for it
			}
			next(w, r)
		}
	}
}
