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

// Needs are what Addresses are made of.
type Needs struct {
	// Resources are those of the server, installed. Records of servers are kept beside them.
	Resources *generic.Resources
	// NodePorts allocates node ports. It is open.
	NodePorts *ports.Allocator
	// Self is where this server is, Peers what is known of the others.
	Self  *Self
	Peers *Peers
	// Client is the server's client of itself. It need not work before the hooks run.
	Client *client.Client
	// Loops are the loops of the server that use Client. The server stops them before it turns
	// requests away.
	Loops *generic.Work
	// Shared says that other servers may work on the same store.
	Shared bool
	// Lease says that the server is to keep a Lease while others may work on the store.
	Lease bool
	// RequestTimeout is the longest time of a write: an address may be without its service as long.
	RequestTimeout time.Duration
}

// loopLog is the log of a loop: what keeps it from its work may concern many objects, again and
// again.
func (n *Needs) loopLog(name string) *zap.Logger {
	return filters.LimitLog(n.Resources.Log().Named(name))
}

// Addresses keep what services are given, and where this server is, as far as the resources for it
// are served. Make them with New; they do nothing before their hooks run.
type Addresses struct {
	needs   Needs
	repairs []*repair                        // nil without services
	ranges  *serviceloops.DefaultServiceCIDR // nil without ServiceCIDRs
	service *kubernetesService               // nil if nothing leads to this server
	lease   *identityLease                   // nil if nobody shares the store
}

// New makes the Addresses of a server. The configuration is complete and valid.
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

// newDefaultRanges returns the loop that keeps the ServiceCIDR of the configured ranges.
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

// Self is where this server is.
func (a *Addresses) Self() *Self { return a.needs.Self }

// Peers is what is known of the other servers on the store.
func (a *Addresses) Peers() *Peers { return a.needs.Peers }

// ServiceHooks are the post-start hooks that keep the ranges, addresses and node ports of services
// as they should be. They are part of the API, and run on every server whatever controllers are
// selected.
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

// startRanges makes the ServiceCIDR, and keeps it in the background.
func (a *Addresses) startRanges(ctx context.Context) error {
	a.ranges.Ensure(ctx)
	a.needs.Loops.Run(a.ranges.Run)
	return nil
}

// ServerHooks are the post-start hooks by which this server says where it is, and that it lives.
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

// PreShutdownHooks take back what those of ServerHooks have said. Unlike other hooks they run when
// the server is told to stop, and their context ends when it waits no longer.
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
