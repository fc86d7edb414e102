package embedded

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	servererrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// local answers etcd's requests by calling the server.
type local struct{ *Store }

// Range reads the member's own store, which is as new as the last acknowledgement. Counting visits all keys of the range.
func (l local) Range(ctx context.Context, r *pb.RangeRequest, count bool) (*pb.RangeResponse, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	if l.IsClosed() {
		return nil, rpctypes.ErrGRPCStopped
	}
	limit := r.Limit
	if limit > 0 {
		limit++ // one more tells whether there are more
	}
	res, err := l.kv.Range(ctx, r.Key, rangeEnd(r.RangeEnd), mvcc.RangeOptions{
		Limit: limit, Rev: r.Revision, CountOnly: r.CountOnly, WithTotalCount: count})
	if err != nil {
		return nil, translate(err)
	}
	resp := &pb.RangeResponse{
		Header: &pb.ResponseHeader{Revision: res.Rev}, Kvs: res.KVs, Count: int64(res.Count)}
	if r.Limit > 0 && int64(len(res.KVs)) > r.Limit {
		resp.Kvs, resp.More = res.KVs[:r.Limit], true
	}
	return resp, nil
}

// rangeEnd turns the protocol's "to the last key" into that of the store.
func rangeEnd(end []byte) []byte {
	if len(end) == 1 && end[0] == 0 {
		return []byte{}
	}
	return end
}

func (l local) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	size, cost, frees := weigh(r)
	if err := l.room.take(size, cost, frees); err != nil {
		return nil, err
	}
	defer l.room.give(cost)
	resp, err := l.server.Txn(ctx, r)
	l.commits.wrote()
	return resp, translate(err)
}

func (l local) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := l.room.take(0, costCompact, true); err != nil {
		return nil, err
	}
	defer l.room.give(costCompact)
	resp, err := l.server.Compact(ctx, r)
	l.commits.wrote()
	return resp, translate(err)
}

func (l local) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if err := l.room.take(0, costRequest, false); err != nil {
		return nil, err
	}
	defer l.room.give(costRequest)
	resp, err := l.server.LeaseGrant(ctx, r)
	l.commits.wrote()
	return resp, translate(err)
}

// translate gives the server's own errors the form in which clients know them. The server's gRPC layer does this
// for remote callers.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mvcc.ErrCompacted):
		return rpctypes.ErrGRPCCompacted
	case errors.Is(err, mvcc.ErrFutureRev):
		return rpctypes.ErrGRPCFutureRev
	case errors.Is(err, lease.ErrLeaseNotFound):
		return rpctypes.ErrGRPCLeaseNotFound
	case errors.Is(err, servererrors.ErrNoSpace):
		return rpctypes.ErrGRPCNoSpace
	case errors.Is(err, servererrors.ErrCanceled):
		return context.Canceled
	default:
		return err // the rest has the same text on both sides, by which it is known
	}
}
