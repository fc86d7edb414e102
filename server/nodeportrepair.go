package server

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/storage"
)

// portRepair compares the node ports that are taken with those that services have. A port that a service has and nobody took is
// taken for it. One that is taken and nobody has may be that of a service which is being written; if it is found so again and again
// it was left by a server that died, and is released. What only the owner of a service can put right is told in Events.
type portRepair struct {
	client *client.Client
	ports  *ports.Allocator
	events *controller.Recorder
	log    *zap.Logger

	leaks map[int]int // how often in a row a port was taken and nobody's
}

// leakRounds is how often in a row a port has to be found that nobody has.
const leakRounds = 3

// nodePortRepair is the repair of node ports. It always looks: what is wrong with the record does not show in services.
func (s *Server) nodePortRepair() *repair {
	const name = "portallocator-repair-controller"
	log := s.log.Named(name)
	r := &portRepair{client: s.client, ports: s.nodePorts, events: controller.NewRecorder(s.client, name, log), log: log}
	return &repair{name: name, pass: func(ctx context.Context) (bool, error) { return true, r.pass(ctx) }}
}

// portRound is one comparison.
type portRound struct {
	span     ports.Span
	taken    *ports.Set // before services were read: those of all that were there then are in it
	used     *ports.Set
	leaks    map[int]int
	released []int
	findings []portFinding
}

// portFinding is what is wrong with a port of a service.
type portFinding struct {
	service       *corev1.Service
	reason, about string
}

// pass compares once, and makes the record if there is none, or one of another range. It is not called by several at once.
func (r *portRepair) pass(ctx context.Context) error {
	taken, rev, err := r.ports.Load(ctx)
	if err != nil {
		return err
	}
	round := &portRound{span: r.ports.Span(), taken: taken, used: ports.NewSet(r.ports.Span()), leaks: map[int]int{}}
	services := client.For[*corev1.Service](r.client, corev1.GroupVersion.WithResource("services"))
	for svc, err := range services.All(ctx, meta.ListOptions{FieldSelector: "spec.type!=" + string(corev1.ServiceTypeClusterIP)}) {
		if err != nil {
			return err
		}
		round.see(svc)
	}
	round.findLeaks(r.leaks)
	if err := r.store(ctx, round, rev); err != nil {
		return err
	}
	r.leaks = round.leaks
	r.report(ctx, round)
	return nil
}

// errPortsChanged ends a round that another server's has overtaken.
var errPortsChanged = errors.New("the record of node ports has changed meanwhile")

// store writes what a round has found into the record, which was at rev when the round began.
func (r *portRepair) store(ctx context.Context, round *portRound, rev storage.Revision) error {
	if rev != 0 && round.taken.Span() == round.span {
		return r.ports.Change(ctx, round.mend)
	}
	ok, err := r.ports.Replace(ctx, round.rebuilt(), rev)
	if err == nil && !ok {
		err = errPortsChanged
	}
	return err
}

// see compares the ports of one service.
func (r *portRound) see(svc *corev1.Service) {
	found := func(reason, format string, args ...any) {
		r.findings = append(r.findings, portFinding{svc, reason, fmt.Sprintf(format, args...)})
	}
	for _, port := range allocatedPorts(svc) {
		var outside *ports.NotInRangeError
		switch err := r.used.Take(port); {
		case errors.As(err, &outside):
			found("PortOutOfRange", "Port %d is not within the port range %s; please recreate service", port, r.span)
		case err != nil:
			found("PortAlreadyAllocated", "Port %d was assigned to multiple services; please recreate service", port)
		case !r.taken.Has(port):
			found("PortNotAllocated", "Port %d is not allocated; repairing", port)
		}
	}
}

// allocatedPorts are the ports of a service as they are allocated: one that several of its ports share by protocol counts once.
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

// findLeaks counts the ports that nobody has; before is what the last round counted.
func (r *portRound) findLeaks(before map[int]int) {
	for port := range r.taken.All() {
		if r.used.Has(port) || !r.span.Contains(port) {
			continue
		}
		if n := before[port] + 1; n < leakRounds {
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

// mend puts right what the round has found. All else in the record may have changed since.
func (r *portRound) mend(now *ports.Set) error {
	for port := range r.used.All() {
		if !r.taken.Has(port) {
			_ = now.Take(port) // or it is taken by now, for this service
		}
	}
	for _, port := range r.released {
		now.Release(port)
	}
	return nil
}

// report tells what was found.
func (r *portRepair) report(ctx context.Context, round *portRound) {
	for _, f := range round.findings {
		svc := f.service
		r.log.Warn("a node port needs repair", zap.String("namespace", svc.Namespace), zap.String("service", svc.Name),
			zap.String("reason", f.reason), zap.String("finding", f.about))
		about := corev1.ObjectReference{
			Kind: "Service", APIVersion: corev1.GroupVersion.String(), Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID,
			ResourceVersion: svc.ResourceVersion,
		}
		r.events.Act(ctx, about, corev1.EventTypeWarning, f.reason, "PortAllocation", f.about)
	}
	if len(round.leaks) > 0 {
		r.log.Debug("node ports are taken and nobody's: if they stay so, they are released", zap.Int("ports", len(round.leaks)))
	}
	if len(round.released) > 0 {
		r.log.Warn("released node ports that nobody had", zap.Ints("ports", round.released))
	}
}
