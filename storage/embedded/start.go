package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/database"
)

// The start of a member. It reads its log behind the last snapshot. All entries are committed (in
// the sense of raft), because there are no peers. The member writes an entry with the next term, as
// the winner of an election does, and syncs the log. Only then it applies the entries that the
// database lacks, so no entry that readers have seen can be lost. Open calls start.

// setSegmentSize sets the size of log segments for the whole process, because etcd's log reads this
// variable whenever it begins or allocates a segment.
var setSegmentSize = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentBytes })

// history is the contents of the log.
type history struct {
	id, cluster types.ID
	snapshot    *walpb.Snapshot
	state       *raftpb.HardState
	entries     []*raftpb.Entry // entries behind the snapshot
}

// start opens a member, and makes one first if there is none.
func start(ctx context.Context, cfg Config, log *zap.Logger) (_ *member, err error) {
	setSegmentSize()
	if !wal.Exist(walDir(cfg.Dir)) {
		if err := seed(cfg.Dir, log); err != nil {
			return nil, err
		}
	}
	leftovers := func(name string) bool { return strings.HasPrefix(name, "tmp") || strings.HasPrefix(name, "db.tmp") }
	if err := fileutil.RemoveMatchFile(log, snapDir(cfg.Dir), leftovers); err != nil {
		return nil, err
	}
	w, past, err := openLog(ctx, cfg.Dir, log)
	if err != nil {
		return nil, err
	}
	m := &member{dir: cfg.Dir, id: uint64(past.id), log: log, wal: w, feed: &feed{}, message: newMessage(),
		wrote: make(chan struct{}, 1)}
	m.snapshots.last = past.snapshot.GetIndex()
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if cfg.NoSync {
		w.SetUnsafeNoFsync()
	}
	if err := m.openDatabase(ctx, cfg, past); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m, m.replay(past)
}

// openLog opens the log and reads it behind the last snapshot. It repairs a log whose last entry is
// incomplete.
func openLog(ctx context.Context, dir string, log *zap.Logger) (*wal.WAL, *history, error) {
	snapshots, err := wal.ValidSnapshotEntries(log, walDir(dir))
	if err != nil {
		return nil, nil, err
	}
	past := &history{snapshot: &walpb.Snapshot{}}
	if len(snapshots) > 0 {
		past.snapshot = snapshots[len(snapshots)-1]
	}
	for repaired := false; ; {
		w, err := openUnlocked(ctx, func() (*wal.WAL, error) {
			return wal.Open(log, walDir(dir), &walpb.Snapshot{Index: past.snapshot.Index, Term: past.snapshot.Term})
		})
		if err != nil {
			return nil, nil, err
		}
		var metadata []byte
		if metadata, past.state, past.entries, err = w.ReadAll(); err == nil {
			var about pb.Metadata
			err = proto.Unmarshal(metadata, &about)
			past.id, past.cluster = types.ID(about.GetNodeID()), types.ID(about.GetClusterID())
		}
		if err == nil {
			return w, past, nil
		}
		err = errors.Join(err, w.Close())
		if repaired || !errors.Is(err, io.ErrUnexpectedEOF) || !wal.Repair(log, walDir(dir)) {
			return nil, nil, fmt.Errorf("the log cannot be read: %w", err)
		}
		repaired = true // the process was killed while it wrote the last entry
	}
}

// openDatabase opens the database, and the parts of etcd that work on it, on which replay then
// applies the rest of the log. It refuses a database that is too old for the log, that has another
// member than the log, that a newer etcd has written, or in which users or alarms are active.
// Before that it rewrites a database with many free pages; if that fails, the database is used as
// it is. After an error start closes what is open.
func (m *member) openDatabase(ctx context.Context, cfg Config, past *history) error {
	if err := shrinkAtStart(ctx, m.dir); err != nil {
		m.log.Warn("the database could not be rewritten", zap.Error(err))
	}
	c := backend.DefaultBackendConfig(m.log)
	c.Path, c.UnsafeNoFsync, c.BackendFreelistType = dbPath(m.dir), cfg.NoSync, bolt.FreelistMapType
	c.MmapSize = uint64(cfg.Quota + cfg.Quota/10) // the quota fits, so the mapping is never moved
	c.BatchInterval = backendRest
	m.index = cindex.NewConsistentIndex(nil)
	c.Hooks = backend.NewHooks(func(tx backend.UnsafeReadWriter) { m.index.UnsafeSave(tx) })
	m.trim = newTrimmer(c.Path)
	// The trimmer looks after each commit, because a compaction reads the whole history, and
	// commits after each of its many steps.
	m.be = database.Open(c, m.trim.look)
	m.trim.trim() // mapping the file has made all of it resident
	m.index.SetBackend(m.be)
	if have := m.index.ConsistentIndex(); have < past.snapshot.GetIndex() {
		return fmt.Errorf("the database is older than the log: it ends at %d, and the log begins behind %d",
			have, past.snapshot.GetIndex())
	}
	if err := schema.Validate(m.log, m.be.ReadTx()); err != nil {
		return err
	}
	m.cluster = membership.NewCluster(m.log)
	m.cluster.SetID(past.id, past.cluster)
	m.cluster.SetBackend(schema.NewMembershipBackend(m.log, m.be))
	m.cluster.UnsafeLoad()
	if err := m.checkAlone(); err != nil {
		return err
	}
	m.lessor = lease.NewLessor(m.log, m.be, m.cluster, lease.LessorConfig{})
	m.kv = mvcc.NewStore(m.log, m.be, m.lessor, mvcc.StoreConfig{})
	m.lessor.SetRangeDeleter(m.ending)
	return nil
}

// replay begins another term in the log, and applies the entries that the database lacks. It reads
// all of these entries first, so that an entry that cannot be applied here is refused before
// anything is changed. The new term is an empty entry of its own, which is applied last. There is
// no cursor yet, so the events of the entries are dropped: the feed begins at the revision after
// them. Then the times of the leases begin to run.
func (m *member) replay(past *history) error {
	have, last, term := m.index.ConsistentIndex(), past.snapshot.GetIndex(), past.snapshot.GetTerm()
	rest := make([]*replayed, 0, len(past.entries))
	for _, e := range past.entries {
		last, term = e.GetIndex(), e.GetTerm()
		m.logged.Add(int64(len(e.Data)))
		if last <= have {
			continue
		}
		r, err := m.read(e)
		if err != nil {
			return fmt.Errorf("entry %d of the log %w", last, err)
		}
		rest = append(rest, r)
	}
	if have > last {
		return fmt.Errorf("the log is older than the database: it ends at %d, and the database has %d", last, have)
	}
	last++
	m.term = max(term, past.state.GetTerm()) + 1
	err := m.wal.Save(&raftpb.HardState{Term: &m.term, Vote: &m.id, Commit: &last},
		[]*raftpb.Entry{{Term: &m.term, Index: &last}})
	if err != nil {
		return err
	}
	m.be.SetTxPostLockInsideApplyHook(m.storeIndex)
	for _, r := range rest {
		m.applyEntries(r.index, r.term, func() { m.applyAgain(r) })
	}
	m.applyEntries(last, m.term, func() {})
	m.events = nil
	m.lessor.Promote(0)
	m.be.ForceCommit()
	m.feed.begin(storage.Revision(m.kv.Rev()))
	return nil
}

// close closes the parts of the member that are open. The member must not be used afterwards.
func (m *member) close() error {
	if m.lessor != nil {
		m.lessor.Stop()
	}
	var err error
	if m.kv != nil {
		err = m.kv.Close()
	}
	err = errors.Join(err, m.wal.Close())
	if m.be != nil {
		err = errors.Join(err, m.be.Close())
	}
	return err
}
