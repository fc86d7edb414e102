package embedded

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
)

// errTooLarge refuses a request that is larger than Config.MaxRequest.
var errTooLarge = errors.New("the request is too large")

// Put implements storage.Store.
func (s *Store) Put(
	ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID,
) (storage.Entry, error) {
	rev, err := s.write(ctx, "put", key, write{value: value, pre: pre, lease: lease})
	if err != nil {
		return storage.Entry{}, err
	}
	return storage.Entry{Key: key, Value: value, Rev: rev}, nil
}

// Delete implements storage.Store.
func (s *Store) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	return s.write(ctx, "delete", key, write{pre: pre, deletes: true})
}

// write puts or deletes a key through the log, and returns the revision of the change.
func (s *Store) write(ctx context.Context, op, key string, w write) (storage.Revision, error) {
	size := int64(len(key) + len(w.value))
	cost, frees := costRequest+costFactor*(size+int64(len(w.pre.Fence.Key))), w.deletes || key == storage.CompactKey
	if w.deletes {
		size = 0
	}
	r := newRequest()
	defer r.free()
	r.write = w
	r.key = []byte(key)
	if w.pre.Fence.Key != "" {
		r.fence = []byte(w.pre.Fence.Key)
	}
	if err := s.do(ctx, op, key, r, size, cost, frees); err != nil {
		return 0, err
	}
	if r.kind != 0 {
		return 0, &storage.Error{Op: op, Key: key, Kind: r.kind, Rev: r.rev}
	}
	return r.rev, nil
}

// do runs a request if there is room for it. size is what it adds to the database, and cost what it
// may take of the disk. frees says that it makes room.
func (s *Store) do(ctx context.Context, op, key string, r *request, size, cost int64, frees bool) error {
	if s.closed.Load() {
		return closedError(op, key)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if size > s.maxRequest {
		return &storage.Error{Op: op, Key: key, Kind: storage.TooLarge, Err: errTooLarge}
	}
	err := s.room.take(size, cost, frees)
	if err == nil {
		defer s.room.give(cost)
		if err := s.enter(op, key); err != nil { // after take, which may lock life itself to look at the store
			return err
		}
		defer s.life.RUnlock()
		err = s.member.do(ctx, r)
	}
	return doError(op, key, err)
}

// doError returns an error of a change with its kind.
func doError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	var doubt *storage.Error
	e := &storage.Error{Op: op, Key: key, Kind: storage.Unavailable, Err: err}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &doubt):
		e.Kind, e.Err = doubt.Kind, doubt.Err
	case errors.Is(err, mvcc.ErrFutureRev):
		e.Kind = storage.Future
	case errors.Is(err, mvcc.ErrCompacted):
		e.Kind = storage.Compacted
	case errors.Is(err, lease.ErrLeaseTTLTooLarge):
		e.Kind = storage.TooLarge
	}
	return e
}

// Compact implements storage.Store. It is no error if the store has been compacted further before.
func (s *Store) Compact(ctx context.Context, rev storage.Revision) error {
	_, err := s.compact(ctx, rev)
	return err
}

// compact compacts the history before rev. It returns a channel that is closed when the history has
// left the database.
func (s *Store) compact(ctx context.Context, rev storage.Revision) (<-chan struct{}, error) {
	r := newRequest()
	defer r.free()
	r.other = &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: int64(rev)}}
	err := s.do(ctx, "compact", "", r, 0, costCompact, true)
	var e *storage.Error
	if errors.As(err, &e) && e.Kind == storage.Future {
		e.Rev, _ = s.Revision(ctx)
	}
	if storage.KindOf(err) == storage.Compacted {
		err = nil
	}
	return r.compacted, err
}

// Lease implements storage.Store. A part of a second is rounded up. The ID is random, and another
// one is drawn if it exists.
func (s *Store) Lease(ctx context.Context, ttl time.Duration) (storage.LeaseID, error) {
	seconds := max(1, int64((ttl+time.Second-1)/time.Second))
	for {
		id := 1 + rand.Int64N(math.MaxInt64)
		r := newRequest()
		r.other = &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: id, TTL: seconds}}
		err := s.do(ctx, "lease", "", r, 0, costRequest, false)
		r.free()
		if err == nil {
			return storage.LeaseID(id), nil
		}
		if !errors.Is(err, lease.ErrLeaseExists) {
			return 0, err
		}
	}
}
