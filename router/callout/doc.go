// Package callout is the one way out of the server: the client for webhooks of every kind (conversion, admission,
// authentication, authorization, audit) and for extension servers.
//
// A Target says where to call and how both ends prove who they are; it is written by hand, from an
// API object, or read from a kubeconfig file. A Client calls one Target: it posts JSON and reads
// the answer, or sends any request as an http.RoundTripper. A Forwarder sends on what others ask of
// a service. A Relay joins a client with the server that answers, for one request. A webhook is
// someone else's program, so the Client guarantees that
//   - a call ends: each try has a time limit, and the caller's context bounds all of them;
//   - an answer costs at most MaxAnswer bytes, and is read only from the host that was asked: redirects are errors;
//   - an Error says by its Kind what went wrong, above all whether nobody answered or somebody answered nonsense;
//   - no credentials, and nothing of an answer that is not understood, stands in an error. The texts of errors are
//     shown to users, who may have chosen the address.
//
// What is wrong with a configuration is said by New and ReadKubeconfig, not by the first call.
//
// A Client keeps connections, HTTP/2 where it is spoken, and starts no goroutine but those of net/http. All methods may
// be called at once. Not here: what the bodies mean, which webhook is asked when, what its failure means, and metrics,
// which get Hooks.
//
// A Socket is another way: gRPC to a plugin on this machine, for keys that the server must not have itself. Its messages are made and
// read by hand.
//
// Read: target.go, client.go, error.go, retry.go, forward.go, relay.go, streams.go; kubeconfig.go
// reads the files of operators; socket.go.
package callout
