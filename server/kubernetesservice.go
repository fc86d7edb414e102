package server

import (
	"context"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/server/generic"
	serviceloops "github.com/coracle-project/coracle/server/loops/services"
)

// addKubernetesService adds the hooks that keep the service "kubernetes" and its endpoints, on servers with services and a
// secure port, which is what it leads to.
func (s *Server) addKubernetesService(c completed) error {
	if s.Store(services) == nil || s.Store(endpoints) == nil || c.Serving.SecurePort == NoPort {
		return nil
	}
	b := &bootstrap{server: s, work: generic.NewWork(s.life.controllers.Context())}
	ranges, err := c.API.Services.ranges()
	if err != nil {
		return err
	}
	b.service = &serviceloops.KubernetesService{
		Client: s.client, ClusterIP: iprange.New(ranges[0]).First(), NodePort: int32(c.API.Services.KubernetesNodePort),
		Slices: s.Store(endpointSlices) != nil, Log: s.loopLog("kubernetes-service"),
	}
	if !c.API.Services.NoKubernetesEndpoints {
		if err := b.advertise(c); err != nil {
			return err
		}
	}
	if err := s.AddPostStartHook(Hook{Name: "bootstrap-controller", Run: b.start}); err != nil {
		return err
	}
	return s.AddPreShutdownHook(Hook{Name: "stop-kubernetes-service-controller", Run: b.stop})
}

// bootstrap keeps the service "kubernetes" as long as a server runs.
type bootstrap struct {
	server  *Server
	service *serviceloops.KubernetesService
	servers *apiServers // nil: this server is not among the endpoints
	work    *generic.Work
}

// advertise has the server be among the endpoints, if it has an address for that.
func (b *bootstrap) advertise(c completed) error {
	s := b.server
	ip, err := c.Serving.advertised()
	if err == nil && ip.Is4() != b.service.ClusterIP.Is4() {
		err = errOtherFamily
	}
	if err != nil {
		s.Log().Warn("the service kubernetes gets no endpoints from this server; --advertise-address names its address", zap.Error(err))
		return nil
	}
	b.servers = &apiServers{self: ip.String(), leases: s.Backends().Main().Registry.Leases, log: b.service.Log}
	b.service.Servers = b.servers.list
	if !c.Storage.shared() {
		return nil
	}
	records, err := generic.RecordsOf[*corev1.Endpoints](s.Resources, "Endpoints", apiServerResource, apiServerPrefix)
	b.servers.records, b.service.Changes = &records, b.servers.changes
	return err
}

// readyTime is how long readiness waits for what may never be as it should: somebody may have the address of the service, say.
const readyTime = 5 * time.Second

// start brings the service to where it should be, and goes on with that in the background.
func (b *bootstrap) start(ctx context.Context, s *Server) error {
	b.service.Port = int32(s.Address().(*net.TCPAddr).Port)
	b.begin(ctx)
	b.work.Run(b.service.Run)
	if b.servers != nil && b.servers.records != nil {
		b.work.Run(b.servers.keep)
	}
	s.life.controllers.Run(func(ctx context.Context) {
		<-ctx.Done()
		b.work.Stop()
	})
	return nil
}

// begin tries until the service is as it should be, or its time is up. What it needs comes soon: other hooks make it.
func (b *bootstrap) begin(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := b.once(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			b.service.Log.Warn("the service kubernetes is not as it should be yet", zap.Error(err))
			return
		}
	}
}

func (b *bootstrap) once(ctx context.Context) error {
	if b.servers != nil {
		if err := b.servers.renew(ctx); err != nil {
			return err
		}
	}
	return b.service.Reconcile(ctx)
}

// stopTime is how long a server tries to take itself off the endpoints before it stops without that.
const stopTime = 5 * time.Second

// stop takes the server off the endpoints, where others see that.
func (b *bootstrap) stop(ctx context.Context, _ *Server) error {
	b.work.Stop()
	if b.servers == nil || b.servers.records == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := b.servers.leave(ctx)
	if err == nil {
		err = b.service.Withdraw(ctx)
	}
	if err != nil {
		b.service.Log.Warn("cannot take this server off the endpoints of the service kubernetes", zap.Error(err))
	}
	return nil
}
