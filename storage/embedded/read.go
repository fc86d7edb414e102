package embedded

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
)

// Get implements storage.Store.
func (s *Store) Get(ctx context.Context, key string) (storage.Entry, error) {
	if err := s.enter("get", key); err != nil {
		return storage.Entry{}, err
	}
	defer s.life.RUnlock()
	r, err := s.one(ctx, []byte(key), mvcc.RangeOptions{})
	if err != nil {
		return storage.Entry{}, readError(ctx, "get", key, r, err)
	}
	s.member.feed.saw(storage.Revision(r.Rev))
	if len(r.KVs) == 0 {
		return storage.Entry{}, &storage.Error{Op: "get", Key: key, Kind: storage.NotFound,
			Rev: storage.Revision(r.Rev)}
	}
	return storage.Entry{Key: key, Value: r.KVs[0].Value, Rev: storage.Revision(r.KVs[0].ModRevision)}, nil
}

// one reads a single key. Its transaction shares the backend's buffer of uncommitted changes
// instead of copying it. The caller holds life.
func (s *Store) one(ctx context.Context, key []byte, o mvcc.RangeOptions) (*mvcc.RangeResult, error) {
	tx := s.member.kv.Read(mvcc.SharedBufReadTxMode, traceutil.TODO())
	defer tx.End()
	return tx.Range(ctx, key, nil, o)
}

// first returns the first revision that has not been compacted. The caller holds life.
func (s *Store) first() storage.Revision {
	tx := s.member.kv.Read(mvcc.SharedBufReadTxMode, traceutil.TODO())
	defer tx.End()
	return storage.Revision(max(0, tx.FirstRev())) // -1 if nothing was ever compacted
}

// Range implements storage.Store.
func (s *Store) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	if err := s.enter("range", req.Prefix); err != nil {
		return storage.RangeResult{}, err
	}
	defer s.life.RUnlock()
	start, end := req.Prefix, clientv3.GetPrefixRangeEnd(req.Prefix)
	if req.After >= req.Prefix {
		start = req.After + "\x00"
	}
	if end == "\x00" {
		end = "" // mvcc's notation for "to the last key"
	} else if start >= end {
		start = end // an empty range
	}
	o := mvcc.RangeOptions{Rev: int64(req.Rev), CountOnly: req.CountOnly, WithTotalCount: !req.NoCount}
	if req.Limit > 0 {
		o.Limit = int64(req.Limit) + 1 // one more tells whether there are more
	}
	r, err := s.member.kv.Range(ctx, []byte(start), []byte(end), o)
	if err != nil {
		return storage.RangeResult{}, readError(ctx, "range", req.Prefix, r, err)
	}
	s.member.feed.saw(storage.Revision(r.Rev))
	res := storage.RangeResult{Rev: req.Rev, Count: int64(r.Count)}
	if res.Rev == 0 {
		res.Rev = storage.Revision(r.Rev)
	}
	if res.More = req.Limit > 0 && len(r.KVs) > req.Limit; res.More {
		r.KVs = r.KVs[:req.Limit]
	}
	if len(r.KVs) > 0 {
		res.Entries = make([]storage.Entry, len(r.KVs))
	}
	for i, kv := range r.KVs {
		res.Entries[i] = storage.Entry{Key: string(kv.Key), Value: kv.Value, Rev: storage.Revision(kv.ModRevision)}
	}
	return res, nil
}

// readError returns an error of a read with its kind. r is the result that came with it, or nil.
func readError(ctx context.Context, op, key string, r *mvcc.RangeResult, err error) error {
	e := &storage.Error{Op: op, Key: key, Kind: storage.Unavailable, Err: err}
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ctx.Err()
	case errors.Is(err, mvcc.ErrCompacted):
		e.Kind = storage.Compacted
	case errors.Is(err, mvcc.ErrFutureRev):
		e.Kind, e.Rev = storage.Future, storage.Revision(r.Rev)
	}
	return e
}
