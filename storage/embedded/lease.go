package embedded

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"
)

// endLeases ends leases that are due, by a request that goes through the log like a write. The end
// of a lease deletes its keys. It does not ask the room, whose reserve covers it.
func (m *member) endLeases(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case due := <-m.lessor.ExpiredLeasesC():
			for _, l := range due {
				if ctx.Err() != nil {
					return
				}
				r := newRequest()
				r.other = &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: int64(l.ID)}}
				err := m.do(ctx, r)
				r.free()
				if err != nil { // it has ended already, or the lessor names it again in some seconds
					m.log.Debug("a lease was not ended", zap.Error(err))
				}
			}
		}
	}
}
