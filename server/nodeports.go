package server

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

var services = meta.GroupResource{Resource: "services"}

// openNodePorts says where node ports are kept, if there are services.
func (s *resources) openNodePorts(a *ports.Allocator) error {
	if s.Store(services) == nil {
		return nil
	}
	records, err := recordsOf[*corev1.RangeAllocation](s, "RangeAllocation", ports.Resource, ports.Prefix)
	if err != nil {
		return err
	}
	a.Open(records)
	s.nodePorts = a
	return nil
}

// repairNodePorts repairs the record of node ports once, without which none are handed out, and from then on in the background.
func repairNodePorts(ctx context.Context, s *Server) error {
	log := s.log.Named("node-ports")
	r := &nodePortRepair{
		client: s.client, ports: s.nodePorts, events: controller.NewRecorder(s.client, "portallocator-repair-controller", log), log: log,
	}
	for {
		err := r.repair(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		log.Warn("cannot repair the node ports yet", zap.Error(err))
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	s.life.controllers.run(r.run)
	return nil
}
