// Package etcd is the storage engine over an etcd cluster of any size, reached by gRPC.
//
// Words: core translates the operations of a Store into etcd's requests. The link is the connection
// to the cluster, and knows whether etcd can be reached. A beat is one second of the link's check
// for silent connections.
//
// Laws:
//   - A key of the store is a key of etcd, and a revision is etcd's. Every write is one transaction
//     that compares the modification revisions of the key and of the fence.
//   - Reads are linearizable.
//   - A write that failed is InDoubt unless etcd's answer excludes that it was applied. InDoubt
//     writes are never repeated here.
//   - Calls wait up to a second (patience) for a lost connection. After that, until etcd can be
//     reached again, calls and new cursors fail at once with Unavailable, and the request of such a
//     call has not been sent. Open cursors wait.
//   - A cursor buffers at most one batch. It drives the gRPC stream itself, because the watcher of
//     clientv3 queues without bound.
//   - Keys under a lease that ends are deleted by etcd in one transaction: their events share one
//     revision.
//
// All methods may be called at once. A Store owns two goroutines for its link, and two for each
// cursor; Close waits for them.
//
// Not here: starting etcd (storage/embedded), periodic compaction and sharing of leases (storage).
//
// Read: core.go, errors.go, etcd.go, link.go, watch.go, log.go.
package etcd

import (
	"context"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coracle-project/coracle/storage"
)

// core is the part of a storage.Store that consists of single requests: everything but Watch,
// Revision and Close.
type core struct {
	server remote
	page   int64 // entries per request, so that no answer is unbounded
	closed atomic.Bool
}

// shut makes all later calls fail with Closed. It reports whether it was the first to do so.
func (c *core) shut() bool { return c.closed.CompareAndSwap(false, true) }

// isClosed reports whether shut was called.
func (c *core) isClosed() bool { return c.closed.Load() }

// Get implements storage.Store.
func (c *core) Get(ctx context.Context, key string) (storage.Entry, error) {
	if c.closed.Load() {
		return storage.Entry{}, closedError("get", key)
	}
	resp, err := c.server.Range(ctx, &pb.RangeRequest{Key: []byte(key)})
	if err != nil {
		return storage.Entry{}, c.readError(ctx, "get", key, err)
	}
	if len(resp.Kvs) == 0 {
		rev := storage.Revision(resp.Header.Revision)
		return storage.Entry{}, &storage.Error{Op: "get", Key: key, Kind: storage.NotFound, Rev: rev}
	}
	return entry(resp.Kvs[0]), nil
}

// Range implements storage.Store. It reads page by page, all pages at the revision of the first.
func (c *core) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	if c.closed.Load() {
		return storage.RangeResult{}, closedError("range", req.Prefix)
	}
	start := req.Prefix
	if req.After >= req.Prefix {
		start = req.After + "\x00"
	}
	end := clientv3.GetPrefixRangeEnd(req.Prefix)
	if end != "\x00" && start >= end { // "\x00" means to the last key
		start = end // an empty range, whose answer has the revision
	}
	r := &pb.RangeRequest{Key: []byte(start), RangeEnd: []byte(end), Revision: int64(req.Rev), CountOnly: req.CountOnly}
	res := storage.RangeResult{Rev: req.Rev}
	for first := true; ; first = false {
		r.Limit = int64(req.Limit)
		if left := int64(req.Limit - len(res.Entries)); req.Limit > 0 {
			r.Limit = left
		}
		if !req.CountOnly && (r.Limit == 0 || r.Limit > c.page) {
			r.Limit = c.page
		}
		resp, err := c.server.Range(ctx, r)
		if err != nil {
			return storage.RangeResult{}, c.readError(ctx, "range", req.Prefix, err)
		}
		if first {
			res.Count = resp.Count
			if res.Rev == 0 {
				res.Rev = storage.Revision(resp.Header.Revision)
				r.Revision = resp.Header.Revision
			}
			if n := len(resp.Kvs); n > 0 {
				if !req.NoCount {
					n = int(min(resp.Count, int64(max(req.Limit, n))))
				}
				res.Entries = make([]storage.Entry, 0, n)
			}
		}
		for _, kv := range resp.Kvs {
			res.Entries = append(res.Entries, entry(kv))
		}
		full := req.Limit > 0 && len(res.Entries) >= req.Limit
		if req.CountOnly || full || !resp.More || len(resp.Kvs) == 0 {
			res.More = full && resp.More
			return res, nil
		}
		r.Key = append(resp.Kvs[len(resp.Kvs)-1].Key, 0)
	}
}

// Put implements storage.Store.
func (c *core) Put(
	ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID,
) (storage.Entry, error) {
	put := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{
		Key: []byte(key), Value: value, Lease: int64(lease)}}}
	resp, err := c.write(ctx, "put", key, pre, put)
	if err != nil {
		return storage.Entry{}, err
	}
	return storage.Entry{Key: key, Value: value, Rev: storage.Revision(resp.Header.Revision)}, nil
}

// Delete implements storage.Store.
func (c *core) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	del := &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{
		Key: []byte(key)}}}
	resp, err := c.write(ctx, "delete", key, pre, del)
	if err != nil {
		return 0, err
	}
	rev := storage.Revision(resp.Header.Revision)
	if resp.Responses[0].GetResponseDeleteRange().GetDeleted() == 0 {
		return 0, &storage.Error{Op: "delete", Key: key, Kind: storage.NotFound, Rev: rev}
	}
	return rev, nil
}

// write runs do if pre holds. If pre does not hold, the same transaction reads the revisions of the
// key and of the fence, for the error.
func (c *core) write(ctx context.Context, op, key string, pre storage.Pre, do *pb.RequestOp) (*pb.TxnResponse, error) {
	if c.closed.Load() {
		return nil, closedError(op, key)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	txn := &pb.TxnRequest{Success: []*pb.RequestOp{do}}
	conditional := pre.Absent || pre.Rev != 0
	if conditional {
		demand(txn, key, pre.Rev)
	}
	if pre.Fence.Key != "" {
		demand(txn, pre.Fence.Key, pre.Fence.Rev)
	}
	resp, err := c.server.Txn(ctx, txn)
	if err != nil {
		return nil, c.writeError(ctx, op, key, err)
	}
	if resp.Succeeded {
		return resp, nil
	}
	e := &storage.Error{Op: op, Key: key, Rev: found(resp.Responses[0])}
	switch {
	case !conditional:
		e.Kind = storage.Fenced
	case e.Rev == pre.Rev: // the key is as it must be, so the fence is not
		e.Kind, e.Rev = storage.Fenced, found(resp.Responses[1])
	case e.Rev == 0:
		e.Kind, e.Rev = storage.NotFound, storage.Revision(resp.Header.Revision)
	case pre.Rev == 0:
		e.Kind = storage.Exists
	default:
		e.Kind = storage.Conflict
	}
	return nil, e
}

// demand makes txn fail unless key is at rev, and read its revision if txn fails. An absent key is
// at revision 0.
func demand(txn *pb.TxnRequest, key string, rev storage.Revision) {
	txn.Compare = append(txn.Compare, &pb.Compare{
		Key: []byte(key), Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
		TargetUnion: &pb.Compare_ModRevision{ModRevision: int64(rev)},
	})
	txn.Failure = append(txn.Failure, &pb.RequestOp{Request: &pb.RequestOp_RequestRange{
		RequestRange: &pb.RangeRequest{Key: []byte(key), KeysOnly: true}}})
}

// found returns the revision of the key that demand has read.
func found(r *pb.ResponseOp) storage.Revision {
	kvs := r.GetResponseRange().GetKvs()
	if len(kvs) == 0 {
		return 0
	}
	return storage.Revision(kvs[0].ModRevision)
}

// Compact implements storage.Store. It is no error if the store has been compacted further before.
func (c *core) Compact(ctx context.Context, rev storage.Revision) error {
	if c.closed.Load() {
		return closedError("compact", "")
	}
	_, err := c.server.Compact(ctx, &pb.CompactionRequest{Revision: int64(rev)})
	if err == nil {
		return nil
	}
	if err = c.readError(ctx, "compact", "", err); storage.KindOf(err) == storage.Compacted {
		return nil
	}
	return err
}

// Lease implements storage.Store. A part of a second is rounded up. etcd may make the lease longer,
// never shorter.
func (c *core) Lease(ctx context.Context, ttl time.Duration) (storage.LeaseID, error) {
	if c.closed.Load() {
		return 0, closedError("lease", "")
	}
	seconds := max(1, int64((ttl+time.Second-1)/time.Second))
	resp, err := c.server.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: seconds})
	if err != nil { // if the lease was granted nevertheless, it ends by itself
		return 0, c.readError(ctx, "lease", "", err)
	}
	return storage.LeaseID(resp.ID), nil
}

// current asks the server for its revision, by a range that counts a key that does not exist.
func (c *core) current(ctx context.Context) (storage.Revision, error) {
	if c.closed.Load() {
		return 0, closedError("revision", "")
	}
	resp, err := c.server.Range(ctx, &pb.RangeRequest{Key: []byte{0}, CountOnly: true})
	if err != nil {
		return 0, c.readError(ctx, "revision", "", err)
	}
	return storage.Revision(resp.Header.Revision), nil
}

// entry returns a key of etcd as an Entry. It shares the bytes of the value.
func entry(kv *mvccpb.KeyValue) storage.Entry {
	return storage.Entry{Key: string(kv.Key), Value: kv.Value, Rev: storage.Revision(kv.ModRevision)}
}

// event returns an event of etcd as ours. It returns false if the previous value is wanted and
// missing, because the history before the event has been compacted.
func event(ev *mvccpb.Event, wantPrev bool) (storage.Event, bool) {
	e := storage.Event{
		Key:     string(ev.Kv.Key),
		Rev:     storage.Revision(ev.Kv.ModRevision),
		Deleted: ev.Type == mvccpb.Event_DELETE,
	}
	if !e.Deleted {
		e.Value = ev.Kv.Value
		e.Created = ev.Kv.CreateRevision == ev.Kv.ModRevision
	}
	if wantPrev && !e.Created {
		if ev.PrevKv == nil {
			return e, false
		}
		e.Prev, e.PrevRev = ev.PrevKv.Value, storage.Revision(ev.PrevKv.ModRevision)
	}
	return e, true
}
