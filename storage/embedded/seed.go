package embedded

import (
	"encoding/json"

	"github.com/coreos/go-semver/semver"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

const (
	memberName  = "coracle"
	clusterName = "coracle"
	// memberURL is the member's address in the cluster's records. Nothing listens there.
	memberURL = "http://localhost:2380"
)

// seed writes the data of a new member: it was admitted to a cluster of its own, has recorded its
// name and the version of the cluster, and has saved a snapshot. The admission is the first entry
// of the log. The data is durable once a started member has written something; a crash before that
// is cleaned up by prepareFirst.
func seed(dir string, log *zap.Logger) error {
	urls, err := types.NewURLs([]string{memberURL})
	if err != nil {
		return err
	}
	cluster, err := membership.NewClusterFromURLsMap(log, clusterName, types.URLsMap{memberName: urls})
	if err != nil {
		return err
	}
	self := cluster.MemberByName(memberName)
	self.ClientURLs = self.PeerURLs
	id, first := uint64(self.ID), uint64(1) // first is the index of the admission, and its term
	if err := fileutil.CreateDirAll(log, snapDir(dir)); err != nil {
		return err
	}

	db := backend.DefaultBackendConfig(log)
	db.Path, db.UnsafeNoFsync = dbPath(dir), true
	be := backend.New(db)
	defer be.Close()
	v := semver.New(version.Version)
	v.Patch, v.PreRelease = 0, ""
	cluster.SetBackend(schema.NewMembershipBackend(log, be))
	cluster.AddMember(self, membership.ApplyBoth)
	cluster.SetVersion(v, func(*zap.Logger, *semver.Version) {}, membership.ApplyBoth)
	m := &member{dir: dir, id: id, log: log, cluster: cluster, term: first}
	tx := be.BatchTx()
	tx.LockOutsideApply()
	schema.UnsafeCreateMetaBucket(tx)
	schema.UnsafeUpdateConsistentIndex(tx, first, first)
	schema.MustUnsafeSaveConfStateToBackend(log, tx, m.voters())
	schema.UnsafeSetStorageVersion(tx, v)
	tx.Unlock()

	admission, err := admit(self)
	if err != nil {
		return err
	}
	metadata, err := proto.Marshal(&pb.Metadata{NodeID: &id, ClusterID: new(uint64(cluster.ID()))})
	if err != nil {
		return err
	}
	if m.wal, err = wal.Create(log, walDir(dir), metadata); err != nil {
		return err
	}
	defer m.wal.Close()
	m.wal.SetUnsafeNoFsync()
	entry := &raftpb.Entry{Type: raftpb.EntryConfChange.Enum(), Term: &first, Index: &first, Data: admission}
	if err := m.wal.Save(&raftpb.HardState{Term: &first, Vote: &id, Commit: &first},
		[]*raftpb.Entry{entry}); err != nil {
		return err
	}
	if err := m.saveSnapshot(first); err != nil {
		return err
	}
	return syncDir(walDir(dir))
}

// admit returns the change of membership that admits a member, encoded for the log.
func admit(member *membership.Member) ([]byte, error) {
	context, err := json.Marshal(member)
	if err != nil {
		return nil, err
	}
	id := uint64(member.ID)
	return proto.Marshal(&raftpb.ConfChange{Type: raftpb.ConfChangeAddNode.Enum(), NodeId: &id, Context: context})
}
