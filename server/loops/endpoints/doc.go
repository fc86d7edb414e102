// Package endpoints derives Endpoints and EndpointSlices from services and pods, and EndpointSlices
// from Endpoints that a client writes by hand. It does the work of three controllers of
// kube-controller-manager: endpoints-controller (Endpoints), endpointslice-controller
// (EndpointSlices) and endpointslice-mirroring-controller (Mirroring).
//
// Words: a slice is an EndpointSlice. A service is managed if it has a selector and is not of type
// ExternalName. A pod or node is hidden if it exists but cannot be read, for example because it
// cannot be decrypted (see controller.Informer). A plan is the wanted content of the slices of one
// service and one address type. A group is the part of a plan with one set of ports, because a
// slice has one list of ports for all its endpoints. A placeholder is a slice without endpoints,
// which tells clients that the service has none. A trigger time is the time of the event that
// caused a change, such as a pod that became ready.
//
// Laws:
//   - Each endpoint of a service is in exactly one slice for each address type and set of ports.
//   - An object is written only if the write changes it.
//   - The endpoints of a hidden pod stay as they are, because its state is not known.
//   - New slices are written before old ones are deleted, so no endpoint is missing in between.
//   - A service without a selector costs no request while it has neither Endpoints nor slices.
//
// Package server makes the controllers for each run and calls Run of each in a goroutine of its
// own. Within a run, all three share Informers. Package server also decides which one of several
// servers runs them.
//
// Differences from Kubernetes. The controllers read Endpoints and slices from the server before
// they write, where Kubernetes trusts its cache and tries again after conflicts. Endpoints that
// have no service at the start are deleted after a grace period instead of at once. Changes are not
// collected over a period (--endpoint-updates-batch-period, which is 0 in Kubernetes too by
// default).
//
// Not here: the choice of zones for hints by CPU (server/loops/topology), the view of pods and
// nodes (server/loops/pods), and the service "kubernetes" (server/loops/services).
//
// Read: services.go, triggers.go; endpointslice.go, slicepack.go, slices.go, zonehints.go;
// endpoints.go, subsets.go; endpointslicemirroring.go.
package endpoints
