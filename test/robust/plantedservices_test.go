package robust

import (
	"maps"
	"slices"
	"testing"
)

// recordedServices is the record of a correct run, with fewer services than usual: KEEP=1 go test
// -run TestServices
const recordedServices = "testdata/services.json.gz"

// events plants a fault into an event. plant gets the services before the event.
func (rec *ServiceRecord) events(at func() bool, plant func(e *ServiceEvent, present map[string]*Service) (fits bool)) {
	present := map[string]*Service{}
	for _, s := range rec.Before {
		present[s.Key] = s
	}
	for i := range rec.Events {
		e := &rec.Events[i]
		with := *e
		changed := *e.Service
		with.Service = &changed
		if plant(&with, present) && at() {
			*e = with
			return
		}
		if present[e.Service.Key] = e.Service; e.Type == deleted {
			delete(present, e.Service.Key)
		}
	}
}

// ops plants a fault into an operation that fits.
func (rec *ServiceRecord) ops(at func() bool, fits func(op *ServiceOp) bool, plant func(op *ServiceOp)) {
	for _, op := range slices.Clone(rec.Ops) {
		if fits(op) && at() {
			plant(op)
			return
		}
	}
}

// held plants a fault into the allocations of a service at the end.
func (rec *ServiceRecord) held(at func() bool, plant func(s *Service)) {
	for _, s := range slices.Clone(rec.Settled.Services) {
		if len(s.IPs) > 0 && at() {
			plant(s)
			return
		}
	}
}

func happened(verb Verb) func(op *ServiceOp) bool {
	return func(op *ServiceOp) bool { return op.Verb == verb && op.Result == acked && !op.DryRun }
}

// sure reports whether an operation happened and no request in doubt could have had the same
// effect.
func (rec *ServiceRecord) sure(verb Verb) func(op *ServiceOp) bool {
	return func(op *ServiceOp) bool {
		doubts := func(o *ServiceOp) bool { return o.Key == op.Key && o.Result == inDoubt }
		return happened(verb)(op) && !slices.ContainsFunc(rec.Ops, doubts)
	}
}

// other returns an address or port of another service.
func other[T any](present map[string]*Service, key string, of func(s *Service) []T) (thing T, ok bool) {
	for _, k := range slices.Sorted(maps.Keys(present)) {
		if list := of(present[k]); k != key && len(list) > 0 {
			return list[0], true
		}
	}
	return thing, false
}

func addressesOf(s *Service) []string { return s.IPs }
func portsHeld(s *Service) []int      { return s.Ports }

// repaired adds a correct end to the record: the repair has released all leaks and reported them by
// Events.
func (rec *ServiceRecord) repaired() *Ledger {
	end := *rec.Settled
	addresses, ports := end.leaks()
	end.Addresses = maps.Clone(end.Addresses)
	for ip := range addresses {
		delete(end.Addresses, ip)
		rec.Notices = append(rec.Notices, Notice{Reason: "IPAddressNotAllocated", About: ip})
	}
	end.Ports = slices.DeleteFunc(slices.Clone(end.Ports), func(p int) bool { return slices.Contains(ports, p) })
	rec.End = &end
	return rec.End
}

// plantedServices are the faults of services.
var plantedServices = []fault[*ServiceRecord]{
	{"address of another", "duplicates", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, present map[string]*Service) bool {
			ip, ok := other(present, e.Service.Key, addressesOf)
			if ok = ok && e.Type != deleted && len(e.Service.IPs) > 0; ok {
				e.Service.IPs = []string{ip}
			}
			return ok
		})
	}},
	{"port of another", "duplicates", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, present map[string]*Service) bool {
			port, ok := other(present, e.Service.Key, portsHeld)
			if ok = ok && e.Type != deleted && len(e.Service.Ports) > 0; ok {
				e.Service.Ports = []int{port}
			}
			return ok
		})
	}},
	{"service without an address", "fitting", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, _ map[string]*Service) bool {
			ok := e.Type != deleted && len(e.Service.IPs) > 0
			e.Service.IPs = nil
			return ok
		})
	}},
	{"service with one address of two", "fitting", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, _ map[string]*Service) bool {
			ok := e.Type != deleted && e.Service.Policy == "RequireDualStack"
			e.Service.IPs = e.Service.IPs[:min(1, len(e.Service.IPs))]
			return ok
		})
	}},
	{"service without a port", "fitting", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, _ map[string]*Service) bool {
			ok := e.Type != deleted && len(e.Service.Ports) > 0
			e.Service.Ports = nil
			return ok
		})
	}},
	{"address out of range", "fitting", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, _ map[string]*Service) bool {
			ok := e.Type == added && len(e.Service.IPs) > 0
			e.Service.IPs = []string{"192.0.2.1"}
			return ok
		})
	}},
	{"port out of range", "fitting", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, _ map[string]*Service) bool {
			ok := e.Type == added && len(e.Service.Ports) > 0
			e.Service.Ports = []int{rec.PortMax + 1}
			return ok
		})
	}},
	{"other address after a change", "keeping", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, present map[string]*Service) bool {
			old := present[e.Service.Key]
			ok := e.Type == modified && len(e.Service.IPs) > 0 && old.addressed()
			e.Service.IPs = []string{"10.96.0.254"}
			return ok
		})
	}},
	{"other port after a change", "keeping", func(rec *ServiceRecord, at func() bool) {
		rec.events(at, func(e *ServiceEvent, present map[string]*Service) bool {
			old := present[e.Service.Key]
			ok := e.Type == modified && len(e.Service.Ports) > 0 && old.Type == e.Service.Type
			e.Service.Ports = []int{rec.PortMax}
			return ok
		})
	}},
	{"lost write", "answers", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, happened(create), func(op *ServiceOp) {
			rec.Events = slices.DeleteFunc(rec.Events, func(e ServiceEvent) bool { return e.Service.RV == op.Got.RV })
		})
	}},
	{"other address than answered", "answers", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, happened(create), func(op *ServiceOp) { op.Got.IPs = append(op.Got.IPs, "10.96.0.254") })
	}},
	{"other address than asked for", "answers", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, happened(create), func(op *ServiceOp) { op.IP = "10.96.0.254" })
	}},
	{"other port than asked for", "answers", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, happened(create), func(op *ServiceOp) { op.Port = rec.PortMax })
	}},
	{"dry run that creates", "changes", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, rec.sure(create), func(op *ServiceOp) { op.DryRun = true })
	}},
	{"dry run that deletes", "changes", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, rec.sure(remove), func(op *ServiceOp) { op.DryRun = true })
	}},
	{"deletion without effect", "changes", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, func(op *ServiceOp) bool { return op.Verb == remove && op.DryRun && op.Result == acked },
			func(op *ServiceOp) { op.DryRun = false })
	}},
	{"address not written down", "missing", func(rec *ServiceRecord, at func() bool) {
		rec.held(at, func(s *Service) { delete(rec.Settled.Addresses, s.IPs[0]) })
	}},
	{"address written down for another", "missing", func(rec *ServiceRecord, at func() bool) {
		rec.held(at, func(s *Service) { rec.Settled.Addresses[s.IPs[0]] = "robust/another" })
	}},
	{"port not written down", "missing", func(rec *ServiceRecord, at func() bool) {
		for i, port := range rec.Settled.Ports {
			if _, leaks := rec.Settled.leaks(); !slices.Contains(leaks, port) && at() {
				rec.Settled.Ports = slices.Delete(rec.Settled.Ports, i, i+1)
				return
			}
		}
	}},
	{"service gone in the end", "keeping", func(rec *ServiceRecord, at func() bool) {
		rec.held(at, func(s *Service) {
			rec.Settled.Services = slices.DeleteFunc(rec.Settled.Services, func(o *Service) bool { return o == s })
		})
	}},
	{"service changed in the end", "keeping", func(rec *ServiceRecord, at func() bool) {
		rec.held(at, func(s *Service) { s.IPs = nil })
	}},
	{"leaked address", "leaks", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, happened(remove), func(op *ServiceOp) {
			rec.Ops = slices.DeleteFunc(rec.Ops, func(o *ServiceOp) bool { return o.Key == op.Key && o.Result == inDoubt })
			rec.Settled.Addresses["10.96.0.254"] = op.Key
		})
	}},
	{"leaked port", "leaks", func(rec *ServiceRecord, at func() bool) {
		rec.ops(at, func(op *ServiceOp) bool { return op.Result == inDoubt }, func(op *ServiceOp) {
			rec.Ops = slices.DeleteFunc(rec.Ops, func(o *ServiceOp) bool { return o != op && o.Result == inDoubt })
			for port := rec.PortMin; ; port++ {
				if _, leaked := rec.Settled.leaks(); len(leaked) > op.Ports {
					return
				}
				if !slices.Contains(rec.Settled.Ports, port) {
					rec.Settled.Ports = append(rec.Settled.Ports, port)
				}
			}
		})
	}},
	{"address leaked for good", "leaks", func(rec *ServiceRecord, at func() bool) {
		if end := rec.repaired(); at() {
			end.Addresses["10.96.0.254"] = "robust/s0-0"
		}
	}},
	{"port leaked for good", "leaks", func(rec *ServiceRecord, at func() bool) {
		if end := rec.repaired(); at() {
			end.Ports = append(end.Ports, rec.PortMax)
		}
	}},
	{"silent repair", "notices", func(rec *ServiceRecord, at func() bool) {
		rec.repaired()
		for i := range rec.Notices {
			if rec.Notices[i].Reason == "IPAddressNotAllocated" && at() {
				rec.Notices = slices.Delete(rec.Notices, i, i+1)
				return
			}
		}
	}},
	{"false alarm", "notices", func(rec *ServiceRecord, at func() bool) {
		if at() {
			rec.Notices = append(rec.Notices, Notice{Reason: "PortNotAllocated", About: "s0-0"})
		}
	}},
}

// TestPlantedServices plants faults into the record of a run with services.
func TestPlantedServices(t *testing.T) {
	fresh := func(t *testing.T) *ServiceRecord {
		rec := &ServiceRecord{}
		if err := load(recordedServices, rec); err != nil {
			t.Fatal(err)
		}
		return rec
	}
	findPlanted(t, fresh, CheckServices, plantedServices)
	t.Run("repaired", func(t *testing.T) {
		rec := fresh(t)
		rec.repaired()
		report(t, CheckServices(rec))
	})
}
