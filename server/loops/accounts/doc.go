// Package accounts gives each namespace its default service account and the certificates to trust,
// fills in secrets that ask for tokens of accounts, and cluster roles that are made of others.
//
// It guarantees that what somebody deletes or changes of that is made again, and that nothing is
// made in namespaces that are being deleted.
//
// Read: namespaces.go, rootca.go, accounttokens.go.
package accounts
