package server

import (
	"net/http"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
)

// newLoopback makes the server's client of itself, which calls the handler in process and shows the
// server's own token. It tells of objects that cannot be read.
func newLoopback(handler http.Handler, token string, codecs *codec.Factory, r *generic.Resources,
	unreadable *backing.Unreadables) (*client.Client, error) {
	return client.New(client.Config{
		Transport: client.HandlerTransport(handler),
		Token:     token,
		UserAgent: "coracle",
		Codecs:    codecs,
		Unread: func(gr meta.GroupResource, o meta.Unread) {
			// else another server has it, or the resource has just gone
			if offer := r.Table().Find(gr); offer != nil && offer.Store != nil {
				unreadable.Met(offer.Prefix, o)
			}
		},
	})
}

// Client returns a client of the server itself, for controllers. Its requests are made without a
// network, pass all filters and admission as those of the user system:apiserver, and are never
// turned away for their number. They can be made as soon as New has returned, also before the
// server is ready, until it turns requests away on its way down: what runs with Go then gets
// errors, and is not ended before.
func (s *Server) Client() *client.Client { return s.client }
