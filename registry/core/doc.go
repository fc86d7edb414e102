// Package core knows what is special about the resources of the core group: how their objects are
// prepared, checked, changed, deleted, selected and printed.
//
// Resources returns the declarations that a server makes stores from. The rules are pure functions
// of the new and the old object; messages are those of kube-apiserver, in its order. Whatever loops
// over a list or map of an object and may find something wrong with each element goes by field.Each
// or field.Entries; what it compares with, it finds by hash.
//
// Not here: the verbs (registry), types and defaults (scheme/api/corev1), the rules for the spec of
// a pod, which other groups need as well (registry/podspec), the order of addresses in a range
// (scheme/iprange) and the record of node ports (registry/ports), and the subresources of pods that
// lead to their nodes.
//
// Some writes do more than change their object, and I/O: services take addresses and ports
// (servicereserve.go), bindings and evictions write pods and budgets (podbinding.go,
// podeviction.go).
//
// Read: namespace.go as the plainest kind; pod.go, then podupdate.go.
package core

import (
	"net/netip"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/ports"
)

// Config is what the resources of the core group go by.
type Config struct {
	Rules podspec.Rules
	// EventTTL is how long Events are kept; 0 means until they are deleted.
	EventTTL time.Duration
	// ServiceRanges are one or two ranges that the addresses of services come from at first, of
	// different families. Services that name no family have that of the first. None is IPv4.
	ServiceRanges []netip.Prefix
	// Stores has what some writes change beside their own object.
	Stores registry.Stores
	// HeadStart returns how much earlier than a service its IPAddresses are stored, and how much
	// later they are deleted; nil: at once.
	HeadStart func() time.Duration
	// NodePorts hands out the node ports of services; nil: what clients ask for is taken as it is.
	NodePorts *ports.Allocator
	// Tokens are what service accounts are given; without Sign there are none.
	Tokens TokenConfig
}

// Resources returns the resources of the core group.
func Resources(c Config) []registry.Resource {
	return []registry.Resource{
		namespaces(), configMaps(), secrets(), serviceAccounts(c), nodes(), events(c.EventTTL), services(c), pods(c),
		persistentVolumes(), claims(),
		podTemplates(c.Rules), replicationControllers(c.Rules), endpoints(), limitRanges(), resourceQuotas(),
	}
}

// Actions returns the resources of the core group that are only created.
func Actions(c Config) []registry.Actions { return []registry.Actions{bindings(c.Stores)} }

// Observed returns the resources of the core group that are not stored.
func Observed() []registry.Observed { return []registry.Observed{componentStatuses()} }
