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

// kubernetesService keeps the service "kubernetes" and its endpoints as long as a server runs.
type kubernetesService struct {
	loop    *serviceloops.KubernetesService
	self    *Self
	servers *apiServers   // nil: this server is not among the endpoints
	work    *generic.Work // ends when this server leaves
}

// newKubernetesService returns nil where there are no endpoints, or no secure port: the service
// leads to that. Its address is the first of ranges' first one.
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

// errOtherFamily says that who can use an address of the service cannot use that of the server.
var errOtherFamily = errors.New("the server's address is not of the first family of cluster IPs")

// advertise has the server be among the endpoints, if it has an address for that.
func (k *kubernetesService) advertise(r *generic.Resources, shared bool) error {
	ip, err := k.self.Advertised()
	if err == nil && ip.Is4() != k.loop.ClusterIP.Is4() {
		err = errOtherFamily
	}
	if err != nil {
		r.Log().Warn("the service kubernetes gets no endpoints from this server; --advertise-address names its address",
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

// readyTime is how long readiness waits for what may never be as it should: somebody may have the
// address of the service, say.
const readyTime = 5 * time.Second

// start brings the service to where it should be, and goes on with that in the background.
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

// begin tries until the service is as it should be, or until readyTime is over. What the service
// needs comes soon: other hooks make it.
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
			k.loop.Log.Warn("the service kubernetes is not as it should be yet", zap.Error(err))
			return
		}
	}
}

// once renews this server's record and looks at the service.
func (k *kubernetesService) once(ctx context.Context) error {
	if k.servers != nil {
		if err := k.servers.renew(ctx); err != nil {
			return err
		}
	}
	return k.loop.Reconcile(ctx)
}

// stopTime is how long a server that stops tries to take back what it has told the others.
const stopTime = 5 * time.Second

// stop takes the server off the endpoints if others serve on: they see it there.
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
		k.loop.Log.Warn("cannot take this server off the endpoints of the service kubernetes", zap.Error(err))
	}
	return nil
}
