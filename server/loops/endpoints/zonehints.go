package endpoints

import (
	"maps"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/pods"
	"github.com/coracle-project/coracle/server/loops/topology"
)

// zoneHints gives hints to the services that ask for them by their annotation topology-mode
// (KEP-2433). The hints follow from the share of the cluster's CPU that each zone has. It does what
// Kubernetes' TopologyCache does. Its methods are safe for concurrent use. For each service, one
// worker calls begin, and then hint once for each address type.
type zoneHints struct {
	nodes *controller.Informer[pods.NodeView]

	mu       sync.Mutex
	shares   topology.Shares
	measured bool                            // whether shares are up to date; a change of a node makes it false
	services map[controller.Name]hintsByType // the services that ask for hints
}

// hintsByType has, by address type, the numbers of hints that a service has for each zone. The
// counts of an address type are nil if hints are not possible for it.
type hintsByType map[discoveryv1.AddressType]topology.Counts

// hintEvent is an Event about the hints of a service, with Kubernetes' reason and text.
type hintEvent struct{ typ, reason, message string }

func newZoneHints(nodes *controller.Informer[pods.NodeView]) *zoneHints {
	return &zoneHints{nodes: nodes, services: map[controller.Name]hintsByType{}}
}

// source is the Source of services that a change of a node concerns: services that have too few
// hints for a zone with the new shares (Shares.Overloads), and, if the new shares are known,
// services that lack hints for an address type.
func (z *zoneHints) source() controller.Source {
	return z.nodes.Source(func(controller.Name, *pods.NodeView, *pods.NodeView) []controller.Name {
		z.mu.Lock()
		defer z.mu.Unlock()
		z.measured = false
		if len(z.services) == 0 {
			return nil
		}
		shares := z.measure()
		var list []controller.Name
		for name, hints := range z.services {
			for _, counts := range hints {
				if counts == nil && shares != nil || shares.Overloads(counts) {
					list = append(list, name)
					break
				}
			}
		}
		return list
	})
}

// measure returns the present shares, and computes them if a node has changed. The caller holds mu.
func (z *zoneHints) measure() topology.Shares {
	if !z.measured {
		z.shares = topology.Measure(func(yield func(topology.Node) bool) {
			more := true
			z.nodes.Each("", func(_ controller.Name, n *pods.NodeView) {
				if more && n.Counted {
					more = yield(topology.Node{Zone: n.Zone, MilliCPU: n.MilliCPU})
				}
			})
		})
		z.measured = true
	}
	return z.shares
}

// begin records whether a service asks for hints, and drops the counts of IP families that the
// service has lost. If the service had hints and no longer asks for them, begin returns the Events
// about that, one for each address type.
func (z *zoneHints) begin(name controller.Name, s *serviceView) (events []hintEvent) {
	z.mu.Lock()
	defer z.mu.Unlock()
	before := z.services[name]
	switch {
	case s.HintByZone && before == nil:
		z.services[name] = hintsByType{}
	case s.HintByZone:
		maps.DeleteFunc(before, func(typ discoveryv1.AddressType, _ topology.Counts) bool {
			return !slices.Contains(s.Families, corev1.IPFamily(typ))
		})
	default:
		delete(z.services, name)
		for typ, counts := range before {
			if counts != nil {
				events = append(events, hintsDisabled(typ, "Topology Aware Hints has been disabled"))
			}
		}
	}
	return events
}

// forget drops a service that was deleted or is no longer managed.
func (z *zoneHints) forget(name controller.Name) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.services, name)
}

// hint sets the hints of a service's endpoints of one address type, and removes all of them if
// hints are not possible. It returns the Events about it.
func (z *zoneHints) hint(name controller.Name, typ discoveryv1.AddressType, s *topology.Slices) (events []hintEvent) {
	// The lock is held over measure and the store of the new counts. If source ran in between, it
	// would check the old counts against newer shares, and nobody would check the new ones.
	z.mu.Lock()
	defer z.mu.Unlock()
	counts, problem := s.Hint(z.measure())
	switch {
	case problem != "":
		events = []hintEvent{hintsDisabled(typ, problem)}
	case z.services[name][typ] == nil:
		events = []hintEvent{{corev1.EventTypeNormal, "TopologyAwareHintsEnabled",
			hintMessage(typ, "Topology Aware Hints has been enabled")}}
	}
	z.services[name][typ] = counts
	return events
}

func hintsDisabled(typ discoveryv1.AddressType, why string) hintEvent {
	return hintEvent{corev1.EventTypeWarning, "TopologyAwareHintsDisabled", hintMessage(typ, why)}
}

func hintMessage(typ discoveryv1.AddressType, message string) string {
	return message + ", addressType: " + string(typ)
}
