package addresses

import (
	"context"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/generic"
	serviceloops "github.com/coracle-project/coracle/server/loops/services"
)

// This file makes the parts of the package and gives the server their hooks. Package server calls
// New, and adds the hooks to its own.

// The resources that this package works with.
var (
	namespaces     = meta.GroupResource{Resource: "namespaces"}
	services       = meta.GroupResource{Resource: "services"}
	endpoints      = meta.GroupResource{Resource: "endpoints"}
	endpointSlices = meta.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	serviceCIDRs   = meta.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}
	ipAddresses    = meta.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
	leases         = meta.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
)

// Needs is what New takes.
type Needs struct {
	// Resources are the resources of the server, after they have been installed. Records of servers
	// are stored beside them.
	Resources *generic.Resources
	// NodePorts allocates node ports. OpenNodePorts has been called on it.
	NodePorts *ports.Allocator
	// Self holds this server's addresses, Peers what the Leases say about the other servers.
	Self  *Self
	Peers *Peers
	// Client is the client by which the server calls itself. It need not work before the hooks run.
	Client *client.Client
	// Loops runs loops that use Client. The server stops it before it refuses requests.
	Loops *generic.Work
	// Shared says that other servers may work on the same store.
	Shared bool
	// Lease says that the server keeps a Lease. It counts only if Shared is set.
	Lease bool
	// RequestTimeout bounds the time of a write. The repair does not delete an IPAddress without a
	// Service before that time has passed, because the Service may still be written.
	RequestTimeout time.Duration
}

// loopLog is the log of a loop. It limits how often a message repeats, because a failure may
// concern many objects, again and again.
func (n *Needs) loopLog(name string) *zap.Logger {
	return filters.LimitLog(n.Resources.Log().Named(name))
}

// Addresses does the work of this package for one server. Work whose resources the server does not
// serve is left out. New makes it. It does nothing before its hooks run.
type Addresses struct {
	needs   Needs
	repairs []*repair                        // nil if Services are not served
	ranges  *serviceloops.DefaultServiceCIDR // nil if ServiceCIDRs are not served
	service *kubernetesService               // nil without Endpoints or a secure port
	lease   *identityLease                   // nil if no other server may share the store
}

// New makes the Addresses of a server. c must be complete and valid.
func New(c Config, needs Needs) (*Addresses, error) {
	ranges, err := c.Ranges()
	if err != nil {
		return nil, err
	}
	a := &Addresses{needs: needs, lease: newIdentityLease(&needs)}
	find := needs.Resources.Store
	if find(services) == nil {
		return a, nil
	}
	if find(serviceCIDRs) != nil && find(ipAddresses) != nil {
		a.repairs = append(a.repairs, newAddressRepair(&needs, ranges))
		a.ranges = newDefaultRanges(&needs, ranges)
	}
	a.repairs = append(a.repairs, newNodePortRepair(&needs))
	a.service, err = newKubernetesService(&c, &needs, ranges[0])
	return a, err
}

// newDefaultRanges returns the loop that keeps the ServiceCIDR "kubernetes", which has the
// configured ranges.
func newDefaultRanges(needs *Needs, ranges []netip.Prefix) *serviceloops.DefaultServiceCIDR {
	const name = "kubernetes-service-cidr-controller"
	log := needs.loopLog(name)
	d := &serviceloops.DefaultServiceCIDR{
		Client: needs.Client, Name: core.DefaultServiceCIDR, Log: log,
		Events: controller.NewRecorder(needs.Client, name, log),
	}
	for _, r := range ranges {
		d.CIDRs = append(d.CIDRs, r.String())
	}
	return d
}

// Self returns the addresses of this server.
func (a *Addresses) Self() *Self { return a.needs.Self }

// Peers returns what this server knows about the other servers on the store.
func (a *Addresses) Peers() *Peers { return a.needs.Peers }

// ServiceHooks returns the post-start hooks that repair the ranges, addresses and node ports of
// Services. The API depends on them, so they run on every server, even if it runs no
// controllers.
func (a *Addresses) ServiceHooks() []generic.Hook {
	if a.repairs == nil {
		return nil
	}
	hooks := []generic.Hook{{Name: "start-service-ip-repair-controllers", Run: a.startRepairs}}
	if a.ranges != nil {
		hooks = append(hooks, generic.Hook{Name: "start-kubernetes-service-cidr-controller", Run: a.startRanges})
	}
	return hooks
}

// startRanges makes the ServiceCIDR, and starts the loop that keeps it.
func (a *Addresses) startRanges(ctx context.Context) error {
	a.ranges.Ensure(ctx)
	a.needs.Loops.Run(a.ranges.Run)
	return nil
}

// ServerHooks returns the post-start hooks that publish this server's address and its Lease.
func (a *Addresses) ServerHooks() []generic.Hook {
	var hooks []generic.Hook
	if a.service != nil {
		hooks = append(hooks, generic.Hook{Name: "bootstrap-controller", Run: a.service.start})
	}
	if a.lease != nil {
		hooks = append(hooks, generic.Hook{Name: "start-kube-apiserver-identity-lease-controller", Run: a.lease.start})
	}
	return hooks
}

// PreShutdownHooks returns the hooks that withdraw what ServerHooks have published. They run when
// the server has been told to stop. Their context bounds how long the server waits for them.
func (a *Addresses) PreShutdownHooks() []generic.Hook {
	var hooks []generic.Hook
	if a.service != nil {
		hooks = append(hooks, generic.Hook{Name: "stop-kubernetes-service-controller", Run: a.service.stop})
	}
	if a.lease != nil {
		hooks = append(hooks, generic.Hook{Name: "stop-kube-apiserver-identity-lease-controller", Run: a.lease.stop})
	}
	return hooks
}
