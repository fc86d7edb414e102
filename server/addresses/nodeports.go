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

// The repair of the record of node ports, which says which ports are allocated. Addresses runs it
// before the server is ready, and then every repairInterval, whether or not a Service has changed:
// a fault of the record changes no Service. Package server calls OpenNodePorts when it has
// installed the resources.

// OpenNodePorts gives an allocator the store of its record. It does nothing if the server does not
// serve Services.
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

// PortRepair compares the node ports in the record with those of Services, as kube-apiserver's
// repair does. If a Service has a port that the record lacks, the repair adds the port. If the
// record has a port that no Service has, either a write of its Service is under way, or a server
// has died during such a write and leaked the port. The repair releases the port when LeakRounds
// passes in a row have found no Service with it. Events tell the owners of Services about faults
// that only they can mend.
type PortRepair struct {
	// Client lists the Services.
	Client *client.Client
	// Ports reads and writes the record. OpenNodePorts has been called on it.
	Ports *ports.Allocator
	// Events records the faults of Services.
	Events *controller.Recorder
	// Log gets a warning for each fault and for released ports.
	Log *zap.Logger

	leaks map[int]int // by port: how many passes in a row found it in the record and with no Service
}

// LeakRounds is the number of passes in a row that must find a port leaked before it is released.
const LeakRounds = 3

// newNodePortRepair returns the repair of node ports. It makes a pass at every interval, whether or
// not Services have changed.
func newNodePortRepair(needs *Needs) *repair {
	const name = "portallocator-repair-controller"
	log := needs.loopLog(name)
	events := controller.NewRecorder(needs.Client, name, log)
	r := &PortRepair{Client: needs.Client, Ports: needs.NodePorts, Events: events, Log: log}
	return &repair{name: name, pass: func(ctx context.Context) (bool, error) { return true, r.Pass(ctx) }}
}

// portRound is one comparison of the record with the Services, and its findings.
type portRound struct {
	span     ports.Span
	rev      storage.Revision               // of taken
	taken    *ports.Set                     // the record, read before the Services
	used     *ports.Set                     // the ports of Services
	missing  map[portHolder]*corev1.Service // in used and not in taken
	leaks    map[int]int                    // as PortRepair.leaks, after this round
	released []int                          // ports that this round releases
	findings []portFinding
}

// portHolder identifies a port of a Service.
type portHolder struct {
	service meta.UID
	port    int
}

// portFinding is a fault of a port of a Service. reason and about are the reason and the message of
// the Event about the fault.
type portFinding struct {
	service       *corev1.Service
	reason, about string
}

// maxOvertaken bounds how often a pass begins again because the record has changed meanwhile.
const maxOvertaken = 5

// Pass compares the record with the Services, repairs the record and reports its findings. It makes
// the record if there is none, and replaces a record for another range. One goroutine calls it at a
// time.
func (r *PortRepair) Pass(ctx context.Context) error {
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

// compare reads the record and the Services. If the record seems to lack a port, compare reads both
// a second time, because the port may have been allocated between the reading of the record and
// that of the Services. A port is missing only if it was missing both times.
func (r *PortRepair) compare(ctx context.Context) (*portRound, error) {
	round, err := r.readBoth(ctx)
	if err != nil || len(round.missing) == 0 {
		return round, err
	}
	before := round.missing
	if round, err = r.readBoth(ctx); err != nil {
		return nil, err
	}
	maps.DeleteFunc(round.missing, func(h portHolder, _ *corev1.Service) bool { return before[h] == nil })
	for h, svc := range round.missing {
		round.found(svc, "PortNotAllocated", "Port %d is not allocated; repairing", h.port)
	}
	return round, nil
}

// readBoth reads the record and then the Services. The order matters: a port that a Service has
// must have been in the record before the Service was written.
func (r *PortRepair) readBoth(ctx context.Context) (*portRound, error) {
	taken, rev, err := r.Ports.Load(ctx)
	if err != nil {
		return nil, err
	}
	round := &portRound{
		span: r.Ports.Span(), rev: rev, taken: taken, used: ports.NewSet(r.Ports.Span()),
		missing: map[portHolder]*corev1.Service{}, leaks: map[int]int{},
	}
	services := client.For[*corev1.Service](r.Client, corev1.GroupVersion.WithResource("services"))
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
		round.checkService(svc)
	}
	round.findLeaks(r.leaks, hidden)
	return round, nil
}

// errPortsChanged ends a round during which another writer has changed the record.
var errPortsChanged = errors.New("the record of node ports has changed meanwhile")

// store writes the findings of a round into the record. It releases ports only if the record has
// not changed since it was read: another server may have released the port, and a Service may have
// got it again.
func (r *PortRepair) store(ctx context.Context, round *portRound) error {
	if round.rev == 0 || round.taken.Span() != round.span || len(round.released) > 0 {
		ok, err := r.Ports.Replace(ctx, round.rebuilt(), round.rev)
		if err == nil && !ok {
			err = errPortsChanged
		}
		return err
	}
	if len(round.missing) == 0 {
		return nil
	}
	return r.Ports.Change(ctx, func(now *ports.Set) error {
		for h := range round.missing {
			_ = now.Take(h.port) // an error means that another server has added it
		}
		return nil
	})
}

// found adds a finding about a Service.
func (r *portRound) found(svc *corev1.Service, reason, format string, args ...any) {
	r.findings = append(r.findings, portFinding{svc, reason, fmt.Sprintf(format, args...)})
}

// checkService compares the ports of one Service with the record, and with the ports of the
// Services seen before.
func (r *portRound) checkService(svc *corev1.Service) {
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

// allocatedPorts returns the allocated node ports of a Service, with its health check node port.
// Ports of different protocols may share one number, which then counts once; the same number and
// protocol twice counts twice.
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

// findLeaks counts, for each port of the record that no Service has, the passes that have found it
// so. before are the counts of the last round. hidden says that some Services cannot be read. These
// may have any of the ports, so findLeaks then releases no port, and the counts begin again.
func (r *portRound) findLeaks(before map[int]int, hidden bool) {
	for port := range r.taken.All() {
		if r.used.Has(port) || !r.span.Contains(port) {
			continue
		}
		if n := before[port] + 1; hidden {
			r.leaks[port] = 0
		} else if n < LeakRounds {
			r.leaks[port] = n
		} else {
			r.released = append(r.released, port)
		}
	}
}

// rebuilt returns the record as it should be: the ports of Services, and the ports in leaks, whose
// Services may still be written.
func (r *portRound) rebuilt() *ports.Set {
	for port := range r.leaks {
		_ = r.used.Take(port) // cannot fail: the port is in the range and not used
	}
	return r.used
}

// report writes the findings of a round to the log, and to Events about the Services.
func (r *PortRepair) report(ctx context.Context, round *portRound) {
	for _, f := range round.findings {
		svc := f.service
		r.Log.Warn("a node port needs repair", zap.String("namespace", svc.Namespace), zap.String("service", svc.Name),
			zap.String("reason", f.reason), zap.String("finding", f.about))
		about := corev1.ObjectReference{
			Kind: "Service", APIVersion: corev1.GroupVersion.String(),
			Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID, ResourceVersion: svc.ResourceVersion,
		}
		r.Events.Act(ctx, about, corev1.EventTypeWarning, f.reason, "PortAllocation", f.about)
	}
	if len(round.leaks) > 0 {
		r.Log.Debug("node ports are allocated and no Service has them; they will be released if that stays so",
			zap.Int("ports", len(round.leaks)))
	}
	if len(round.released) > 0 {
		r.Log.Warn("released node ports that nobody had", zap.Ints("ports", round.released))
	}
}
