package request

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/names"
)

// The user name of a service account is "system:serviceaccount:NAMESPACE:NAME".
const (
	serviceAccountPrefix = "system:serviceaccount:"
	// GroupServiceAccounts is the group of all service accounts. With ":NAMESPACE" behind it, it is
	// the group of the service accounts in a namespace.
	GroupServiceAccounts = "system:serviceaccounts"
)

// ExtraNodeName is the key in a user's extra under which a service account token names the node of
// the pod that the token was issued for.
const ExtraNodeName = "authentication.kubernetes.io/node-name"

// ServiceAccountUser returns the user name of a service account.
func ServiceAccountUser(namespace, name string) string {
	return serviceAccountPrefix + namespace + ":" + name
}

// ServiceAccountGroups returns the groups of the service accounts in a namespace, without
// GroupAuthenticated.
func ServiceAccountGroups(namespace string) []string {
	return []string{GroupServiceAccounts, GroupServiceAccounts + ":" + namespace}
}

// ServiceAccountOf returns the service account with the given user name; ok is false if the name is
// not that of a service account.
func ServiceAccountOf(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || len(names.DNSLabelName(namespace, false)) > 0 || len(names.DNSSubdomainName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// nodePrefix begins the user names of nodes: "system:node:NAME".
const nodePrefix = "system:node:"

// NodeOf returns the node with the given user name, whatever the groups of the user; ok is false if
// the name is not that of a node. User.NodeName also checks the group.
func NodeOf(user string) (name string, ok bool) {
	name, ok = strings.CutPrefix(user, nodePrefix)
	if !ok || len(names.DNSSubdomainName(name, false)) > 0 {
		return "", false
	}
	return name, true
}
