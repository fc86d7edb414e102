// Package accounts gives each namespace its default service account and the certificates to trust,
// fills in secrets that ask for tokens of accounts, and cluster roles that are made of others.
//
// It guarantees that the account and the certificates are made again when somebody deletes them,
// that the certificates and the rules of such roles are written again when somebody changes them,
// and that nothing is made in namespaces that are being deleted.
//
// Read: namespaces.go, rootca.go, accounttokens.go.
package accounts
