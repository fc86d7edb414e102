package embedded

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	etcdconfig "go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// seed writes what a member leaves behind that was admitted to a cluster of its own, and has saved a snapshot after that: the
// admission is the first entry of the log, and has been applied to the database. It is durable once a member that was started
// on it has written something (before that, birth throws it away).
func seed(conf etcdconfig.ServerConfig) error {
	log := conf.Logger
	cluster, err := membership.NewClusterFromURLsMap(log, conf.InitialClusterToken, conf.InitialPeerURLsMap)
	if err != nil {
		return err
	}
	member := cluster.MemberByName(conf.Name)
	id, first := uint64(member.ID), uint64(1) // first is the index of the admission, and its term
	voters := &raftpb.ConfState{Voters: []uint64{id}}
	if err := fileutil.CreateDirAll(log, conf.SnapDir()); err != nil {
		return err
	}

	db := backend.DefaultBackendConfig(log)
	db.Path, db.UnsafeNoFsync = conf.BackendPath(), true
	be := backend.New(db)
	defer be.Close()
	cluster.SetBackend(schema.NewMembershipBackend(log, be))
	cluster.AddMember(member, membership.ApplyBoth)
	tx := be.BatchTx()
	tx.LockOutsideApply()
	schema.UnsafeCreateMetaBucket(tx)
	schema.UnsafeUpdateConsistentIndex(tx, first, first)
	schema.MustUnsafeSaveConfStateToBackend(log, tx, voters)
	tx.Unlock()

	admission, err := admit(member)
	if err != nil {
		return err
	}
	metadata, err := proto.Marshal(&pb.Metadata{NodeID: &id, ClusterID: new(uint64(cluster.ID()))})
	if err != nil {
		return err
	}
	w, err := wal.Create(log, conf.WALDir(), metadata)
	if err != nil {
		return err
	}
	defer w.Close()
	w.SetUnsafeNoFsync()
	entry := &raftpb.Entry{Type: raftpb.EntryConfChange.Enum(), Term: &first, Index: &first, Data: admission}
	err = w.Save(&raftpb.HardState{Term: &first, Vote: &id, Commit: &first}, []*raftpb.Entry{entry})
	if err != nil {
		return err
	}
	err = snap.New(log, conf.SnapDir()).SaveSnap(&raftpb.Snapshot{
		Data:     etcdserver.GetMembershipInfoInV2Format(log, cluster),
		Metadata: &raftpb.SnapshotMetadata{ConfState: voters, Index: &first, Term: &first},
	})
	for _, file := range snapshots(conf) { // which leave their mode to the umask
		err = errors.Join(err, os.Chmod(file, 0o600))
	}
	if err != nil {
		return err
	}
	return w.SaveSnapshot(&walpb.Snapshot{Index: &first, Term: &first, ConfState: voters})
}

// admit returns the change of membership that admits a member.
func admit(member *membership.Member) ([]byte, error) {
	context, err := json.Marshal(member)
	if err != nil {
		return nil, err
	}
	id := uint64(member.ID)
	return proto.Marshal(&raftpb.ConfChange{Type: raftpb.ConfChangeAddNode.Enum(), NodeId: &id, Context: context})
}

// snapshots are the files of the snapshots that a member has saved.
func snapshots(conf etcdconfig.ServerConfig) []string {
	files, _ := filepath.Glob(filepath.Join(conf.SnapDir(), "*.snap")) // an error is one of the pattern
	return files
}
