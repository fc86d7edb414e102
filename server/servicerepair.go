package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/storage"
)

// repair looks at what is counted outside of services, and puts it right.
type repair struct {
	name string
	// pass looks at everything, and reports whether there is something that it could not judge yet.
	pass func(ctx context.Context) (again bool, err error)
	// of are the resources that it looks at: while they stay as they are, there is no need for another pass.
	of []meta.GroupResource
	// follow repairs what changes, until ctx ends; may be nil.
	follow func(ctx context.Context)

	seen []storage.Revision // the newest changes of the resources before the last pass; nil if there has to be another
}

const (
	// repairInterval is how often the repairs look whether they are needed.
	repairInterval = 3 * time.Minute
	// repairPause is between two tries of a first pass.
	repairPause = 500 * time.Millisecond
	// leastRepairGrace is how long an address may be without its service at least.
	leastRepairGrace = time.Minute
)

// addServiceRepairs adds the hook that runs the repairs. The server is not ready before each has passed once.
func (s *Server) addServiceRepairs(repairs ...*repair) error {
	return s.AddPostStartHook(Hook{Name: "start-service-ip-repair-controllers", Run: func(ctx context.Context, s *Server) error {
		for _, r := range repairs {
			for !s.runRepair(ctx, r) && ctx.Err() == nil {
				_ = storage.Sleep(ctx, repairPause)
			}
			if r.follow != nil {
				s.life.controllers.Run(r.follow)
			}
		}
		s.life.controllers.Run(func(ctx context.Context) {
			for storage.Sleep(ctx, repairInterval) == nil {
				for _, r := range repairs {
					s.runRepair(ctx, r)
				}
			}
		})
		return nil
	}})
}

// runRepair makes a pass if there is something new, and reports whether it did not fail.
func (s *Server) runRepair(ctx context.Context, r *repair) bool {
	now := s.lastChanges(r.of)
	if r.seen != nil && slices.Equal(r.seen, now) {
		return true
	}
	again, err := r.pass(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.Log().Warn("cannot repair yet", zap.String("repair", r.name), zap.Error(err))
		}
		return false
	}
	if r.seen = now; again {
		r.seen = nil
	}
	return true
}

// lastChanges are the revisions of the newest changes of some resources, 0 for what nobody has asked for yet.
func (s *Server) lastChanges(of []meta.GroupResource) []storage.Revision {
	list := make([]storage.Revision, len(of))
	for i, gr := range of {
		if store := s.Store(gr); store != nil {
			list[i] = store.Objects().Stats().Last
		}
	}
	return list
}

func (s *Server) addressRepair(c core.Config, grace time.Duration) *repair {
	const name = "ipallocator-repair-controller"
	log := s.loopLog(name)
	events := controller.NewRecorder(s.client, name, log)
	r := core.NewAddressRepair(c, grace, func(ctx context.Context, e core.RepairEvent) {
		log.Warn(e.Message, zap.String("reason", e.Reason))
		events.Act(ctx, e.About, corev1.EventTypeWarning, e.Reason, e.Action, e.Message)
	})
	return &repair{
		name: name, pass: r.Pass, of: []meta.GroupResource{services, ipAddresses, serviceCIDRs},
		follow: func(ctx context.Context) {
			for ctx.Err() == nil {
				if err := followAddresses(ctx, s.Store(ipAddresses), r); err != nil && ctx.Err() == nil {
					log.Warn("watch failed", zap.Error(err))
				}
				_ = storage.Sleep(ctx, time.Second)
			}
		},
	}
}

// followAddresses tells the repair of IPAddresses that change or go. New ones are none of its business: their services are about
// to come.
func followAddresses(ctx context.Context, store *registry.Store, r *core.AddressRepair) error {
	if store == nil { // closed
		return nil
	}
	cursor, err := store.Watch(meta.WithUnread(ctx), &request.ListRequest{SendInitialEvents: new(bool)})
	if err != nil {
		return err
	}
	defer cursor.Close()
	for {
		changes, err := cursor.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if ch.Type != request.Modified && ch.Type != request.Deleted || registry.Unreadable(ch.Object) != nil {
				continue
			}
			obj, err := store.Decode(ctx, ch.Object)
			if meta.IsUnreadable(err) {
				continue
			}
			if err == nil {
				err = r.Changed(ctx, obj.(*networkingv1.IPAddress))
			}
			if err != nil {
				return err
			}
		}
	}
}
