package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coreos/go-semver/semver"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/txn"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// Replaying the log at a start (start.go). The log may have been written by an etcd, or by an
// earlier version of it. The entries of a member without peers, users and alarms are applied as
// etcd applies them. All other data is refused before anything has been changed.

var (
	// These errors say what an operator can do.
	errOthers = errors.New("the data is that of a cluster with other members: remove them with etcdctl, and stop etcd")
	errAuth   = errors.New("authentication is enabled in the data: start etcd on it, disable that with etcdctl," +
		" and stop etcd")
	errAlarm   = errors.New("an alarm is raised in the data: start etcd on it, disarm that with etcdctl, and stop etcd")
	errNewer   = errors.New("the data is that of a newer version of etcd")
	errUnknown = errors.New("is of a kind that is not known here: start etcd on the data, and stop it, so that " +
		"it applies its log")
)

// checkAlone returns an error if the database is not that of a member without peers, users and
// alarms.
func (m *member) checkAlone() error {
	for _, other := range m.cluster.Members() {
		if uint64(other.ID) != m.id || other.IsLearner {
			return errOthers
		}
	}
	if v := m.cluster.Version(); v != nil && newer(v) {
		return errNewer
	}
	users := schema.NewAuthBackend(m.log, m.be)
	users.CreateAuthBuckets()
	tx := users.ReadTx()
	tx.RLock()
	enabled := tx.UnsafeReadAuthEnabled()
	tx.RUnlock()
	if enabled {
		return errAuth
	}
	alarms := schema.NewAlarmBackend(m.log, m.be)
	alarms.CreateAlarmBucket()
	raised, err := alarms.GetAllAlarms()
	if err == nil && len(raised) > 0 {
		return errAlarm
	}
	return err
}

// newer reports whether a version of the cluster is later than that of the etcd that is built in.
func newer(v *semver.Version) bool {
	mine := semver.New(version.Version)
	return v.Major > mine.Major || v.Major == mine.Major && v.Minor > mine.Minor
}

// replayed is an entry of the log to be applied.
type replayed struct {
	index, term uint64
	request     *pb.InternalRaftRequest // nil if the entry changes the member, or is empty
	change      *raftpb.ConfChange
	member      *membership.ConfigChangeContext // of change
}

// read decodes an entry, and refuses one that cannot be applied here.
func (m *member) read(e *raftpb.Entry) (*replayed, error) {
	r := &replayed{index: e.GetIndex(), term: e.GetTerm()}
	switch {
	case e.GetType() == raftpb.EntryConfChange:
		r.change, r.member = &raftpb.ConfChange{}, &membership.ConfigChangeContext{}
		if err := proto.Unmarshal(e.Data, r.change); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
		adds := r.change.GetType() == raftpb.ConfChangeAddNode
		if r.change.GetNodeId() != m.id || !adds && r.change.GetType() != raftpb.ConfChangeUpdateNode {
			return nil, fmt.Errorf("changes the cluster: %w", errUnknown)
		}
		if err := json.Unmarshal(r.change.Context, r.member); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
	case e.GetType() != raftpb.EntryNormal:
		return nil, errUnknown
	case len(e.Data) > 0:
		r.request = &pb.InternalRaftRequest{}
		if err := proto.Unmarshal(e.Data, r.request); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
		return r, m.checkApplicable(r.request)
	}
	return r, nil
}

// checkApplicable returns an error for a request that applyRequest cannot apply.
func (m *member) checkApplicable(r *pb.InternalRaftRequest) error {
	switch {
	case r.Alarm != nil && r.Alarm.Action == pb.AlarmRequest_ACTIVATE:
		return fmt.Errorf("raises an alarm: %w", errUnknown)
	case r.ClusterVersionSet != nil:
		if v, err := semver.NewVersion(r.ClusterVersionSet.Ver); err != nil || newer(v) {
			return errors.Join(errNewer, err)
		}
	case r.ClusterMemberAttrSet != nil:
		if r.ClusterMemberAttrSet.Member_ID != m.id {
			return errOthers
		}
	case r.Put == nil && r.DeleteRange == nil && r.Txn == nil && r.Range == nil && r.Compaction == nil &&
		r.LeaseGrant == nil && r.LeaseRevoke == nil && r.LeaseCheckpoint == nil && r.Alarm == nil:
		return errUnknown
	}
	return nil
}

// applyAgain applies an entry at a start. If applying the entry fails, nothing is changed: the
// entry failed in the same way when it was applied first.
func (m *member) applyAgain(r *replayed) {
	switch {
	case r.change != nil:
		m.applyChange(r)
	case r.request != nil:
		if _, err := m.applyRequest(r.request); err != nil {
			m.log.Debug("an entry of the log changes nothing", zap.Uint64("index", r.index), zap.Error(err))
		}
	}
}

// applyChange applies a change of the member's own record.
func (m *member) applyChange(r *replayed) {
	if err := m.cluster.ValidateConfigurationChange(r.change, membership.ApplyBoth); err != nil {
		m.log.Debug("a change of the member was refused", zap.Uint64("index", r.index), zap.Error(err))
		return
	}
	if r.change.GetType() == raftpb.ConfChangeAddNode {
		m.cluster.AddMember(&r.member.Member, membership.ApplyBoth)
	} else {
		m.cluster.UpdateRaftAttributes(types.ID(m.id), r.member.RaftAttributes, membership.ApplyBoth)
	}
	tx := m.be.BatchTx()
	tx.LockInsideApply()
	defer tx.Unlock()
	schema.MustUnsafeSaveConfStateToBackend(m.log, tx, m.voters())
}

// applyRequest applies a request of an etcd. For a compaction it returns the channel that is closed
// when the history has been deleted.
func (m *member) applyRequest(r *pb.InternalRaftRequest) (compacted <-chan struct{}, err error) {
	ctx := context.Background()
	switch {
	case r.Put != nil:
		_, _, err = txn.Put(ctx, m.log, m.lessor, m.kv, r.Put)
	case r.DeleteRange != nil:
		_, _, err = txn.DeleteRange(ctx, m.log, m.kv, r.DeleteRange)
	case r.Txn != nil:
		_, _, err = txn.Txn(ctx, m.log, r.Txn, true, m.kv, m.lessor, true)
	case r.Compaction != nil:
		compacted, err = m.kv.Compact(traceutil.TODO(), r.Compaction.Revision)
	case r.LeaseGrant != nil:
		_, err = m.lessor.Grant(lease.LeaseID(r.LeaseGrant.ID), r.LeaseGrant.TTL)
	case r.LeaseRevoke != nil:
		err = m.lessor.Revoke(lease.LeaseID(r.LeaseRevoke.ID))
	case r.LeaseCheckpoint != nil:
		for _, c := range r.LeaseCheckpoint.Checkpoints {
			err = errors.Join(err, m.lessor.Checkpoint(lease.LeaseID(c.ID), c.Remaining_TTL))
		}
	case r.ClusterVersionSet != nil:
		v := semver.New(r.ClusterVersionSet.Ver)
		m.cluster.SetVersion(v, func(*zap.Logger, *semver.Version) {}, membership.ApplyBoth)
	case r.ClusterMemberAttrSet != nil:
		a := r.ClusterMemberAttrSet.MemberAttributes
		m.cluster.UpdateAttributes(types.ID(m.id), membership.Attributes{Name: a.GetName(),
			ClientURLs: a.GetClientUrls()},
			membership.ApplyBoth)
	}
	return compacted, err
}
