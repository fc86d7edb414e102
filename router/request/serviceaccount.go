package request

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/names"
)

// Service accounts are users as well, by the names of their namespaces and their own.
const (
	serviceAccountPrefix = "system:serviceaccount:"
	GroupServiceAccounts = "system:serviceaccounts" // all service accounts; with ":" and a namespace behind, those in it
)

// ExtraNodeName says in a service account's extra on which node the pod runs that its token was issued for.
const ExtraNodeName = "authentication.kubernetes.io/node-name"

// ServiceAccountUser is the name of the user that a service account is.
func ServiceAccountUser(namespace, name string) string {
	return serviceAccountPrefix + namespace + ":" + name
}

// ServiceAccountGroups are the groups of the service accounts in a namespace, without that of all who are authenticated.
func ServiceAccountGroups(namespace string) []string {
	return []string{GroupServiceAccounts, GroupServiceAccounts + ":" + namespace}
}

// ServiceAccountOf returns the service account that a user is; ok is false if the name is not that of one.
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

// nodePrefix begins the names of the users that nodes are.
const nodePrefix = "system:node:"

// NodeOf returns the node that a user is by name, whatever groups they are in; ok is false if the name is not that of one.
func NodeOf(user string) (name string, ok bool) {
	name, ok = strings.CutPrefix(user, nodePrefix)
	if !ok || len(names.DNSSubdomainName(name, false)) > 0 {
		return "", false
	}
	return name, true
}
