package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coracle-project/coracle/storage"
)

// closedError is the error of every operation after Close.
func closedError(op, key string) error {
	return &storage.Error{Op: op, Key: key, Kind: storage.Closed}
}

// certain maps the answers of etcd after which nothing has been written to their kinds. "No space"
// is not one of them: etcd applies the write that exceeds the quota and then reports it as refused.
var certain = map[error]storage.Kind{
	rpctypes.ErrCompacted:        storage.Compacted,
	rpctypes.ErrFutureRev:        storage.Future,
	rpctypes.ErrRequestTooLarge:  storage.TooLarge,
	rpctypes.ErrLeaseNotFound:    storage.NoLease,
	rpctypes.ErrTooManyRequests:  storage.Unavailable,
	rpctypes.ErrCorrupt:          storage.Corrupt,
	rpctypes.ErrEmptyKey:         storage.NotFound,
	rpctypes.ErrPermissionDenied: storage.Unavailable,
	rpctypes.ErrInvalidAuthToken: storage.Unavailable,
	rpctypes.ErrAuthOldRevision:  storage.Unavailable,
	rpctypes.ErrNotCapable:       storage.Unavailable,
	rpctypes.ErrUserEmpty:        storage.Unavailable,
	rpctypes.ErrNoLeader:         storage.Unavailable, // refused before it is proposed
	rpctypes.ErrLeaseTTLTooLarge: storage.TooLarge,
	rpctypes.ErrDuplicateKey:     storage.Unavailable,
}

// kind returns the kind of an error that excludes that a write was applied, or 0 for every other
// error.
func kind(err error) storage.Kind {
	var known rpctypes.EtcdError
	if errors.As(rpctypes.Error(err), &known) {
		return certain[known]
	}
	if errors.Is(err, errAway) {
		return storage.Unavailable
	}
	// gRPC refuses a message above the limit of either side before etcd sees it.
	if s, ok := status.FromError(err); ok && s.Code() == codes.ResourceExhausted &&
		strings.Contains(s.Message(), "larger than max") {
		return storage.TooLarge
	}
	return 0
}

// canceled returns the error of ctx if err was caused by the end of ctx, else nil.
func canceled(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return nil
	}
	code := status.Code(err)
	if errors.Is(err, ctx.Err()) || code == codes.Canceled || code == codes.DeadlineExceeded {
		return ctx.Err()
	}
	return nil
}

// readError returns the error of a call that writes nothing, or nothing that matters, such as a
// lease. It is never InDoubt. With Future, Error.Rev is the store's revision.
func (c *core) readError(ctx context.Context, op, key string, err error) error {
	if c.closed.Load() {
		return closedError(op, key)
	}
	if cerr := canceled(ctx, err); cerr != nil {
		return cerr
	}
	k := kind(err)
	switch k {
	case 0:
		k = storage.Unavailable
	case storage.Future:
		rev, _ := c.current(ctx)
		return &storage.Error{Op: op, Key: key, Kind: k, Rev: rev, Err: err}
	}
	return &storage.Error{Op: op, Key: key, Kind: k, Err: err}
}

// writeError returns the error of a write: InDoubt unless kind excludes that the write was applied.
func (c *core) writeError(ctx context.Context, op, key string, err error) error {
	k := kind(err)
	if k == 0 {
		k = storage.InDoubt
		if cerr := canceled(ctx, err); cerr != nil {
			err = cerr
		}
	}
	return &storage.Error{Op: op, Key: key, Kind: k, Err: err}
}
