// Package csr has the loops for CertificateSigningRequests: they approve, answer and delete
// requests. In brackets is the controller of kube-controller-manager that does the same:
//
//	Approver  client certificates of kubelets (certificatesigningrequest-approving-controller)
//	Signer    issues certificates (certificatesigningrequest-signing-controller)
//	Cleaner   deletes old requests (certificatesigningrequest-cleaner-controller)
//
// Words. A request is a CertificateSigningRequest. It is pending until somebody approves or denies
// it. A signer is named by spec.signerName; this package answers for Kubernetes' four standard
// signers. The deadline of a request is the time at which Cleaner deletes it.
//
// Laws:
//   - A certificate is issued only for a request that is approved, not denied and not failed, and
//     only if the request keeps the rules of its signer. Otherwise the request fails for good.
//   - A request is approved only if its user may create the subresource that stands for its kind.
//   - A request is deleted only after a read has shown that its deadline has passed, and with its
//     UID as a precondition.
//
// The server makes one of each loop per run and calls Run once; the loops share the Informers of
// that run. They rest while a kube-controller-manager works on the same store.
//
// Not here: the rules of the signers and the making of certificates (server/loops/signing), the
// rules of the kind (registry/certificates), who may approve and sign (registry/admission), which
// authorities sign and where their keys are (server/identity).
//
// Read: view.go, approver.go, signer.go, cleaner.go.
package csr
