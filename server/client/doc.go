// Package client is a client of the API for any kind of object. Controllers are its main users:
//
//	namespaces := client.For[*corev1.Namespace](c, corev1.GroupVersion.WithResource("namespaces"))
//	ns, err := namespaces.Get(ctx, "default", meta.GetOptions{})
//
// The type parameter is a pointer to a Go type that the Codecs know; or *scheme.Unstructured, for a
// kind without a Go type; or *meta.PartialObjectMetadata, for only the metadata of objects of any
// kind.
//
// A Client speaks JSON over an http.RoundTripper: the network, or the handler of a server in the
// same process (HandlerTransport), so that the requests pass all filters of that server. It has no
// cache, no retries and no limits of its own.
//
// Laws: if the server refuses a request, the error is a *meta.StatusError. Any other error means
// that there was no answer, that the answer could not be read, or that the request was not sent
// because it makes no sense. A write does not change the object that it is given; it returns a new
// one.
//
// Everything here is safe for concurrent use, except a Watch, which belongs to one goroutine. Only
// HandlerTransport starts goroutines, one for each request; the goroutine has ended when Close of
// the answer's body returns.
//
// Not here: queues of work, informers and leader election (server/controller), the loop that
// follows a Source (scheme/follow).
//
// Read: client.go, resource.go, list.go, watch.go, follow.go, transport.go, metrics.go.
package client
