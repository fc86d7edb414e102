package endpoints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/loops/topology"
)

// slicePlans are how the slices of a service have to be, by the type of the addresses that they
// hold.
type slicePlans map[discoveryv1.AddressType]*slicePlan

// slicePlan is how the slices have to be that hold one type of addresses.
type slicePlan struct {
	sliceRules
	addressType discoveryv1.AddressType
	groups      map[string]*sliceGroup // by portKey
}

// sliceRules are what a controller wants of all slices of a service.
type sliceRules struct {
	prefix string // of names
	max    int    // endpoints in a slice
	// placeholder: a slice without endpoints says that there are none.
	placeholder bool
	// setMeta gives a slice its labels and what else does not depend on its endpoints. It reports
	// whether that is new.
	setMeta func(s *discoveryv1.EndpointSlice) bool
	// hint gives the endpoints their hints, which depend on each other. If it is nil, the endpoints
	// have their hints before they are put into the slices.
	hint func(s *topology.Slices)
}

// add makes a plan.
func (ps slicePlans) add(typ discoveryv1.AddressType, rules sliceRules) {
	ps[typ] = &slicePlan{sliceRules: rules, addressType: typ, groups: map[string]*sliceGroup{}}
}

// changes returns what brings the slices that there are to the plans, with as few writes as can be
// had cheaply. It changes them. Those that there is no plan for are not wanted.
func (ps slicePlans) changes(existing []*discoveryv1.EndpointSlice) (all sliceChanges) {
	byType := map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice{}
	for _, s := range existing {
		if ps[s.AddressType] == nil {
			all.drop = append(all.drop, s)
			continue
		}
		byType[s.AddressType] = append(byType[s.AddressType], s)
	}
	for typ, plan := range ps {
		c := plan.changes(byType[typ])
		all.create, all.update, all.drop = append(all.create, c.create...), append(all.update, c.update...), append(all.drop, c.drop...)
	}
	return all
}

// sliceGroup is the content of slices that have the same ports.
type sliceGroup struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[string]*discoveryv1.Endpoint // by endpointKey
}

// sliceChanges is what has to be written. The slices in same are right, and are not written.
type sliceChanges struct{ create, update, drop, same []*discoveryv1.EndpointSlice }

// group returns the group of some ports.
func (p *slicePlan) group(ports []discoveryv1.EndpointPort) *sliceGroup {
	key := portKey(ports)
	g := p.groups[key]
	if g == nil {
		g = &sliceGroup{ports, map[string]*discoveryv1.Endpoint{}}
		p.groups[key] = g
	}
	return g
}

func (g *sliceGroup) add(e *discoveryv1.Endpoint) { g.endpoints[endpointKey(e)] = e }

// portKey is the same for the same ports in any order.
func portKey(ports []discoveryv1.EndpointPort) string {
	parts := make([]string, len(ports))
	for i, p := range ports {
		parts[i] = fmt.Sprintf("%q %d %s %q", scheme.OrZero(p.Name), scheme.OrZero(p.Port), scheme.OrZero(p.Protocol), scheme.OrZero(p.AppProtocol))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// endpointKey is what an endpoint keeps while what else is known of it changes.
func endpointKey(e *discoveryv1.Endpoint) string {
	ref := scheme.OrZero(e.TargetRef)
	return fmt.Sprint(slices.Sorted(slices.Values(e.Addresses)), scheme.OrZero(e.Hostname), " ", ref.Namespace, "/", ref.Name)
}

func (p *slicePlan) changes(existing []*discoveryv1.EndpointSlice) sliceChanges {
	byPorts := map[string][]*discoveryv1.EndpointSlice{}
	var holder *discoveryv1.EndpointSlice // is a placeholder already
	for _, s := range existing {
		if len(s.Ports) == 0 && len(s.Endpoints) == 0 {
			holder = s
		}
		key := portKey(s.Ports)
		byPorts[key] = append(byPorts[key], s)
	}
	var c sliceChanges
	for key, g := range p.groups {
		p.pack(&c, byPorts[key], g)
		delete(byPorts, key)
	}
	for _, rest := range byPorts {
		c.drop = append(c.drop, rest...)
	}
	if p.placeholder && len(c.create) == 0 && len(c.drop) == len(existing) {
		p.addPlaceholder(&c, holder)
	}
	if p.hint != nil {
		s := topology.Slices{Create: c.create, Update: c.update, Same: c.same}
		p.hint(&s)
		c.update = s.Update
	}
	for len(c.create) > 0 && len(c.drop) > 0 { // a slice that nobody needs becomes one that is missing
		fresh, old := c.create[len(c.create)-1], c.drop[len(c.drop)-1]
		c.create, c.drop = c.create[:len(c.create)-1], c.drop[:len(c.drop)-1]
		old.Ports, old.Endpoints = fresh.Ports, fresh.Endpoints
		p.setMeta(old)
		c.update = append(c.update, old)
	}
	return c
}

// pack puts the endpoints of a group into its slices: each stays where it is, others go where
// something is written anyway, the rest of them into the one other slice that it fills best, or new
// ones.
func (p *slicePlan) pack(c *sliceChanges, existing []*discoveryv1.EndpointSlice, g *sliceGroup) {
	var changed, same []*discoveryv1.EndpointSlice
	for _, s := range existing {
		differs := g.keep(s, p.hint != nil)
		switch {
		case len(s.Endpoints) == 0:
			c.drop = append(c.drop, s)
		case p.setMeta(s) || differs:
			changed = append(changed, s)
		default:
			same = append(same, s)
		}
	}
	var left []*discoveryv1.Endpoint
	for _, key := range slices.Sorted(maps.Keys(g.endpoints)) {
		left = append(left, g.endpoints[key])
	}
	slices.SortStableFunc(changed, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(len(b.Endpoints), len(a.Endpoints)) })
	for _, s := range changed {
		left = p.fill(s, left)
	}
	c.update = append(c.update, changed...)
	for len(left) > 0 {
		if at := p.fullestWithRoom(same, len(left)); at >= 0 {
			left = p.fill(same[at], left)
			c.update, same = append(c.update, same[at]), slices.Delete(same, at, at+1)
			continue
		}
		s := p.fresh(g.ports)
		left = p.fill(s, left)
		c.create = append(c.create, s)
	}
	c.same = append(c.same, same...)
}

// keep brings the endpoints of a slice up to date and takes those out that are wanted no more, or
// wanted no more here. It reports whether that has changed any, and leaves in the group those that
// it has not found. If hinted, endpoints keep the hints that they have.
func (g *sliceGroup) keep(s *discoveryv1.EndpointSlice, hinted bool) (changed bool) {
	kept := s.Endpoints[:0]
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		key := endpointKey(e)
		want := g.endpoints[key]
		if want == nil {
			changed = true
			continue
		}
		if hinted {
			want.Hints = e.Hints
		}
		changed = changed || !scheme.Equal(e, want)
		kept = append(kept, *want)
		delete(g.endpoints, key)
	}
	s.Endpoints = kept
	return changed
}

// fill adds endpoints to a slice as long as there is room, and returns the others.
func (p *slicePlan) fill(s *discoveryv1.EndpointSlice, left []*discoveryv1.Endpoint) []*discoveryv1.Endpoint {
	n := min(len(left), max(p.max-len(s.Endpoints), 0))
	for _, e := range left[:n] {
		s.Endpoints = append(s.Endpoints, *e)
	}
	return left[n:]
}

// fullestWithRoom returns the place of the fullest slice that has room for n more, -1 if none has.
func (p *slicePlan) fullestWithRoom(list []*discoveryv1.EndpointSlice, n int) int {
	best := -1
	for i, s := range list {
		if len(s.Endpoints)+n <= p.max && (best < 0 || len(s.Endpoints) > len(list[best].Endpoints)) {
			best = i
		}
	}
	return best
}

// addPlaceholder keeps one slice where all would go: holder, if there is one, or a new one.
func (p *slicePlan) addPlaceholder(c *sliceChanges, holder *discoveryv1.EndpointSlice) {
	if holder == nil {
		c.create = append(c.create, p.fresh(nil))
		return
	}
	c.drop = slices.DeleteFunc(c.drop, func(s *discoveryv1.EndpointSlice) bool { return s == holder })
	if p.setMeta(holder) {
		c.update = append(c.update, holder)
	}
}

// fresh returns a slice without endpoints.
func (p *slicePlan) fresh(ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta.ObjectMeta{GenerateName: p.prefix}, AddressType: p.addressType, Ports: ports}
	p.setMeta(s)
	return s
}
