// Package certificates declares the resource certificatesigningrequests of the group
// certificates.k8s.io: requests for certificates, which a controller or an administrator approves
// or denies, and which a signer answers with a certificate.
//
// Words. A request is a CertificateSigningRequest. Its subresource approval is for the approver,
// who writes the conditions Approved and Denied. Its subresource status is for the signer, who
// writes the certificate and other conditions.
//
// Laws:
//
//   - The spec of a request never changes after its creation, and the server sets the user in it.
//     So a signer can trust that this user asked for this certificate.
//
//   - The conditions Approved, Denied and Failed are never removed, and Approved and Denied exclude
//     each other.
//
//   - A certificate that was issued never changes.
//
//   - An update may keep some violations that the old object has already: see checkSpec and
//     checkConditions.
//
//   - The texts and the order of errors are those of kube-apiserver.
//
// Resources returns the declaration. The server makes a store from it at its start.
//
// Not here: the verbs (registry), the Go types and their defaults (scheme/api/certificatesv1), who
// may approve or sign (registry/admission), the loops that approve, sign and clean up
// (server/loops/csr).
//
// Reading order: signingrequest.go, check.go, pem.go.
package certificates

import "github.com/coracle-project/coracle/registry"

// Resources returns the declarations of the resources of the group certificates.k8s.io. There is
// one: certificatesigningrequests.
func Resources() []registry.Resource {
	return []registry.Resource{signingRequests()}
}
