// Package core declares the resources of the core group (apiVersion v1, path /api/v1): how their
// objects are prepared, validated, changed, deleted, selected and printed.
//
// Words: a declaration is the value of type registry.Resource that a file here makes for one kind.
// A cluster IP is the virtual address of a service, a node port the port by which each node
// forwards to it. An IPAddress (networking.k8s.io) records which service holds a cluster IP. A
// budget is a PodDisruptionBudget (policy).
//
// Laws:
//   - The rules of a kind are pure functions of the new and the old object. The old object is nil
//     on create. Only reservations, actions, componentstatuses and AddressRepair do I/O.
//   - Messages, and the order of errors, are those of kube-apiserver, also where it reports an
//     error twice or at an odd path. Comments name such cases.
//   - A check that may find an error in each element of a client's list or map loops by field.Each
//     or field.Entries, which bound the errors. It looks up old values in a map, so that its time
//     is linear in the size of the object.
//   - An update may keep a value that was stored under older, weaker rules. It may not add such a
//     value.
//
// The functions that check something take the path of the checked value, p, and return a
// field.ErrorList. All of them may be called at once, as they share nothing. A server calls
// Resources, Actions and ComputedResources once each, and NewAddressRepair if it runs the repair of
// cluster IPs.
//
// Services, bindings and evictions do more than change their object: services take addresses and
// ports (servicereserve.go), bindings and evictions write pods and budgets (podbinding.go,
// podeviction.go).
//
// A worked example, the create of a service. The service range is 10.96.0.0/12, and a client posts
// to /api/v1/namespaces/default/services:
//
//	{"kind":"Service","apiVersion":"v1","metadata":{"name":"web"},
//	 "spec":{"type":"NodePort","selector":{"app":"web"},"ports":[{"port":80}]}}
//
// The steps are those of every write (registry/write.go). This is what they do for this kind:
//
//   - default: scheme/api/corev1 sets sessionAffinity None, internalTrafficPolicy and
//     externalTrafficPolicy Cluster, and for the port protocol TCP and targetPort 80.
//   - mutate: admission plugins and webhooks see a service without addresses.
//   - baptize: the service gets its namespace and a UID.
//   - reserve: reserveService (servicereserve.go) first completes the object: families.complete
//     sets ipFamilyPolicy SingleStack and ipFamilies [IPv4]. Then it makes three reservations at
//     the same time. reserveAddresses guesses a free address of the upper band, say 10.101.7.3,
//     and takes it by creating the IPAddress of that name; it sets clusterIP and clusterIPs.
//     reservePorts takes a node port, say 31380, by one change of the record of node ports, and
//     sets nodePort. takeEndpoints has nothing to do, because it is for deletions.
//   - prepare: prepareService has nothing to do, because it is for changes of the type.
//   - validate: checkService checks the whole object, with the address and the port that the
//     server has chosen. So a service with a mistake in another field takes both in vain.
//   - admit, encode, put: validators of admission see the addresses; the service is stored.
//   - settle: each reservation is told the fate of the write. If it is Stored, both keep what they
//     have taken. If it is NotStored, because a check failed or the name exists, the IPAddress is
//     deleted and the node port released. If it is InDoubt, neither is given back: the service may
//     be there. AddressRepair and the repair of node ports (server/addresses) find out later.
//
// If the server dies between reserve and put, an IPAddress and a node port are left without a
// service. The two repairs find these as well. In no case is a service stored before it holds its
// address and its port.
//
// Not here: the verbs (registry); types and defaults (scheme/api/corev1); the rules for the spec of
// a pod, which other groups need as well (registry/podspec); the order of addresses in a range
// (scheme/iprange); the record of node ports (registry/ports); exec, log and the other subresources
// of pods that lead to a kubelet.
//
// Read: namespace.go as the plainest kind; config.go; pod.go, then podupdate.go; service.go, then
// servicereserve.go.
package core

import (
	"net/netip"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/ports"
)

// Config is the part of a server's configuration that the resources of the core group depend on.
type Config struct {
	// Rules are the settings of a server for the specs of pods, such as whether containers may be
	// privileged.
	Rules podspec.Rules
	// EventTTL is how long an Event is kept; 0 means until it is deleted.
	EventTTL time.Duration
	// ServiceRanges are the ranges that cluster IPs come from until a ServiceCIDR says otherwise
	// (--service-cluster-ip-range): at most two, of different IP families. A service that names no
	// family gets the family of the first. Without a range the family is IPv4.
	ServiceRanges []netip.Prefix
	// Stores finds the stores of other resources that some writes read or change: pods, budgets,
	// IPAddresses, service accounts.
	Stores registry.Stores
	// HeadStart returns how much earlier than its service an IPAddress is stored, and how much
	// later it is deleted. nil means no difference. See addressPool.waitHeadStart for the reason.
	HeadStart func() time.Duration
	// NodePorts allocates the node ports of services. Without it a service keeps the node ports
	// that its client sent, and gets no others.
	NodePorts *ports.Allocator
	// Tokens says how tokens of service accounts are made. Without Tokens.Sign the subresource
	// token is not served.
	Tokens TokenConfig
}

// Resources returns the declarations of the resources of the core group that are stored.
// ComponentStatuses are not among them: see ComputedResources.
func Resources(c Config) []registry.Resource {
	return []registry.Resource{
		namespaces(), configMaps(), secrets(), serviceAccounts(c), nodes(), events(c.EventTTL), services(c), pods(c),
		persistentVolumes(), claims(),
		podTemplates(c.Rules), replicationControllers(c.Rules), endpoints(), limitRanges(), resourceQuotas(),
	}
}

// Actions returns the resources of the core group whose objects can only be created and are never
// stored: bindings.
func Actions(c Config) []registry.Actions { return []registry.Actions{bindings(c.Stores)} }

// ComputedResources returns the resources of the core group whose objects are made when they are
// read: componentstatuses.
func ComputedResources() []registry.ComputedResource {
	return []registry.ComputedResource{componentStatuses()}
}
