// Package apiservices has the two loops that look after APIServices. APIServiceRegistration creates
// an APIService for each group version that this server serves itself, and deletes it when the
// version goes (kube-apiserver's autoregister controller). APIServiceAvailability writes into the
// status of the other APIServices whether the server behind them can be reached (kube-aggregator's
// remote available controller).
//
// Words. A version is a group version. A version is local if this server serves it itself. A local
// version stays if it exists as long as the server runs; it comes and goes if a
// CustomResourceDefinition brings it. An APIService is managed if its label says that servers look
// after it; otherwise it belongs to a user. A server behind is the server that an APIService leads
// to, by the service in its spec.
//
// Laws. Each local version has an APIService. The spec of an APIService that is not managed is
// never changed. A status is written only if it differs from the stored one. An APIService is
// written or deleted only if it still has the revision that was read.
//
// Each server of a cluster runs both loops, unlike most other loops, which only one of the servers
// runs. Only server/aggregator calls them: Begin once, then Run once, and Missing at any time.
//
// Not here: which versions are local, the requests that go to servers behind, and what those serve
// (server/aggregator).
//
// Read: apiserviceregistration.go; apiserviceavailability.go, apiservicecheck.go.
package apiservices
