package embedded

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/zap"
)

// The database file never shrinks by itself, so if it has grown to the quota, or there is little room on the disk, with much
// of it unused, writes are refused for the moment that it takes to rewrite it. If it is full of history, the history is
// forgotten first. The log is let go of. Only a store that is full of present objects stays so, until some are deleted, and
// only a disk that others have filled.

const (
	// quotaMargin is how far the server's own quota is above ours. The server notices too late, applies a write that
	// it then calls refused, and takes no other until an operator has intervened; nobody could do that here.
	quotaMargin = 64 << 20
	// roomAgain is the time between two attempts to make room that were of no use.
	roomAgain = 10 * time.Second
	// snapshotCount is how many requests the server applies between two snapshots. The log before a snapshot is deleted,
	// logKept segments apart, within half a minute.
	snapshotCount = 5000
	logKept       = 2
	purgeInterval = time.Minute
)

func (r *room) run(ctx context.Context) {
	tick := time.NewTicker(idleAge)
	defer tick.Stop()
	kick, rest := r.kick, time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.look()
		case <-rest.C:
			kick = r.kick
		case <-kick:
			if !r.make(ctx) {
				kick = nil
				rest.Reset(roomAgain)
			}
		}
	}
}

// make frees what can be freed, and reports whether that was of use.
func (r *room) make(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	size, _ := r.store.Size()
	full := size >= r.quota*3/4
	var err error
	if full {
		err = r.shrink(ctx, r.quota)
	} else if size >= leastReserve {
		err = r.shrink(ctx, size)
	}
	if err == nil {
		err = r.releaseLog(ctx)
	}
	r.look()
	now, used := r.store.Size()
	if full {
		r.log.Warn("the database had reached its quota", zap.Int64("quota", r.quota),
			zap.Int64("size", now), zap.Int64("used", used), zap.Error(err))
	} else if err != nil {
		r.log.Warn("no room could be made on the disk", zap.Int64("size", now), zap.Int64("used", used), zap.Error(err))
	}
	return err == nil && now < size && now < r.quota*3/4
}

// shrink rewrites the database if it has at most half of a size in use.
func (r *room) shrink(ctx context.Context, size int64) error {
	server := r.store.server
	enough := func() bool { return server.Backend().SizeInUse() < size/2 }
	if !enough() {
		req := &pb.CompactionRequest{Revision: r.store.kv.Rev(), Physical: true}
		if _, err := (local{r.store}).Compact(ctx, req); err != nil && err != rpctypes.ErrGRPCCompacted {
			return err
		}
		server.Backend().ForceCommit()
	}
	if _, free := r.left(); enough() && free > server.Backend().SizeInUse() { // for the copy
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

// releaseLog has the server save a snapshot, if its log is long: so many requests are made as it waits for, deletions of a
// key that nobody has.
func (r *room) releaseLog(ctx context.Context) error {
	if logBytes(r.dir) <= (logKept+2)*segmentBytes || time.Since(r.released) < purgeInterval {
		return nil
	}
	r.released = time.Now()
	const clients = 64
	nothing := &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{
		RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte{0}}}}}}
	var wg sync.WaitGroup
	var failed [clients]error
	for c := range clients {
		wg.Go(func() {
			for n := c; n <= snapshotCount && failed[c] == nil; n += clients {
				_, failed[c] = (local{r.store}).Txn(ctx, nothing)
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
