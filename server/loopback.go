package server

import (
	"net/http"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
)

// newLoopback makes the client by which the server calls itself. It calls handler in process with
// the server's own token. m counts its requests, and the objects that lists and watches show as
// unreadable.
func newLoopback(handler http.Handler, token string, codecs *codec.Factory, r *generic.Resources,
	m *metrics) (*client.Client, error) {
	return client.New(client.Config{
		Answered:  m.clients.Answered,
		Transport: client.HandlerTransport(handler),
		Token:     token,
		UserAgent: "coracle",
		Codecs:    codecs,
		Unread: func(gr meta.GroupResource, o meta.Unread) {
			// A resource without a store belongs to a server behind, or has just been removed.
			if offer := r.Table().Find(gr); offer != nil && offer.Store != nil {
				m.unreadable.Met(offer.Prefix, o)
			}
		},
	})
}

// Client returns a client of the server itself, for controllers. Its requests use no network. They
// pass all filters and admission as the user system:apiserver, and no limit of requests refuses
// them. The client works as soon as New has returned, also before the server is ready, and until
// the server refuses requests at shutdown. Work of Server.Go still runs then and gets errors.
func (s *Server) Client() *client.Client { return s.client }
