// Package client is an API client, for controllers above all. It is generic over what it reads and
// writes:
//
//	namespaces := client.For[*corev1.Namespace](c, corev1.GroupVersion.WithResource("namespaces"))
//	ns, err := namespaces.Get(ctx, "default", meta.GetOptions{})
//
// The type is a pointer to a Go type that the Codecs know, *scheme.Unstructured for a kind without
// one, or *meta.PartialObjectMetadata where only the metadata of any kind counts, and only that is
// sent.
//
// A Client speaks JSON over an http.RoundTripper: the network, or the handler of a server in the
// same process (HandlerTransport), whose every filter the requests pass. It keeps no state beside
// that: no cache, no retries and no limits of its own.
//
// What the server refuses comes back as a *meta.StatusError; every other error says that there was
// no answer, or none that could be read. An object that a write was given is not changed; the
// answer is a new one.
//
// Everything here is safe for concurrent use, except a Watch, which belongs to one goroutine. Only
// HandlerTransport starts goroutines, one for each request, which has ended when the answer's body
// is closed. Not here: queues of work (server/controller), caches, leader election.
//
// Read: client.go, resource.go, list.go, watch.go, follow.go, transport.go.
package client
