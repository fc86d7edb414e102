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

// This file distributes the endpoints of a service over slices with few writes, as
// k8s.io/endpointslice does. EndpointSlices and Mirroring fill slicePlans with the wanted
// endpoints, and call changes with the slices that exist; managedSlices.write then makes the
// changes. Nothing here sends requests.

// slicePlans is the wanted content of the slices of one service, by address type.
type slicePlans map[discoveryv1.AddressType]*slicePlan

// slicePlan is the wanted content of the slices of one address type.
type slicePlan struct {
	sliceRules
	addressType discoveryv1.AddressType
	groups      map[string]*sliceGroup // by portKey
}

// sliceRules are the rules for all slices of a plan, whatever their endpoints.
type sliceRules struct {
	prefix string // of the slices' names; the server appends random letters
	max    int    // number of endpoints in a slice
	// placeholder asks for a slice without endpoints if there would be no slice otherwise.
	placeholder bool
	// setMeta sets labels, annotations and owners of a slice, and reports whether it has changed
	// any. It may be called several times for a slice.
	setMeta func(s *discoveryv1.EndpointSlice) bool
	// hint sets the hints of all endpoints together, because they depend on each other. If hint is
	// nil, each endpoint has its hints already when it is added to the plan.
	hint func(s *topology.Slices)
}

// add adds an empty plan for an address type.
func (ps slicePlans) add(typ discoveryv1.AddressType, rules sliceRules) {
	ps[typ] = &slicePlan{sliceRules: rules, addressType: typ, groups: map[string]*sliceGroup{}}
}

// changes returns the writes after which the slices have the content of the plans. It modifies the
// slices in existing, and takes endpoints out of the plans, so it can be called only once. If an
// address type has no plan, for example after a service has lost an IP family, its slices are
// dropped.
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
		all.create, all.update, all.drop = append(all.create, c.create...),
			append(all.update, c.update...), append(all.drop, c.drop...)
	}
	return all
}

// sliceGroup is the wanted content of the slices with one set of ports.
type sliceGroup struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[string]*discoveryv1.Endpoint // by endpointKey; keep removes those that have a slice
}

// sliceChanges lists the slices to write, and in same the slices that need no write.
type sliceChanges struct{ create, update, drop, same []*discoveryv1.EndpointSlice }

// group returns the group of a set of ports, which it adds to the plan if it is new.
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

// portKey returns a text that is equal for equal ports in any order, for example `"http" 8080 TCP
// ""` for one port.
func portKey(ports []discoveryv1.EndpointPort) string {
	parts := make([]string, len(ports))
	for i, p := range ports {
		parts[i] = fmt.Sprintf("%q %d %s %q",
			scheme.OrZero(p.Name), scheme.OrZero(p.Port), scheme.OrZero(p.Protocol), scheme.OrZero(p.AppProtocol))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// endpointKey identifies an endpoint while its conditions, node, zone and hints change: by its
// addresses in any order, its hostname and the name of its pod. Example: "[10.0.0.1]web-0 n/web-0".
func endpointKey(e *discoveryv1.Endpoint) string {
	ref := scheme.OrZero(e.TargetRef)
	return fmt.Sprint(slices.Sorted(slices.Values(e.Addresses)), scheme.OrZero(e.Hostname),
		" ", ref.Namespace, "/", ref.Name)
}

// changes returns the writes for the slices of one address type, all of which are in existing. It
// modifies these slices. It packs each group, drops the slices whose ports no group has, adds a
// placeholder if no slice is left, sets hints, and at the end turns each pair of a slice to create
// and one to drop into an update, which saves a write.
func (p *slicePlan) changes(existing []*discoveryv1.EndpointSlice) sliceChanges {
	byPorts := map[string][]*discoveryv1.EndpointSlice{}
	var holder *discoveryv1.EndpointSlice // an existing placeholder
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
		c.update = s.Update // some slices of c.same have moved here; nobody reads c.same any more
	}
	for len(c.create) > 0 && len(c.drop) > 0 {
		fresh, old := c.create[len(c.create)-1], c.drop[len(c.drop)-1]
		c.create, c.drop = c.create[:len(c.create)-1], c.drop[:len(c.drop)-1]
		old.Ports, old.Endpoints = fresh.Ports, fresh.Endpoints
		p.setMeta(old)
		c.update = append(c.update, old)
	}
	return c
}

// pack distributes the endpoints of a group over the existing slices with the group's ports:
//
//  1. An endpoint stays in its slice. Slices that become empty are dropped.
//  2. New endpoints fill the slices that 1 has changed, the fullest first, since these are written
//     anyway.
//  3. If all remaining endpoints fit into one unchanged slice, they go into the fullest such slice;
//     else they fill a new slice, and 3 is repeated.
//
// Slices are not merged, because a merge would cost writes, and half-empty slices cost little.
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
	slices.SortStableFunc(changed, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(len(b.Endpoints), len(a.Endpoints))
	})
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

// keep updates those endpoints of a slice that the group wants, removes them from the group, and
// removes the other endpoints from the slice. It reports whether the slice has changed. If another
// slice holds an endpoint already, the endpoint is no longer in the group, so keep removes the
// duplicate. If hinted is true, endpoints keep their present hints until sliceRules.hint sets them.
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

// fill moves endpoints from left into a slice until it is full, and returns the rest of left.
func (p *slicePlan) fill(s *discoveryv1.EndpointSlice, left []*discoveryv1.Endpoint) []*discoveryv1.Endpoint {
	n := min(len(left), max(p.max-len(s.Endpoints), 0))
	for _, e := range left[:n] {
		s.Endpoints = append(s.Endpoints, *e)
	}
	return left[n:]
}

// fullestWithRoom returns the index of the fullest slice in list that has room for n more
// endpoints, -1 if none has.
func (p *slicePlan) fullestWithRoom(list []*discoveryv1.EndpointSlice, n int) int {
	best := -1
	for i, s := range list {
		if len(s.Endpoints)+n <= p.max && (best < 0 || len(s.Endpoints) > len(list[best].Endpoints)) {
			best = i
		}
	}
	return best
}

// addPlaceholder keeps holder as the placeholder, or adds a new slice if holder is nil. It is
// called when all existing slices would be dropped.
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

// fresh returns a new slice without endpoints.
func (p *slicePlan) fresh(ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: meta.ObjectMeta{GenerateName: p.prefix}, AddressType: p.addressType, Ports: ports,
	}
	p.setMeta(s)
	return s
}
