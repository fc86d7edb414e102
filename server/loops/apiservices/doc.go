// Package apiservices registers the versions that a server serves as APIServices, and tells in
// their statuses whether the servers behind the others can be reached.
//
// It guarantees that a version that is served is registered, that an APIService that somebody
// manages themselves is left alone, and that a status is written only when it changes.
//
// Read: apiserviceregistration.go, apiserviceavailability.go.
package apiservices
