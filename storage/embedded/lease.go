package embedded

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"
)

// endLeases ends the leases that are due, by way of the log: their keys are deleted with them. It takes no room for that, which
// has kept some.
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
				if err != nil { // it had ended, or is named again in some seconds
					m.log.Debug("a lease was not ended", zap.Error(err))
				}
			}
		}
	}
}
