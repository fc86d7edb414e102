// Package signing is what Kubernetes' four standard signers decide about a
// CertificateSigningRequest: whether it keeps their rules, which certificate it gets, and which
// rights of its user approve it.
//
// Words. A request is a CertificateSigningRequest. A life is the time for which a certificate is
// valid, counted from its issue. An authority is a certificate with the key by which it signs
// others. A certificate is backdated: it is valid from a moment before its issue.
//
// Laws:
//   - A request that breaks a rule of its signer fails, with the text of its first mistake.
//   - A certificate has the subject, the names and the key of its request, and the usages in its
//     spec. No other extension of the request gets into it. It is never an authority, and ends with
//     its authority at the latest.
//
// The functions may be called at once. Package csr calls them when it has read a request.
//
// Not here: the loops that watch and write requests (server/loops/csr), and who has which rights.
//
// Read: answer.go, rules.go, issue.go, approval.go.
package signing
