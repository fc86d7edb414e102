package addresses

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// The record of node ports says which ports are taken. What keeps it right is here: a repair, which
// Addresses run before the server is ready and whenever something may be wrong, as what is wrong
// with the record does not show in services. OpenNodePorts is called when the resources are made.

// OpenNodePorts tells an allocator where the record of node ports is kept, if there are services.
func OpenNodePorts(r *generic.Resources, a *ports.Allocator) error {
	if r.Store(services) == nil {
		return nil
	}
	records, err := generic.RecordsOf[*corev1.RangeAllocation](r, "RangeAllocation", ports.Resource, ports.Prefix)
	if err != nil {
		return err
	}
	a.Open(records)
	return nil
}

// portRepair compares the node ports that are taken with those that services have. A port that a
// service has and nobody took is taken for it. A port that is taken and nobody has may belong to a
// service that is being written; if it is found so again and again, a server that died has left it,
// and it is released. What only the owner of a service can put right is told in Events.
type portRepair struct {
	client *client.Client
	ports  *ports.Allocator
	events *controller.Recorder
	log    *zap.Logger

	leaks map[int]int // how often in a row a port was taken and nobody's
}

// leakRounds is how often in a row a port has to be found that nobody has.
const leakRounds = 3

// newNodePortRepair returns the repair of node ports. Each of its passes asks for another one.
func newNodePortRepair(needs *Needs) *repair {
	const name = "portallocator-repair-controller"
	log := needs.loopLog(name)
	events := controller.NewRecorder(needs.Client, name, log)
	r := &portRepair{client: needs.Client, ports: needs.NodePorts, events: events, log: log}
	return &repair{name: name, pass: func(ctx context.Context) (bool, error) { return true, r.pass(ctx) }}
}

// portRound is one comparison.
type portRound struct {
	span     ports.Span
	rev      storage.Revision // of taken
	taken    *ports.Set       // before services were read: those of all that were there then are in it
	used     *ports.Set
	missing  map[portHolder]*corev1.Service // used and not taken
	leaks    map[int]int
	released []int
	findings []portFinding
}

// portHolder is a service that has a port.
type portHolder struct {
	service meta.UID
	port    int
}

// portFinding is what is wrong with a port of a service.
type portFinding struct {
	service       *corev1.Service
	reason, about string
}

// maxOvertaken is how often a pass begins again because the record has changed meanwhile.
const maxOvertaken = 5

// pass compares, and makes the record if there is none, or one of another range. One goroutine
// calls it at a time.
func (r *portRepair) pass(ctx context.Context) error {
	for try := 1; ; try++ {
		round, err := r.compare(ctx)
		if err == nil {
			err = r.store(ctx, round)
		}
		if err == nil {
			r.leaks = round.leaks
			r.report(ctx, round)
		}
		if !errors.Is(err, errPortsChanged) || try == maxOvertaken {
			return err
		}
	}
}

// compare compares once, and again if a port seems to be missing: it may have been taken after the
// record was read, and before the services were. A port is missing if a service had it, and nobody
// had taken it, both times.
func (r *portRepair) compare(ctx context.Context) (*portRound, error) {
	round, err := r.look(ctx)
	if err != nil || len(round.missing) == 0 {
		return round, err
	}
	before := round.missing
	if round, err = r.look(ctx); err != nil {
		return nil, err
	}
	maps.DeleteFunc(round.missing, func(h portHolder, _ *corev1.Service) bool { return before[h] == nil })
	for h, svc := range round.missing {
		round.found(svc, "PortNotAllocated", "Port %d is not allocated; repairing", h.port)
	}
	return round, nil
}

// look reads the record, and then the services.
func (r *portRepair) look(ctx context.Context) (*portRound, error) {
	taken, rev, err := r.ports.Load(ctx)
	if err != nil {
		return nil, err
	}
	round := &portRound{
		span: r.ports.Span(), rev: rev, taken: taken, used: ports.NewSet(r.ports.Span()),
		missing: map[portHolder]*corev1.Service{}, leaks: map[int]int{},
	}
	services := client.For[*corev1.Service](r.client, corev1.GroupVersion.WithResource("services"))
	exposed := meta.ListOptions{FieldSelector: "spec.type!=" + string(corev1.ServiceTypeClusterIP)}
	hidden := false
	for svc, err := range services.All(meta.WithUnread(ctx), exposed) {
		if meta.IsUnreadable(err) {
			hidden = true
			continue
		}
		if err != nil {
			return nil, err
		}
		round.see(svc)
	}
	round.findLeaks(r.leaks, hidden)
	return round, nil
}

// errPortsChanged ends a round that others have overtaken.
var errPortsChanged = errors.New("the record of node ports has changed meanwhile")

// store writes what a round has found into the record. A port that nobody has is released only if
// the record is as it was: since then another server may have released it, and somebody taken it.
func (r *portRepair) store(ctx context.Context, round *portRound) error {
	if round.rev == 0 || round.taken.Span() != round.span || len(round.released) > 0 {
		ok, err := r.ports.Replace(ctx, round.rebuilt(), round.rev)
		if err == nil && !ok {
			err = errPortsChanged
		}
		return err
	}
	if len(round.missing) == 0 {
		return nil
	}
	return r.ports.Change(ctx, func(now *ports.Set) error {
		for h := range round.missing {
			_ = now.Take(h.port) // or another server has done that
		}
		return nil
	})
}

// found notes what is wrong with a service.
func (r *portRound) found(svc *corev1.Service, reason, format string, args ...any) {
	r.findings = append(r.findings, portFinding{svc, reason, fmt.Sprintf(format, args...)})
}

// see compares the ports of one service with the record, and with those of the services before it.
func (r *portRound) see(svc *corev1.Service) {
	for _, port := range allocatedPorts(svc) {
		var outside *ports.NotInRangeError
		switch err := r.used.Take(port); {
		case errors.As(err, &outside):
			r.found(svc, "PortOutOfRange", "Port %d is not within the port range %s; please recreate service", port, r.span)
		case err != nil:
			r.found(svc, "PortAlreadyAllocated", "Port %d was assigned to multiple services; please recreate service", port)
		case !r.taken.Has(port):
			r.missing[portHolder{svc.UID, port}] = svc
		}
	}
}

// allocatedPorts are the node ports of a service as they are allocated: one that several of its
// ports share by protocol counts once.
func allocatedPorts(svc *corev1.Service) []int {
	if t := svc.Spec.Type; t != corev1.ServiceTypeNodePort && t != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	var list []int
	protocols := map[int]map[corev1.Protocol]bool{}
	add := func(port int, p corev1.Protocol) {
		if port == 0 {
			return
		}
		if protocols[port] == nil {
			protocols[port] = map[corev1.Protocol]bool{}
		}
		if len(protocols[port]) == 0 || protocols[port][p] {
			list = append(list, port)
		}
		protocols[port][p] = true
	}
	for i := range svc.Spec.Ports {
		add(int(svc.Spec.Ports[i].NodePort), svc.Spec.Ports[i].Protocol)
	}
	add(int(svc.Spec.HealthCheckNodePort), corev1.ProtocolTCP)
	return list
}

// findLeaks counts the ports that nobody has; before is what the last round counted. hidden: there
// are services that cannot be read, which may have any of them.
func (r *portRound) findLeaks(before map[int]int, hidden bool) {
	for port := range r.taken.All() {
		if r.used.Has(port) || !r.span.Contains(port) {
			continue
		}
		if n := before[port] + 1; hidden {
			r.leaks[port] = 0
		} else if n < leakRounds {
			r.leaks[port] = n
		} else {
			r.released = append(r.released, port)
		}
	}
}

// rebuilt is the whole record as it should be.
func (r *portRound) rebuilt() *ports.Set {
	for port := range r.leaks {
		_ = r.used.Take(port) // it is of the range, and not among those used
	}
	return r.used
}

// report tells the log, and the owners of services by Events, what a round has found.
func (r *portRepair) report(ctx context.Context, round *portRound) {
	for _, f := range round.findings {
		svc := f.service
		r.log.Warn("a node port needs repair", zap.String("namespace", svc.Namespace), zap.String("service", svc.Name),
			zap.String("reason", f.reason), zap.String("finding", f.about))
		about := corev1.ObjectReference{
			Kind: "Service", APIVersion: corev1.GroupVersion.String(),
			Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion,
		}
		r.events.Act(ctx, about, corev1.EventTypeWarning, f.reason, "PortAllocation", f.about)
	}
	if len(round.leaks) > 0 {
		r.log.Debug("node ports are taken and nobody's: if they stay so, they are released",
			zap.Int("ports", len(round.leaks)))
	}
	if len(round.released) > 0 {
		r.log.Warn("released node ports that nobody had", zap.Ints("ports", round.released))
	}
}
