package addresses

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/server/generic"
	serviceloops "github.com/coracle-project/coracle/server/loops/services"
)

// kubernetesService keeps the Service "kubernetes" and its endpoints while the server runs.
type kubernetesService struct {
	loop    *serviceloops.KubernetesService
	self    *Self
	servers *apiServers   // nil: this server is not among the endpoints
	work    *generic.Work // the loops, which stop ends
}

// newKubernetesService returns nil if the server does not serve Endpoints, or if it has no secure
// port to which the Service could lead. The cluster IP of the Service is the first address of
// ranges.
func newKubernetesService(c *Config, needs *Needs, ranges netip.Prefix) (*kubernetesService, error) {
	r := needs.Resources
	if r.Store(endpoints) == nil || !needs.Self.Secure {
		return nil, nil
	}
	k := &kubernetesService{self: needs.Self, work: needs.Loops.Part()}
	k.loop = &serviceloops.KubernetesService{
		Client: needs.Client, ClusterIP: iprange.New(ranges).First(), NodePort: int32(c.KubernetesNodePort),
		Slices: r.Store(endpointSlices) != nil, Log: needs.loopLog("kubernetes-service"),
	}
	if c.NoKubernetesEndpoints {
		return k, nil
	}
	return k, k.advertise(r, needs.Shared)
}

// errOtherFamily means that the Service and the server have addresses of different IP families, so
// clients that reach the one may not reach the other.
var errOtherFamily = errors.New("the server's address is not of the first family of cluster IPs")

// advertise adds this server to the endpoints, if it has an address of the IP family of the
// Service. Otherwise advertise logs a warning, and the server runs without being an endpoint.
func (k *kubernetesService) advertise(r *generic.Resources, shared bool) error {
	ip, err := k.self.Advertised()
	if err == nil && ip.Is4() != k.loop.ClusterIP.Is4() {
		err = errOtherFamily
	}
	if err != nil {
		r.Log().Warn("this server is no endpoint of the Service kubernetes; set --advertise-address",
			zap.Error(err))
		return nil
	}
	k.servers = &apiServers{self: ip.String(), leases: r.Backends().Main().Registry.Leases, log: k.loop.Log}
	k.loop.Servers = k.servers.list
	if !shared {
		return nil
	}
	records, err := generic.RecordsOf[*corev1.Endpoints](r, "Endpoints", apiServerResource, apiServerPrefix)
	k.servers.records, k.loop.Changes = &records, k.servers.changes
	return err
}

// readyTime bounds how long readiness waits for the Service. The server may never be able to make
// the Service, for example because another Service has its cluster IP.
const readyTime = 5 * time.Second

// start makes the Service and its endpoints, and starts the loops that keep them.
func (k *kubernetesService) start(ctx context.Context) error {
	if at := k.self.Listens(); at != nil {
		k.loop.Port = int32(at.Port)
	}
	k.begin(ctx)
	k.work.Run(k.loop.Run)
	if k.servers != nil && k.servers.records != nil {
		k.work.Run(k.servers.keep)
	}
	return nil
}

// begin tries until the Service and its endpoints are right, or readyTime is over. The first
// attempts often fail, because other hooks have not made the namespace and the ServiceCIDR yet.
func (k *kubernetesService) begin(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := k.once(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			k.loop.Log.Warn("cannot set up the Service kubernetes and its endpoints yet", zap.Error(err))
			return
		}
	}
}

// once renews this server's record, and then reconciles the Service and its endpoints.
func (k *kubernetesService) once(ctx context.Context) error {
	if k.servers != nil {
		if err := k.servers.renew(ctx); err != nil {
			return err
		}
	}
	return k.loop.Reconcile(ctx)
}

// stopTime bounds how long a server that stops tries to withdraw its record or its Lease.
const stopTime = 5 * time.Second

// stop ends the loops. If other servers may share the store, it removes this server from the
// endpoints. Otherwise the endpoints stay as they are, because no other server could take over.
func (k *kubernetesService) stop(ctx context.Context) error {
	k.work.Stop()
	if k.servers == nil || k.servers.records == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := k.servers.leave(ctx)
	if err == nil {
		err = k.loop.Withdraw(ctx)
	}
	if err != nil {
		k.loop.Log.Warn("cannot remove this server from the endpoints of the Service kubernetes", zap.Error(err))
	}
	return nil
}
