package server

import (
	"crypto/rand"
	"net/http"

	"github.com/coracle-project/coracle/server/client"
)

// buildClient makes the server's client of itself, which calls the handler in process. Its token is made for this life of
// the server and kept in memory only; who shows it is system:apiserver, a member of system:masters.
func (s *Server) buildClient() (err error) {
	s.loopback = rand.Text()
	s.client, err = client.New(client.Config{
		// The handler is made later than those who hold the client.
		Transport: client.HandlerTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) })),
		Token:     s.loopback,
		UserAgent: "coracle",
		Codecs:    s.Codecs,
	})
	return err
}

// Client returns a client of the server itself, for controllers. Its requests are made without a network, pass all
// filters and admission as those of the user system:apiserver, and are never turned away for their number. They can be
// made as soon as New has returned, also before the server is ready, until it turns requests away on its way down: what runs
// with Go then gets errors, and is not ended before.
func (s *Server) Client() *client.Client { return s.client }
