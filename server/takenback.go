package server

import "net/http"

// maxTakenBack is how many requests a stranger may take back on one connection, unless more of its requests have been answered:
// who asks only to take it back costs the server more than itself.
const maxTakenBack = 20

// patient is a handler that closes the connections of HTTP/2 on which a stranger takes back what it has asked, again and again: with
// each goes all that waits on it.
func patient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			h.ServeHTTP(w, r)
			return
		}
		c, ok := r.Context().Value(connKey{}).(*conn)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		if r.Context().Err() == nil {
			h.ServeHTTP(w, r)
		}
		if r.Context().Err() == nil {
			c.answered.Add(1)
			return
		}
		if n := c.takenBack.Add(1); n >= maxTakenBack && n > c.answered.Load() && !c.known.Load() {
			c.Close()
		}
	})
}
