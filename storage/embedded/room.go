package embedded

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage/etcd"
)

const (
	// quotaMargin is how far the server's own quota is above ours. The server notices too late, applies a write that
	// it then calls refused, and takes no other until an operator has intervened; nobody could do that here.
	quotaMargin = 64 << 20
	// roomAgain is the time between two attempts to make room that were of no use.
	roomAgain = 10 * time.Second
)

// room keeps the database file below its quota. The file never shrinks by itself, so if it has grown to the quota with
// much of it free, writes are refused for the moment that it takes to rewrite it; if it is full of history, the history
// is forgotten first. Only a store that is full of present objects stays so, until some are deleted.
type room struct {
	store *Store
	quota int64
	log   *zap.Logger
	kick  chan struct{} // capacity 1: a write has been refused
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func newRoom(s *Store, quota int64, log *zap.Logger) *room {
	ctx, cancel := context.WithCancel(context.Background())
	r := &room{store: s, quota: quota, log: log, kick: make(chan struct{}, 1), stop: cancel}
	r.done.Go(func() { r.run(ctx) })
	return r
}

// close ends the loop.
func (r *room) close() {
	r.stop()
	r.done.Wait()
}

// check refuses size more bytes if the database is full.
func (r *room) check(size int) error {
	if r.store.server.Backend().Size()+int64(size) < r.quota {
		return nil
	}
	signal(r.kick)
	return etcd.ErrFull
}

func (r *room) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		}
		err := r.make(ctx)
		size, used := r.store.Size()
		r.log.Warn("the database had reached its quota", zap.Int64("quota", r.quota),
			zap.Int64("size", size), zap.Int64("used", used), zap.Error(err))
		if err == nil && size < r.quota*3/4 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(roomAgain):
		}
	}
}

// make frees what can be freed.
func (r *room) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	server := r.store.server
	enough := func() bool { return server.Backend().SizeInUse() < r.quota/2 }
	if !enough() {
		_, err := server.Compact(ctx, &pb.CompactionRequest{Revision: r.store.kv.Rev(), Physical: true})
		if err = translate(err); err != nil && err != rpctypes.ErrGRPCCompacted {
			return err
		}
		server.Backend().ForceCommit()
	}
	if enough() {
		if err := r.store.trim.without(server.Backend().Defrag); err != nil {
			return err
		}
	}
	for _, a := range server.Alarms() { // by an earlier version, or another etcd
		if a.Alarm == pb.AlarmType_NOSPACE {
			req := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm}
			if _, err := server.Alarm(ctx, req); err != nil {
				return err
			}
		}
	}
	return nil
}
