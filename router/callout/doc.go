// Package callout is the only way by which the server calls other programs: webhooks of all kinds
// (conversion, admission, authentication, authorization, audit), extension servers, and plugins on
// the same machine.
//
// Words: a Target is where to call and how both ends authenticate; it is written in code, taken
// from an API object, or read from a kubeconfig file. A Client posts JSON to one Target and reads
// the response, or passes requests as an http.RoundTripper. A Pool has the clients of webhooks that
// objects of the API name, and Users their credentials. A Forwarder passes other clients'
// requests on to a service. A Relay connects one client's request with the server that answers it.
// A Socket is a gRPC connection to a plugin behind a Unix socket. A Flaw is an outdated property of
// a certificate.
//
// The other end is another program that may be wrong or hostile. So a Client keeps these laws:
//
//   - A call ends: each try has a time limit, and the caller's context bounds all of them.
//   - A response costs at most MaxAnswer bytes, and comes only from the host that was called. A
//     redirect of a POST to another host, or into a GET, is an error.
//   - The Kind of an Error says what went wrong, above all whether no response came or a bad one.
//   - An error contains no credentials, and no part of a response that could not be understood.
//     Users see these errors, and may have chosen the address.
//
// New, ReadKubeconfig and ReadUsers report mistakes in a configuration; a first call does not. A
// Client keeps connections, with HTTP/2 if the server has it and Config.Spread does not forbid it.
// It starts no goroutines except those of net/http.
// All methods may be called concurrently, except those of a Relay.
//
// Packages server, registry and filters make Clients; server/aggregator uses Forwarder and Relay.
// Not here: the meaning of bodies, which webhook is called when, what its failure means, and
// metrics, which Hooks feed.
//
// Read target.go, client.go, error.go, retry.go, flaw.go and wording.go; then forward.go, relay.go
// and streams.go; pool.go for webhooks of the API; kubeconfig.go and users.go for operators' files;
// socket.go for plugins.
package callout
