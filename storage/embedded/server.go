package embedded

import (
	"context"
	"errors"
	"expvar"
	"net/url"
	"time"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	etcdconfig "go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	servererrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

const (
	memberName = "coracle"
	// memberURL is the member's name in the cluster's records. Nothing listens there.
	memberURL = "http://localhost:2380"

	// Ticks serve elections, which start needs only once and brings about itself (see elect), and the ends of
	// leases. Each costs processor time for as long as the process lives.
	tickMilliseconds = 100
	electionTicks    = 2
)

// startTimeout is far more than reading the log takes.
const startTimeout = 2 * time.Minute

var errNoLead = errors.New("the member does not become leader; does the data belong to a larger cluster?")

func init() {
	wal.SegmentSizeBytes = segmentBytes
}

// start runs a member and waits until it leads and has applied its log.
func start(ctx context.Context, cfg Config, log *zap.Logger) (*etcdserver.EtcdServer, error) {
	u, err := url.Parse(memberURL)
	if err != nil {
		return nil, err
	}
	urls := types.URLs{*u}
	select { // see settled
	case starting <- struct{}{}:
		defer func() { <-starting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	server, err := etcdserver.NewServer(etcdconfig.ServerConfig{
		Name:                memberName,
		DataDir:             cfg.Dir,
		PeerURLs:            urls,
		ClientURLs:          urls,
		InitialPeerURLsMap:  types.URLsMap{memberName: urls},
		InitialClusterToken: "coracle",
		NewCluster:          true,

		TickMs:                     tickMilliseconds,
		ElectionTicks:              electionTicks,
		InitialElectionTickAdvance: true,
		PreVote:                    true,
		BootstrapTimeout:           time.Second,

		// What is replayed at a restart is at most the log since the last snapshot. Entries in memory serve only
		// followers, and there are none.
		SnapshotCount:          snapshotCount,
		SnapshotCatchUpEntries: 1,
		MaxSnapFiles:           2,
		MaxWALFiles:            logKept,

		BackendFreelistType:               bolt.FreelistMapType,
		QuotaBackendBytes:                 cfg.Quota + quotaMargin,
		BootstrapDefragThresholdMegabytes: defragMegabytes(cfg.Dir),
		MaxRequestBytes:                   uint(cfg.MaxRequest),
		MaxTxnOps:                         128,
		BcryptCost:                        10, // unused, but 0 is complained about
		MaxLearners:                       1,
		StrictReconfigCheck:               true,
		UnsafeNoFsync:                     cfg.NoSync,
		WarningApplyDuration:              time.Second,
		WarningUnaryRequestDuration:       time.Second,
		CompactHashCheckTime:              time.Hour,
		DowngradeCheckTime:                0,
		V2Deprecation:                     etcdconfig.V2DeprDefault,
		ServerFeatureGate:                 features.NewDefaultServerFeatureGate(memberName, log),
		Metrics:                           "basic",
		Logger:                            log,
	})
	if err != nil {
		return nil, err
	}
	server.Start()
	// Ready means that a proposal of this start has been applied, hence everything before it in the log.
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errNoLead)
	defer cancel()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-server.ReadyNotify():
			return server, nil
		case <-server.StopNotify():
			return nil, errors.New("the server stopped while starting")
		case <-ctx.Done():
			server.HardStop()
			return nil, context.Cause(ctx)
		case <-poll.C:
			if server.Leader() == 0 && settled(server) {
				elect(ctx, server)
			}
		}
	}
}

// defragMegabytes returns how much of the database must be unused for it to be rewritten at the start; 0 is never. The
// server does not start if that fails, so there must be room for another.
func defragMegabytes(dir string) uint {
	if free, size := space(dir); free-reserve(size) < allocated(dbPath(dir)) {
		return 0
	}
	return 256
}

// starting is held by the one member of the process that is being started, because settled reads the status of the
// member that was started last.
var starting = make(chan struct{}, 1)

// settled reports whether the member's raft knows that its log has been applied. Only then may it be told to stand for
// election: before, it would look for changes of membership in the log it has not applied, and panic if the server has
// cut that off meanwhile. The server's own AppliedIndex runs ahead of what its raft knows.
func settled(server *etcdserver.EtcdServer) bool {
	status, ok := expvar.Get("raft.status").(expvar.Func)
	if !ok {
		return false
	}
	s, ok := status.Value().(raft.Status)
	return ok && s.ID == uint64(server.MemberID()) && s.GetCommit() > 0 && s.Applied >= s.GetCommit()
}

// elect makes the member stand for election now instead of when its timeout has passed, by the message with which a
// leader hands over.
func elect(ctx context.Context, server *etcdserver.EtcdServer) {
	id := uint64(server.MemberID())
	// An error means that the server is stopping, which start sees.
	_ = server.Process(ctx, &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), To: &id, From: &id})
}

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
	return resp, translate(err)
}

func (l local) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := l.room.take(0, costCompact, true); err != nil {
		return nil, err
	}
	defer l.room.give(costCompact)
	resp, err := l.server.Compact(ctx, r)
	return resp, translate(err)
}

func (l local) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if err := l.room.take(0, costRequest, false); err != nil {
		return nil, err
	}
	defer l.room.give(costRequest)
	resp, err := l.server.LeaseGrant(ctx, r)
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
