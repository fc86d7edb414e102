// Package topology computes topology hints: for each ready endpoint of a service the zone whose
// clients should use it (topology aware routing, KEP-2433). It assumes that a zone causes as much
// traffic as its nodes have CPU. An endpoint serves its own zone, unless that zone has more
// endpoints than its share and another zone has fewer.
//
// Words. A hint of an endpoint names the zone whose clients should use it. The share of a zone is
// its part of the cluster's allocatable CPU, between 0 and 1. An endpoint is overloaded if it gets
// more than 1.2 times the traffic of the average endpoint. The minimum of a zone is the lowest
// number of endpoints with which none of them is overloaded.
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

// overload is how much more traffic than the average endpoint an endpoint may get, as a part of the
// average traffic.
const overload float64 = 0.2

// Node is the part of a node that Measure needs.
type Node struct {
	Zone     string // the label topology.kubernetes.io/zone, "" if the node has none
	MilliCPU int64  // allocatable CPU in thousandths of a core
}

// Shares are the parts of the cluster's CPU that its zones have, by zone. They add up to 1. If the
// shares are not known, Shares is nil.
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

// minimum returns how many of n endpoints a zone with this share needs at least, so that none of
// them is overloaded. In units of the traffic of the average endpoint, the zone causes n*share, and
// an endpoint may take 1+overload.
func minimum(n, share float64) int { return int(math.Ceil(n * share * (1 / (1 + overload)))) }

// Overloads reports whether a service has fewer hints for a zone than the minimum of that zone.
// hints are the numbers of the service's hints. If the shares are not known, all hints are wrong,
// and the result is true. If the service has no hints, the result is false.
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
	most    int     // with more endpoints in this zone, another zone would have fewer than its minimum
	desired float64 // share times the number of all endpoints, a fraction, but at least the minimum
}

// needs divides n endpoints among the zones. If that is not possible, problem says why, in
// Kubernetes' words, which an Event about the service shows; otherwise problem is "".
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

// Counts are the numbers of endpoints with a hint for each zone, by zone. transfers uses Counts for
// the endpoints that zones give and take.
type Counts map[string]int

// Slices are all endpoint slices of a service with one address type. Hint changes the hints in
// place.
type Slices struct {
	// Create and Update are slices that are written in any case.
	Create, Update []*discoveryv1.EndpointSlice
	// Same are slices that need no write unless their hints change. A slice whose hints change
	// moves to Update.
	Same []*discoveryv1.EndpointSlice
}

// Hint gives each ready endpoint a hint, and returns the numbers of hints. A slice in Same keeps
// its hints if they fit the shares. If hints are not possible, Hint removes all hints and returns
// the problem; otherwise problem is "".
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

// endpoints yields the endpoints of all slices in lists, in their order.
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

// ready returns the number of endpoints that are ready.
func (s *Slices) ready() (n int) {
	for e := range endpoints(s.Create, s.Update, s.Same) {
		if ready(e) {
			n++
		}
	}
	return n
}

// clear removes all hints. A slice in Same that had hints moves to Update.
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

// keep returns the numbers of hints in the slices of Same whose hints fit the needs. It moves the
// other slices to Update.
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

// fitting counts the hints of a slice. ok is false if they do not fit: a ready endpoint has no
// hint, a hint names a zone that has no need, or a zone gets more endpoints than need.most. kept
// are the hints of the slices that fit so far, which count too.
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
// to the counts. It stops and returns false at the first ready endpoint without a zone.
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
// others, so that the zones come near to need.desired. The sums of both are equal. Each step moves
// one endpoint from the zone with the largest surplus to the zone with the largest lack. transfers
// ends when a step would not help: the surplus or the lack is below 0.5, or both are below 1.
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

// move changes hints of endpoints in Create and Update from their own zone to another, each to the
// zone that has the most endpoints still to take. If too many endpoints of a zone are in Same, the
// zone gives fewer endpoints than give says.
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
