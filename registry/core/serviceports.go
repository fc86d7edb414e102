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

// reservePorts allocates the node ports of services, and those for health checks, in one change for
// each write. What a service lets go is released when it is stored without.
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
			var released []int // none in doubt
			switch fate {
			case admission.Stored:
				released = freed
			case admission.NotStored:
				released = taken
			}
			if len(released) > 0 {
				_ = a.Release(ctx, released) // what is not released is found by the repair
			}
		}, nil
	}
}

// hasPorts reports whether a service is of a type whose node ports are allocated; others may say
// what they like.
func allocatesPorts(svc *corev1.Service) bool {
	return svc != nil &&
		(svc.Spec.Type == corev1.ServiceTypeNodePort || svc.Spec.Type == corev1.ServiceTypeLoadBalancer)
}

// heldPorts are the node ports that are allocated for the ports of a service.
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

// heldHealthPort is the port that is allocated for health checks, 0 if there is none.
func heldHealthPort(svc *corev1.Service) int {
	if svc == nil || !usesHealthCheckPort(svc) {
		return 0
	}
	return int(svc.Spec.HealthCheckNodePort)
}

// freedPorts are those that old has and svc, which may be nil, has not.
func freedPorts(svc, old *corev1.Service) []int {
	has := heldPorts(svc)
	list := slices.DeleteFunc(heldPorts(old), func(port int) bool { return slices.Contains(has, port) })
	if port := heldHealthPort(old); port != 0 && heldHealthPort(svc) == 0 {
		list = append(list, port)
	}
	return list
}

// wantsPorts reports whether svc has to be given ports that old, which may be nil, does not have,
// or has less often.
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

func wantsHealthPort(svc, old *corev1.Service) bool {
	return usesHealthCheckPort(svc) && (old == nil || !usesHealthCheckPort(old))
}

// portTaker is where ports are taken from: a set, or for a dry run an imitation.
type portTaker interface {
	Take(port int) error
	TakeNext() (int, error)
}

// portClaim is what a service asks for, and gets.
type portClaim struct {
	svc    *corev1.Service
	from   portTaker
	ports  []corev1.ServicePort // those of svc, with node ports
	health int32
	taken  []int // what svc did not have before
	// requested are those of taken that ports ask for: others that ask for the same, with another
	// protocol, share them.
	requested []int
}

// claimPorts takes the ports for a service, all or none.
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

// take takes what the service lacks.
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

// takeForCreate takes the ports of a new service. Ports of one number, which differ by protocol, share a
// node port: the first that one of them asks for.
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

// requestedPort is the node port that is asked for by one of the ports of a number, 0 if none does.
func requestedPort(number int32, list []corev1.ServicePort) int32 {
	for i := range list {
		if list[i].Port == number && list[i].NodePort != 0 {
			return list[i].NodePort
		}
	}
	return 0
}

// takeForUpdate takes the ports that a change asks for. Each port without a node port gets one of its
// own.
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

// takeAt gives a port of the service a node port: the requested one, or with 0 any.
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

// dryRunPorts answers as a set would, and takes nothing. Who takes any port is shown one that nobody
// can have.
type dryRunPorts struct {
	set   *ports.Set
	taken []int
}

// Take implements portTaker. Ports out of the range pass.
func (d *dryRunPorts) Take(port int) error {
	if d.set.Has(port) || slices.Contains(d.taken, port) {
		return ports.ErrAllocated
	}
	d.taken = append(d.taken, port)
	return nil
}

// TakeNext implements portTaker.
func (d *dryRunPorts) TakeNext() (int, error) {
	last := 32768
	if len(d.taken) > 0 {
		last = slices.Max(d.taken)
	}
	d.taken = append(d.taken, last+1)
	return last + 1, nil
}
