// Package certificates knows what is special about the resources of certificates.k8s.io: requests
// for certificates.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types (scheme/api/certificatesv1), who approves requests, and who
// signs.
package certificates

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{signingRequests()}
}
