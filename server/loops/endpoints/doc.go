// Package endpoints derives Endpoints and EndpointSlices from services and pods, and slices from
// Endpoints that somebody writes by hand.
//
// It guarantees that each address of a service stands in one slice for each of its port sets, that
// no slice is written that would not change, and that endpoints of a pod that cannot be read stay
// as they are. Package topology decides which zones get hints.
//
// Read: services.go, endpointslice.go, slicepack.go.
package endpoints
