// Package topology computes topology hints: for each ready endpoint of a service the zone whose
// clients should use it (topology aware routing, KEP-2433). It assumes that a zone causes as much
// traffic as its nodes have CPU. An endpoint serves its own zone, unless that zone has more
// endpoints than its share and another zone has fewer.
//
// Words. The share of a zone is its part of the cluster's allocatable CPU, between 0 and 1. An
// endpoint is overloaded if it gets more than 1.2 times the traffic of the average endpoint. The
// minimum of a zone is the number of endpoints below which its endpoints are overloaded.
//
// Laws. Either every ready endpoint of a service has a hint, or none has. A slice whose hints still
// fit is not written.
//
// Example. Zones a and b have 3 and 1 of 4 CPUs, and there are 4 endpoints, 2 in each zone. Zone a
// should have 3 of them, so one endpoint of b gets a hint for a.
//
// server/loops/endpoints calls the package: Measure when nodes change, Overloads and Hint for each
// service. A value belongs to its caller; the package has no state, no store and no clock. It
// decides as k8s.io/endpointslice/topologycache does. If zones are equal, it takes the first by
// name, where Kubernetes takes any of them.
//
// Not here: which services ask for hints, and which nodes count (server/loops/endpoints).
package topology

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
)

// overload is how much more traffic than the average an endpoint may get, as a part of the average.
const overload float64 = 0.2

// Node is the part of a node that Measure needs.
type Node struct {
	Zone     string // the label topology.kubernetes.io/zone, "" if the node has none
	MilliCPU int64  // allocatable CPU in thousandths of a core
}

// Shares are the parts of the cluster's CPU that its zones have, by zone. They add up to 1. Nil:
// the shares are not known.
type Shares map[string]float64

// Measure returns the shares of the nodes' zones. It returns nil if a node has no zone or no CPU,
// or if there are fewer than two zones.
func Measure(nodes iter.Seq[Node]) Shares {
	shares, total := Shares{}, 0.0
	for n := range nodes {
		if n.Zone == "" || n.MilliCPU == 0 {
			return nil
		}
		shares[n.Zone] += float64(n.MilliCPU)
		total += float64(n.MilliCPU)
	}
	if len(shares) < 2 {
		return nil
	}
	for zone, cpu := range shares {
		shares[zone] = cpu / total
	}
	return shares
}

// minimum returns how many of n endpoints a zone with this share needs, so that none of them is
// overloaded. The zone causes n*share average loads, and an endpoint may take 1+overload of them.
func minimum(n, share float64) int { return int(math.Ceil(n * share * (1 / (1 + overload)))) }

// Overloads reports whether a service with hints has too few endpoints for one of the zones. If the
// shares are not known, all hints are wrong.
func (s Shares) Overloads(hints Counts) bool {
	if len(hints) == 0 {
		return false
	}
	total := 0
	for _, n := range hints {
		total += n
	}
	for zone, share := range s {
		if hints[zone] < minimum(float64(total), share) {
			return true
		}
	}
	return len(s) == 0
}

// need is how many endpoints a zone should have.
type need struct {
	most    int     // with more in this zone, some other zone would get less than its minimum
	desired float64 // the share of all endpoints, at least the minimum; no whole number
}

// needs divides n endpoints among the zones. problem says why that is not possible, in Kubernetes'
// words, as the event for the service shows it; it is "" if it is possible.
func (s Shares) needs(n int) (needs map[string]need, problem string) {
	if s == nil {
		return nil, "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
	}
	numbers := fmt.Sprintf(" (%d endpoints, %d zones)", n, len(s))
	if len(s) > n {
		return nil, "Insufficient number of endpoints" + numbers
	}
	spare := n
	for _, share := range s {
		spare -= minimum(float64(n), share)
	}
	if spare < 0 {
		return nil, "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold" +
			numbers
	}
	needs = map[string]need{}
	for zone, share := range s {
		least := minimum(float64(n), share)
		needs[zone] = need{most: least + spare, desired: max(share*float64(n), float64(least))}
	}
	return needs, ""
}

// Counts are how many endpoints have a hint for a zone, by zone.
type Counts map[string]int

// Slices are all endpoint slices of a service that hold one type of addresses. Their hints are
// changed in place.
type Slices struct {
	// Create and Update are written in any case.
	Create, Update []*discoveryv1.EndpointSlice
	// Same are slices that need no write unless their hints change. A slice whose hints change
	// moves to Update.
	Same []*discoveryv1.EndpointSlice
}

// Hint gives each endpoint that is ready a hint, and counts the hints. A slice in Same keeps its
// hints if they fit the shares. If hints are not possible, Hint removes all of them and returns the
// problem; otherwise problem is "".
func (s *Slices) Hint(shares Shares) (hints Counts, problem string) {
	needs, problem := shares.needs(s.ready())
	if problem == "" {
		hints = s.keep(needs)
		if !s.stay(hints) {
			problem = "One or more endpoints do not have a zone specified"
		}
	}
	if problem != "" {
		s.clear()
		return nil, problem
	}
	s.move(transfers(needs, hints))
	hints = Counts{}
	for e := range endpoints(s.Create, s.Update, s.Same) {
		if ready(e) {
			for _, z := range e.Hints.ForZones {
				hints[z.Name]++
			}
		}
	}
	return hints, ""
}

// endpoints are those of some slices, in their order.
func endpoints(lists ...[]*discoveryv1.EndpointSlice) iter.Seq[*discoveryv1.Endpoint] {
	return func(yield func(*discoveryv1.Endpoint) bool) {
		for _, s := range slices.Concat(lists...) {
			for i := range s.Endpoints {
				if !yield(&s.Endpoints[i]) {
					return
				}
			}
		}
	}
}

func ready(e *discoveryv1.Endpoint) bool { return scheme.OrZero(e.Conditions.Ready) }

// ready counts the endpoints that are ready.
func (s *Slices) ready() (n int) {
	for e := range endpoints(s.Create, s.Update, s.Same) {
		if ready(e) {
			n++
		}
	}
	return n
}

// clear removes all hints.
func (s *Slices) clear() {
	s.Same = slices.DeleteFunc(s.Same, func(slice *discoveryv1.EndpointSlice) bool {
		hinted := slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Hints != nil })
		if hinted {
			s.Update = append(s.Update, slice)
		}
		return hinted
	})
	for e := range endpoints(s.Create, s.Update) {
		e.Hints = nil
	}
}

// keep counts the hints of the slices in Same that fit the needs. It moves the other slices to
// Update.
func (s *Slices) keep(needs map[string]need) Counts {
	kept := Counts{}
	s.Same = slices.DeleteFunc(s.Same, func(slice *discoveryv1.EndpointSlice) bool {
		hints, ok := fitting(slice, kept, needs)
		if !ok {
			s.Update = append(s.Update, slice)
			return true
		}
		for zone, n := range hints {
			kept[zone] += n
		}
		return false
	})
	return kept
}

// fitting counts the hints of a slice. They do not fit if a ready endpoint has none, if they name a
// zone that needs no endpoints, or if a zone has more than its most, together with the hints that
// are kept already.
func fitting(slice *discoveryv1.EndpointSlice, kept Counts, needs map[string]need) (hints Counts, ok bool) {
	hints = Counts{}
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		if !ready(e) {
			continue
		}
		if e.Hints == nil || len(e.Hints.ForZones) == 0 {
			return nil, false
		}
		for _, z := range e.Hints.ForZones {
			hints[z.Name]++
		}
	}
	for zone, n := range hints {
		if kept[zone]+n > needs[zone].most {
			return nil, false
		}
	}
	return hints, true
}

// stay gives each ready endpoint in Create and Update a hint for its own zone, and adds these hints
// to the counts. It reports whether all of them have a zone.
func (s *Slices) stay(hints Counts) bool {
	for e := range endpoints(s.Create, s.Update) {
		if !ready(e) {
			e.Hints = nil
			continue
		}
		zone := scheme.OrZero(e.Zone)
		if zone == "" {
			return false
		}
		hints[zone]++
		e.Hints = hintFor(zone)
	}
	return true
}

func hintFor(zone string) *discoveryv1.EndpointHints {
	return &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}}
}

// transfers returns how many endpoints each zone gives to others, and how many each zone takes from
// others, to come near to what is desired. The sums are equal. Each step moves one endpoint from
// the zone with the largest surplus to the zone with the largest lack. It stops when that would not
// help: one of the two is below a half, or both are below one.
func transfers(needs map[string]need, hints Counts) (give, take Counts) {
	zones := slices.Sorted(maps.Keys(needs))
	surplus, lack := map[string]float64{}, map[string]float64{}
	for _, zone := range zones {
		over := float64(hints[zone]) - needs[zone].desired
		surplus[zone], lack[zone] = max(over, 0), max(-over, 0)
	}
	most := func(of map[string]float64) string {
		return slices.MaxFunc(zones, func(a, b string) int { return cmp.Compare(of[a], of[b]) })
	}
	give, take = Counts{}, Counts{}
	for {
		from, to := most(surplus), most(lack)
		if surplus[from] < 0.5 || lack[to] < 0.5 || surplus[from] < 1 && lack[to] < 1 {
			return give, take
		}
		give[from]++
		surplus[from]--
		take[to]++
		lack[to]--
	}
}

// move changes the hints of endpoints in Create and Update to another zone than their own, each to
// the zone that still takes most. A zone gives fewer than it should if too many of its endpoints
// are in Same.
func (s *Slices) move(give, take Counts) {
	takers := slices.Sorted(maps.Keys(take))
	for e := range endpoints(s.Create, s.Update) {
		if from := scheme.OrZero(e.Zone); ready(e) && give[from] > 0 {
			to := slices.MaxFunc(takers, func(a, b string) int { return cmp.Compare(take[a], take[b]) })
			e.Hints = hintFor(to)
			give[from]--
			take[to]--
		}
	}
}
