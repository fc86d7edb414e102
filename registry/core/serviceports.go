package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the reservation of node ports: of the ports of a service and of its port for health
// checks. services passes reservePorts to reserveService. registry/ports keeps the record of taken
// ports, one object for the cluster.

// reservePorts takes the node ports that a write needs, all in one change of the record. Ports that
// the service loses are released after the write is stored. If the fate of the write is in doubt,
// nothing is released: the repair of node ports decides later. A dry run sets the ports that it
// finds free, and takes none. a is nil if the server allocates no node ports (Config.NodePorts).
func reservePorts(a *ports.Allocator) reservation {
	return func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (admission.Settle, error) {
		if a == nil {
			return nil, nil
		}
		var taken []int
		if wantsPorts(svc, old) {
			claim, err := claimPorts(ctx, a, r.DryRun, svc, old)
			if err != nil {
				return nil, err
			}
			svc.Spec.Ports, svc.Spec.HealthCheckNodePort = claim.ports, claim.health
			taken = claim.taken
		}
		freed := freedPorts(svc, old)
		if r.DryRun || len(taken) == 0 && len(freed) == 0 {
			return nil, nil
		}
		return func(ctx context.Context, fate admission.Fate) {
			var released []int // stays empty if the fate is in doubt
			switch fate {
			case admission.Stored:
				released = freed
			case admission.NotStored:
				released = taken
			}
			if len(released) > 0 {
				_ = a.Release(ctx, released) // the repair releases what remains
			}
		}, nil
	}
}

// allocatesPorts reports whether node ports of a service are allocated: it is a NodePort or
// LoadBalancer. Node ports of other types mean nothing and are not recorded.
func allocatesPorts(svc *corev1.Service) bool {
	return svc != nil &&
		(svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer)
}

// heldPorts returns the recorded node ports of a service's ports. A number occurs as often as ports
// share it. svc may be nil.
func heldPorts(svc *corev1.Service) []int {
	var list []int
	if allocatesPorts(svc) {
		for i := range svc.Spec.Ports {
			if port := int(svc.Spec.Ports[i].NodePort); port != 0 {
				list = append(list, port)
			}
		}
	}
	return list
}

// heldHealthPort returns the recorded port for health checks, 0 if there is none. svc may be nil.
func heldHealthPort(svc *corev1.Service) int {
	if svc == nil || !usesHealthCheckPort(svc) {
		return 0
	}
	return int(svc.Spec.HealthCheckNodePort)
}

// freedPorts returns the ports that old holds and svc does not. Both may be nil.
func freedPorts(svc, old *corev1.Service) []int {
	has := heldPorts(svc)
	list := slices.DeleteFunc(heldPorts(old), func(port int) bool { return slices.Contains(has, port) })
	if port := heldHealthPort(old); port != 0 && heldHealthPort(svc) == 0 {
		list = append(list, port)
	}
	return list
}

// wantsPorts reports whether svc needs a port that old does not hold, or holds for fewer of its
// ports. old may be nil. A false answer saves the change of the record.
func wantsPorts(svc, old *corev1.Service) bool {
	if !allocatesPorts(svc) {
		return false
	}
	had := heldPorts(old)
	for i := range svc.Spec.Ports {
		port := int(svc.Spec.Ports[i].NodePort)
		if port == 0 && !usesNodePorts(svc) {
			continue
		}
		at := slices.Index(had, port)
		if at < 0 {
			return true
		}
		had = slices.Delete(had, at, at+1)
	}
	return wantsHealthPort(svc, old)
}

// wantsHealthPort reports whether svc begins to need a port for health checks. The port never
// changes while it is used.
func wantsHealthPort(svc, old *corev1.Service) bool {
	return usesHealthCheckPort(svc) && (old == nil || !usesHealthCheckPort(old))
}

// portTaker is the source of ports: *ports.Set, or dryRunPorts for a dry run.
type portTaker interface {
	Take(port int) error
	TakeNext() (int, error)
}

// portClaim is the ports that one try of a write takes for a service.
type portClaim struct {
	svc    *corev1.Service
	from   portTaker
	ports  []corev1.ServicePort // a copy of those of svc; node ports are filled in here
	health int32                // the port for health checks; 0: any, or none
	taken  []int                // released if the write is not stored
	// requested are the ports in taken that the client asked for by number. Another port of the
	// service may ask for the same number with another protocol, and shares it.
	requested []int
}

// claimPorts takes the ports for a service, all or none. The function given to Change may run more
// than once, if another server changes the record first; each run starts a new claim.
func claimPorts(ctx context.Context, a *ports.Allocator, dryRun bool, svc, old *corev1.Service) (*portClaim, error) {
	var claim *portClaim
	take := func(from portTaker) error {
		claim = &portClaim{
			svc: svc, from: from, ports: slices.Clone(svc.Spec.Ports), health: svc.Spec.HealthCheckNodePort,
		}
		return claim.takeAll(old)
	}
	if dryRun {
		set, _, err := a.Load(ctx)
		if err == nil {
			err = take(&dryRunPorts{set: set})
		}
		return claim, err
	}
	err := a.Change(ctx, func(s *ports.Set) error { return take(s) })
	var status *meta.StatusError
	if err != nil && !errors.As(err, &status) {
		err = fmt.Errorf("failed to allocate a nodePort: %w", err)
	}
	return claim, err
}

// takeAll takes the ports that the service lacks.
func (c *portClaim) takeAll(old *corev1.Service) error {
	take := c.takeForCreate
	if old != nil {
		take = c.takeForUpdate
	}
	if err := take(old); err != nil {
		return err
	}
	if wantsHealthPort(c.svc, old) {
		return c.takeHealth()
	}
	return nil
}

// takeForCreate takes the ports of a new service. Ports with one number that differ by protocol
// share a node port: the first that one of them asks for. DNS needs this: 53 by TCP and UDP.
func (c *portClaim) takeForCreate(*corev1.Service) error {
	shared := map[int32]int32{}
	for i := range c.ports {
		port := &c.ports[i]
		if port.NodePort == 0 && !usesNodePorts(c.svc) {
			continue
		}
		if shared[port.Port] != 0 {
			if port.NodePort == 0 {
				port.NodePort = shared[port.Port]
			} else if port.NodePort != shared[port.Port] {
				if err := c.takeNodePort(i, port.NodePort); err != nil {
					return err
				}
			}
			continue
		}
		requested := requestedPort(port.Port, c.svc.Spec.Ports)
		if err := c.takeNodePort(i, requested); err != nil {
			return err
		}
		shared[port.Port] = port.NodePort
	}
	return nil
}

// requestedPort returns the node port that the client asks for on one of the ports with this
// number, 0 if it asks on none.
func requestedPort(number int32, list []corev1.ServicePort) int32 {
	for i := range list {
		if list[i].Port == number && list[i].NodePort != 0 {
			return list[i].NodePort
		}
	}
	return 0
}

// takeForUpdate takes the ports that a change needs. Here ports with one number do not share: each
// port without a node port gets its own, as in Kubernetes.
func (c *portClaim) takeForUpdate(old *corev1.Service) error {
	type node struct {
		Protocol corev1.Protocol
		NodePort int32
	}
	had, seen := heldPorts(old), map[node]bool{}
	for i := range c.ports {
		port := &c.ports[i]
		if port.NodePort == 0 && !usesNodePorts(c.svc) {
			continue
		}
		if number := int(port.NodePort); !slices.Contains(had, number) && !slices.Contains(c.requested, number) {
			if err := c.takeNodePort(i, port.NodePort); err != nil {
				return err
			}
		}
		n := node{port.Protocol, port.NodePort}
		if seen[n] {
			return &meta.StatusError{Status: *meta.StatusOf(fmt.Errorf("duplicate nodePort: %v", n))}
		}
		seen[n] = true
	}
	return nil
}

// takeNodePort takes the requested node port for port i of the service, or any if requested is 0.
func (c *portClaim) takeNodePort(i int, requested int32) error {
	if requested != 0 {
		if err := c.from.Take(int(requested)); err != nil {
			at := field.NewPath("spec", "ports").Index(i).Child("nodePort")
			return invalidService(c.svc, field.ErrorList{field.Invalid(at, requested, err.Error())})
		}
		c.requested = append(c.requested, int(requested))
		c.recordTaken(i, int(requested))
		return nil
	}
	port, err := c.from.TakeNext()
	if err != nil {
		return meta.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
	}
	c.recordTaken(i, port)
	return nil
}

// recordTaken notes that port i of the service has a node port.
func (c *portClaim) recordTaken(i, port int) {
	c.ports[i].NodePort = int32(port)
	c.taken = append(c.taken, port)
}

// takeHealth takes the port for health checks: the requested one, or any.
func (c *portClaim) takeHealth() error {
	if c.health != 0 {
		if err := c.from.Take(int(c.health)); err != nil {
			return meta.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %d: %w",
				c.health, err))
		}
		c.taken = append(c.taken, int(c.health))
		return nil
	}
	port, err := c.from.TakeNext()
	if err != nil {
		return meta.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort %d: %w", port, err))
	}
	c.health = int32(port)
	c.taken = append(c.taken, port)
	return nil
}

// dryRunPorts answers as the set would and takes nothing.
type dryRunPorts struct {
	set *ports.Set
	// taken are the ports that this claim would hold.
	taken []int
}

// Take implements portTaker. It accepts ports outside of the range, as a dry run in Kubernetes
// does.
func (d *dryRunPorts) Take(port int) error {
	if d.set.Has(port) || slices.Contains(d.taken, port) {
		return ports.ErrAllocated
	}
	d.taken = append(d.taken, port)
	return nil
}

// TakeNext implements portTaker. It returns a port above the default range (30000-32767), as
// Kubernetes does, so that nobody takes it for a promise.
func (d *dryRunPorts) TakeNext() (int, error) {
	last := 32768
	if len(d.taken) > 0 {
		last = slices.Max(d.taken)
	}
	d.taken = append(d.taken, last+1)
	return last + 1, nil
}
