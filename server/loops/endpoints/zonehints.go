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

// zoneHints gives hints to the services that ask for them by topology mode: by how much of the
// cluster's CPU each zone has. All methods may be called at once. hint is called for a service
// after begin, by the same worker.
type zoneHints struct {
	nodes *controller.Informer[pods.Node]

	mu       sync.Mutex
	shares   topology.Shares
	measured bool                            // whether shares are up to date
	services map[controller.Name]hintsByType // those that ask for hints
}

// hintsByType counts the hints of a service by type of addresses. The counts are nil if hints are
// not possible.
type hintsByType map[discoveryv1.AddressType]topology.Counts

// hintEvent is an Event about the hints of a service.
type hintEvent struct{ typ, reason, message string }

func newZoneHints(nodes *controller.Informer[pods.Node]) *zoneHints {
	return &zoneHints{nodes: nodes, services: map[controller.Name]hintsByType{}}
}

// source has, after each change of the nodes, the services whose hints do not fit the shares any
// more, and the services that have no hints if the shares are known.
func (z *zoneHints) source() controller.Source {
	return z.nodes.Source(func(controller.Name, *pods.Node, *pods.Node) []controller.Name {
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

// measure returns the shares of the nodes that there are.
func (z *zoneHints) measure() topology.Shares {
	if !z.measured {
		z.shares = topology.Measure(func(yield func(topology.Node) bool) {
			more := true
			z.nodes.Each("", func(_ controller.Name, n *pods.Node) {
				if more && n.Counted {
					more = yield(topology.Node{Zone: n.Zone, MilliCPU: n.MilliCPU})
				}
			})
		})
		z.measured = true
	}
	return z.shares
}

// begin notes whether a service asks for hints, and for which types of addresses. It returns the
// events that hints are disabled if the service had hints and does not ask for them any more.
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

// forget drops a service that has no endpoints to look after.
func (z *zoneHints) forget(name controller.Name) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.services, name)
}

// hint gives the endpoints of a service their hints, or none if hints are not possible.
func (z *zoneHints) hint(name controller.Name, typ discoveryv1.AddressType, s *topology.Slices) (events []hintEvent) {
	// source must not run between measure and the new counts: it would judge the old counts, and
	// the new ones would be wrong.
	z.mu.Lock()
	defer z.mu.Unlock()
	counts, problem := s.Hint(z.measure())
	switch {
	case problem != "":
		events = []hintEvent{hintsDisabled(typ, problem)}
	case z.services[name][typ] == nil:
		events = []hintEvent{{corev1.EventTypeNormal, "TopologyAwareHintsEnabled", hintMessage(typ, "Topology Aware Hints has been enabled")}}
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
