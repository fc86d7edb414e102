package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v2store"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
)

// A snapshot says that the database has every entry of the log up to an index. A start reads the
// log only behind it, and the log before it is deleted. A snapshot is saved after snapshotCount
// entries or snapshotBytes bytes.
const (
	snapshotCount = 5000
	snapshotBytes = 8 * segmentBytes
)

// isLong reports whether a snapshot is due.
func (m *member) isLong() bool {
	m.snapshots.Lock()
	defer m.snapshots.Unlock()
	return m.applied.Load()-m.snapshots.last >= snapshotCount || m.logged.Load() >= snapshotBytes
}

// releaseLog saves a snapshot and deletes older snapshots and the log before it.
func (m *member) releaseLog() error {
	m.snapshots.Lock()
	defer m.snapshots.Unlock()
	index, logged := m.applied.Load(), m.logged.Load()
	if index == m.snapshots.last || m.isBroken() {
		return nil
	}
	m.be.ForceCommit() // the database then has the entry at index, or a later one
	if err := m.saveSnapshot(index); err != nil {
		return err
	}
	m.snapshots.last = index
	m.logged.Add(-logged)
	return m.purge(index)
}

// saveSnapshot makes a snapshot durable. The file is read only by older versions of etcd; the
// record in the log counts.
func (m *member) saveSnapshot(index uint64) error {
	members := v2store.New("/0", "/1") // the two trees that older versions expect: members, and keys
	m.cluster.Store(members)
	data, err := members.SaveNoCopy()
	if err != nil {
		return err
	}
	err = snap.New(m.log, snapDir(m.dir)).SaveSnap(&raftpb.Snapshot{
		Data:     data,
		Metadata: &raftpb.SnapshotMetadata{ConfState: m.voters(), Index: &index, Term: &m.term},
	})
	if err != nil {
		return err
	}
	if err := os.Chmod(snapshotPath(m.dir, m.term, index), 0o600); err != nil { // SaveSnap leaves the mode to the umask
		return err
	}
	if err := syncDir(snapDir(m.dir)); err != nil {
		return err
	}
	return m.writeLog(func() error {
		return m.wal.SaveSnapshot(&walpb.Snapshot{Index: &index, Term: &m.term, ConfState: m.voters()})
	})
}

// voters returns the configuration of the cluster: this member.
func (m *member) voters() *raftpb.ConfState { return &raftpb.ConfState{Voters: []uint64{m.id}} }

// purge deletes the snapshots other than that at index, and the segments of the log that end before
// it.
func (m *member) purge(index uint64) error {
	err := m.wal.ReleaseLockTo(index)
	snapshots, serr := fileutil.ReadDir(snapDir(m.dir), fileutil.WithExt(".snap"))
	for _, name := range snapshots {
		if path := filepath.Join(snapDir(m.dir), name); path != snapshotPath(m.dir, m.term, index) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	segments, werr := fileutil.ReadDir(walDir(m.dir), fileutil.WithExt(".wal")) // in order
	for i := 1; i < len(segments) && err == nil; i++ {
		var seq, first uint64
		if _, err = fmt.Sscanf(segments[i], "%016x-%016x.wal", &seq, &first); err == nil && first <= index {
			err = os.Remove(filepath.Join(walDir(m.dir), segments[i-1]))
		}
	}
	return errors.Join(err, serr, werr)
}

func snapDir(dir string) string { return filepath.Join(dir, "member", "snap") }

func snapshotPath(dir string, term, index uint64) string {
	return filepath.Join(snapDir(dir), fmt.Sprintf("%016x-%016x.snap", term, index))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return fileutil.Fsync(d)
}
