// Package accounts has four loops. They give pods a service account and the certificates to trust,
// and users the rights of aggregating roles. In brackets is the controller of
// kube-controller-manager that does the same:
//
//	ServiceAccount          the account "default" (serviceaccount-controller)
//	RootCA                  kube-root-ca.crt (root-ca-certificate-publisher-controller)
//	AccountTokens           secrets of legacy tokens (serviceaccount-token-controller)
//	ClusterRoleAggregation  rules of aggregating roles (clusterrole-aggregation-controller)
//
// Words. A namespace is active if nobody has deleted it. A legacy token is a service account token
// in a secret; it never expires. An aggregating role is a ClusterRole whose rules are the union of
// the rules of others.
//
// Laws. A default account or a ConfigMap that somebody deletes is created again, and a ConfigMap or
// aggregated rules that somebody changes are written again. Nothing is created in a namespace that
// is being deleted. A token secret is deleted only after a read has shown that its account does not
// exist, and with the secret's UID as a precondition.
//
// The server makes one of each loop per run and calls Run once; the loops share the Informers of
// that run. They rest while a kube-controller-manager works on the same store, because it runs the
// same controllers.
//
// Not here: bound tokens (server/identity), the bootstrap roles that aggregate (server/bootstrap),
// and which pod gets which account (the admission plugin ServiceAccount in registry/admission).
//
// Read: namespaces.go, rootca.go, serviceaccount.go, accounttokens.go, clusterroleaggregation.go.
package accounts
