package embedded

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/types"
	etcdconfig "go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// A member that is alone needs no clock for its elections: it stands for the only one of its life when it is told to, before
// it has begun to apply its log (see lead), and wins it. So its raft gets no ticks, which would cost processor time for as
// long as the process lives.
//
// A member may not stand while it has to apply a change of membership, and its log begins with its own admission. So a new one
// begins with a snapshot that has that behind it (see seed), and one that has none (an earlier version did not make it), or
// turns out not to stand because another etcd has changed it, is first run until it has (see settle).

const (
	memberName = "coracle"
	// memberURL is the member's name in the cluster's records. Nothing listens there.
	memberURL = "http://localhost:2380"

	// startTimeout is far more than reading the log takes.
	startTimeout = 2 * time.Minute
	// electionPatience is more than an election takes, which is two entries of the log. It is not much more: a member that
	// does not stand is seldom, and run only once for that. Each time that it is found to be too short it is doubled.
	electionPatience = 3 * time.Second
)

var (
	errNoLead   = errors.New("the member does not become leader; does the data belong to a larger cluster?")
	errNotStood = errors.New("the member did not stand for election")
	errStopped  = errors.New("the server stopped while starting")
)

// setSegmentSize sets the size of the segments of all logs that the process writes from the first start of a member on. There
// is no other way: etcd's log asks for this variable whenever it begins or allocates a segment.
var setSegmentSize = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentBytes })

// start runs a member and waits until it leads and has applied its log.
func start(ctx context.Context, cfg Config, log *zap.Logger) (*etcdserver.EtcdServer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errNoLead)
	defer cancel()
	setSegmentSize()
	conf, err := serverConfig(cfg, log)
	if err != nil {
		return nil, err
	}
	if !wal.Exist(conf.WALDir()) {
		err = seed(conf)
	} else if len(snapshots(conf)) == 0 {
		err = settle(ctx, conf, electionPatience, 1)
	}
	for patience := electionPatience; err == nil; patience *= 2 {
		server, lerr := lead(ctx, conf, patience)
		if lerr != errNotStood {
			return server, lerr
		}
		err = settle(ctx, conf, patience, server.AppliedIndex())
	}
	return nil, err
}

// settle runs a member that does not lead until it has applied its log up to an index, and saves snapshots on the way. If
// that takes long, it ends before, and what it has saved counts.
func settle(ctx context.Context, conf etcdconfig.ServerConfig, patience time.Duration, index uint64) error {
	conf.SnapshotCount = 1 // one with each part of the log: a part is what is read at once
	server, err := newServer(ctx, conf)
	if err != nil {
		return err
	}
	server.ForceSnapshot() // also if the first part is a single entry
	server.Start()
	defer func() {
		server.HardStop() // which waits for what is being applied, and for the snapshot
		leaveSegment(conf.DataDir)
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-server.ApplyWait(index):
		return nil
	case <-late.C:
		return nil
	case <-server.StopNotify():
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lead runs a member and waits until it leads and has applied its log. It returns errNotStood if there was no election, and
// the member, which has ended and tells how far it came.
func lead(ctx context.Context, conf etcdconfig.ServerConfig, patience time.Duration) (*etcdserver.EtcdServer, error) {
	server, err := newServer(ctx, conf)
	if err != nil {
		return nil, err
	}
	// A leader hands over with this message. It must come before Start: raft looks for changes of membership in what it
	// believes to be not applied, and panics if the server has cut that off meanwhile, because it had applied it.
	id := uint64(server.MemberID())
	err = server.Process(ctx, &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), To: &id, From: &id})
	server.Start()
	late := time.NewTimer(patience)
	defer late.Stop()
	for err == nil {
		select {
		case <-server.ReadyNotify(): // what it has proposed has been applied, hence everything before it in the log
			return server, nil
		case <-late.C:
			if server.Leader() == 0 {
				err = errNotStood
			}
		case <-server.StopNotify():
			err = errStopped
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	server.HardStop()
	leaveSegment(conf.DataDir)
	return server, err
}

func newServer(ctx context.Context, conf etcdconfig.ServerConfig) (*etcdserver.EtcdServer, error) {
	if err := awaitUnlocked(ctx, conf.DataDir); err != nil {
		return nil, err
	}
	return etcdserver.NewServer(conf)
}

func serverConfig(cfg Config, log *zap.Logger) (etcdconfig.ServerConfig, error) {
	u, err := url.Parse(memberURL)
	if err != nil {
		return etcdconfig.ServerConfig{}, err
	}
	urls := types.URLs{*u}
	return etcdconfig.ServerConfig{
		Name:                memberName,
		DataDir:             cfg.Dir,
		PeerURLs:            urls,
		ClientURLs:          urls,
		InitialPeerURLsMap:  types.URLsMap{memberName: urls},
		InitialClusterToken: "coracle",
		NewCluster:          true,

		TickMs:           0, // none
		ElectionTicks:    2, // the least that is valid
		PreVote:          true,
		BootstrapTimeout: time.Second,

		// What is replayed at a restart is at most the log since the last snapshot. Entries in memory serve only
		// followers, and there are none.
		SnapshotCount:          snapshotCount,
		SnapshotCatchUpEntries: 1,
		MaxSnapFiles:           2,
		MaxWALFiles:            logKept,

		BackendBatchInterval:              commitRest,
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
	}, nil
}

// defragMegabytes returns how much of the database must be unused for it to be rewritten at the start; 0 is never. The
// server does not start if that fails, so there must be room for another.
func defragMegabytes(dir string) uint {
	if free, size := space(dir); free-reserve(size) < allocated(dbPath(dir)) {
		return 0
	}
	return 256
}
