package robust

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// serviceChecker compares the answers about services with the events of the watch and with the
// stored allocations.
type serviceChecker struct {
	rec   *ServiceRecord
	found []Violation
}

// CheckServices returns all violations in a record.
func CheckServices(rec *ServiceRecord) []Violation {
	c := &serviceChecker{rec: rec}
	for _, text := range rec.Trouble {
		c.report("processes", "%s", text)
	}
	c.history()
	c.changes()
	c.answers()
	c.ledger("when all was answered", rec.Settled)
	c.doubts()
	c.alarms()
	if rec.End != nil {
		c.ledger("after the repair", rec.End)
		c.repaired()
	}
	return c.found
}

func (c *serviceChecker) report(check, format string, args ...any) {
	c.found = append(c.found, Violation{check, fmt.Sprintf(format, args...)})
}

// holders maps each address and port to the services that have it.
type holders map[any]*Service

// holds are the addresses and ports of a service, as keys of holders.
func (s *Service) holds() []any {
	var list []any
	for _, ip := range s.IPs {
		list = append(list, ip)
	}
	for _, port := range s.Ports {
		list = append(list, port)
	}
	return list
}

func (h holders) take(s *Service, other func(thing any, holder *Service)) {
	for _, thing := range s.holds() {
		if holder := h[thing]; holder != nil && holder.Key != s.Key {
			other(thing, holder)
		}
		h[thing] = s
	}
}

func (h holders) drop(s *Service) {
	for _, thing := range s.holds() {
		if holder := h[thing]; holder != nil && holder.Key == s.Key {
			delete(h, thing)
		}
	}
}

// history checks the events: no two services have the same address or port, and each service has
// and keeps the addresses and ports that its type needs.
func (c *serviceChecker) history() {
	held, present := holders{}, map[string]*Service{}
	take := func(s *Service) {
		held.take(s, func(thing any, holder *Service) {
			c.report("duplicates", "two have %v\n\t%v\n\t%v", thing, holder, s)
		})
		present[s.Key] = s
		c.fits(s)
	}
	for _, s := range c.rec.Before {
		take(s)
	}
	for _, e := range c.rec.Events {
		old := present[e.Service.Key]
		if old != nil {
			held.drop(old)
		}
		if e.Type == deleted {
			delete(present, e.Service.Key)
			continue
		}
		take(e.Service)
		if old != nil && old.UID == e.Service.UID {
			c.kept(old, e.Service)
		}
	}
}

// fits checks that a service has the number of addresses and ports that its type and policy ask
// for, and that they are in the ranges.
func (c *serviceChecker) fits(s *Service) {
	least, most := 1, len(c.rec.Ranges)
	switch {
	case !s.addressed():
		least, most = 0, 0
	case s.Policy == "RequireDualStack":
		least = 2
	case s.Policy == "SingleStack":
		most = 1
	}
	if n := len(s.IPs); n < least || n > most {
		c.report("fitting", "a service with %d addresses, not %d to %d\n\t%v", n, least, most, s)
	}
	if s.ported() != (len(s.Ports) > 0) {
		c.report("fitting", "a service that has ports, or has none, against its type\n\t%v", s)
	}
	for _, ip := range s.IPs {
		addr := netip.MustParseAddr(ip)
		if !slices.ContainsFunc(c.rec.Ranges, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			c.report("fitting", "an address out of range\n\t%v", s)
		}
	}
	for _, port := range s.Ports {
		if port < c.rec.PortMin || port > c.rec.PortMax {
			c.report("fitting", "a port out of range\n\t%v", s)
		}
	}
}

// kept checks that a service has the same addresses, or one more or less, and the same ports after
// a change.
func (c *serviceChecker) kept(old, s *Service) {
	if n := min(len(old.IPs), len(s.IPs)); old.addressed() && s.addressed() && !slices.Equal(old.IPs[:n], s.IPs[:n]) {
		c.report("keeping", "addresses change\n\t%v\n\t%v", old, s)
	}
	if old.Type == s.Type && !slices.Equal(old.Ports, s.Ports) {
		c.report("keeping", "ports change\n\t%v\n\t%v", old, s)
	}
}

// answers checks that each write with an answer happened, and that the service has the requested
// type, address and port.
func (c *serviceChecker) answers() {
	at := map[int64]*Service{}
	for _, s := range c.rec.Before {
		at[s.RV] = s
	}
	for _, e := range c.rec.Events {
		at[e.Service.RV] = e.Service
	}
	for _, op := range c.rec.Ops {
		if op.odd() {
			c.report("answers", "an answer that is not possible here\n\t%v", op)
		}
		s := op.Got
		if s == nil {
			continue
		}
		if op.Type != "" && s.Type != op.Type || op.IP != "" && !slices.Contains(s.IPs, op.IP) ||
			op.Port != 0 && !slices.Contains(s.Ports, op.Port) {
			c.report("answers", "an answer is not what was asked for\n\t%v", op)
		}
		if op.DryRun || op.Verb == remove {
			continue
		}
		if told := at[s.RV]; told == nil || told.Key != s.Key || !sameHold(told, s) {
			c.report("answers", "an answer is not what happened\n\t%v\n\t%v", op, told)
		}
	}
}

// changes checks that each change was requested by one request that was not a dry run, and that
// each answered deletion happened.
func (c *serviceChecker) changes() {
	type change struct {
		kind, key string
	}
	kinds := map[Verb]string{create: added, merge: modified, remove: deleted}
	sure, maybe, seen := map[change]int{}, map[change]int{}, map[change]int{}
	for _, op := range c.rec.Ops {
		if ch := (change{kinds[op.Verb], op.Key}); ch.kind != "" && !op.DryRun {
			switch op.Result {
			case acked:
				sure[ch]++
			case inDoubt:
				maybe[ch]++
			}
		}
	}
	for _, e := range c.rec.Events {
		if strings.HasPrefix(e.Service.Key, namespace+"/") {
			seen[change{e.Type, e.Service.Key}]++
		}
	}
	for ch, n := range seen {
		if n > sure[ch]+maybe[ch] {
			c.report("changes", "%s was %s %d times, but that was asked for %d times", ch.key, ch.kind, n, sure[ch]+maybe[ch])
		}
	}
	for ch, n := range sure {
		if ch.kind != modified && n > seen[ch] { // a write may change nothing
			c.report("changes", "%s was %s %d times, by the answers, but %d times by the watch", ch.key, ch.kind, n, seen[ch])
		}
	}
}

// ledger checks that each address and port of a service is allocated to it, and that the ledger has
// the same services as the watch.
func (c *serviceChecker) ledger(when string, l *Ledger) {
	held, last := holders{}, c.last()
	for _, s := range l.Services {
		held.take(s, func(thing any, holder *Service) {
			c.report("duplicates", "two have %v %s\n\t%v\n\t%v", thing, when, holder, s)
		})
		for _, ip := range s.IPs {
			if l.Addresses[ip] != s.Key {
				c.report("missing", "%s the address %s is allocated to %q\n\t%v", when, ip, l.Addresses[ip], s)
			}
		}
		for _, port := range s.Ports {
			if !slices.Contains(l.Ports, port) {
				c.report("missing", "%s the port %d is not allocated\n\t%v", when, port, s)
			}
		}
		if told := last[s.Key]; told == nil || told.UID != s.UID || !sameHold(told, s) {
			c.report("keeping", "%s a service differs from the watch\n\t%v\n\t%v", when, told, s)
		}
		delete(last, s.Key)
	}
	for _, s := range last {
		c.report("keeping", "%s a service of the watch is missing\n\t%v", when, s)
	}
}

// last returns the services after the last event.
func (c *serviceChecker) last() map[string]*Service {
	present := map[string]*Service{}
	for _, s := range c.rec.Before {
		present[s.Key] = s
	}
	for _, e := range c.rec.Events {
		if present[e.Service.Key] = e.Service; e.Type == deleted {
			delete(present, e.Service.Key)
		}
	}
	return present
}

// leaks are the allocated addresses and ports that no service has, the addresses with the key of
// the service for which they were allocated.
func (l *Ledger) leaks() (map[string]string, []int) {
	addresses, ports := maps.Clone(l.Addresses), slices.Clone(l.Ports)
	for _, s := range l.Services {
		for _, ip := range s.IPs {
			if addresses[ip] == s.Key {
				delete(addresses, ip)
			}
		}
		ports = slices.DeleteFunc(ports, func(p int) bool { return slices.Contains(s.Ports, p) })
	}
	return addresses, ports
}

// doubts checks that only doubtful requests leak, and no more addresses and ports than they were
// about.
func (c *serviceChecker) doubts() {
	doubted, most := map[string]int{}, 0
	for _, op := range c.rec.Ops {
		if op.doubtful(c.rec.Outages) && op.Verb != get && !op.DryRun {
			doubted[op.Key] += len(c.rec.Ranges)
			most += op.Ports
		}
	}
	addresses, ports := c.rec.Settled.leaks()
	for ip, key := range addresses {
		if doubted[key]--; doubted[key] < 0 {
			c.report("leaks", "%s leaked, and was taken for %s, of which too few requests are in doubt", ip, key)
		}
	}
	if len(ports) > most {
		c.report("leaks", "ports leaked, more than the %d that requests in doubt were about: %v", most, ports)
	}
}

// reasons are the reasons of Events about faults that do not happen here, because every service has
// exactly its allocations.
var reasons = []string{"ClusterIPNotValid", "ClusterIPNotAllocated", "ClusterIPAlreadyAllocated", "ClusterIPOutOfRange",
	"PortNotAllocated", "PortAlreadyAllocated", "PortOutOfRange", "PortRangeFull"}

// alarms checks that no Event reports a fault that does not exist.
func (c *serviceChecker) alarms() {
	for _, n := range c.rec.Notices {
		if slices.Contains(reasons, n.Reason) {
			c.report("notices", "a false alarm: %s of %s: %s", n.Reason, n.About, n.Text)
		}
	}
}

// repaired checks that nothing is leaked after the repair, and that Events report each repair.
func (c *serviceChecker) repaired() {
	addresses, ports := c.rec.End.leaks()
	for ip, key := range addresses {
		c.report("leaks", "%s is still allocated to %s", ip, key)
	}
	if len(ports) > 0 {
		c.report("leaks", "ports are still allocated: %v", ports)
	}
	before, _ := c.rec.Settled.leaks()
	for ip, key := range before {
		said := func(n Notice) bool { return n.About == ip }
		if addresses[ip] == "" && !slices.ContainsFunc(c.rec.Notices, said) {
			c.report("notices", "no Event reports that %s was released, which was allocated to %s", ip, key)
		}
	}
}
