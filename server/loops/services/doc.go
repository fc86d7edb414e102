// Package services keeps the service "kubernetes" with the servers that are there, and the ranges
// of addresses for services.
//
// It guarantees that a ServiceCIDR is let go only when no address of it is in use that no other
// range has, and that the default one is there.
//
// Read: servicecidr.go, kubernetesservice.go.
package services
