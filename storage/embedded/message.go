package embedded

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/coracle-project/coracle/storage"
)

// write puts or deletes one key if a precondition holds, and holds the outcome.
type write struct {
	key     []byte
	value   []byte
	pre     storage.Pre
	fence   []byte // pre.Fence.Key
	lease   storage.LeaseID
	deletes bool

	rev  storage.Revision // of the change; or Error.Rev if kind is not 0
	kind storage.Kind     // of the error; 0 if the write was applied
}

// entryOverhead is more than the bytes of a log entry besides key and value.
const entryOverhead = 128

func (r *request) size() int { return len(r.key) + len(r.value) + len(r.fence) + entryOverhead }

// message encodes a write as it stands in the log: a transaction, as an etcd client would have sent
// it. It consists of many small parts, so one message is filled again for each write.
type message struct {
	request pb.InternalRaftRequest
	compare []*pb.Compare // refilled; of two at most
	mods    [2]pb.Compare_ModRevision
	put     pb.PutRequest
	del     pb.DeleteRangeRequest
	puts    []*pb.RequestOp
	dels    []*pb.RequestOp
}

func newMessage() *message {
	m := &message{}
	m.request.Header, m.request.Txn = &pb.RequestHeader{}, &pb.TxnRequest{}
	for i := range m.mods {
		m.compare = append(m.compare, &pb.Compare{
			Target: pb.Compare_MOD, Result: pb.Compare_EQUAL, TargetUnion: &m.mods[i]})
	}
	m.puts = []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &m.put}}}
	m.dels = []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &m.del}}}
	return m
}

// append appends the encoded entry of a request to buf. The entry's index is also the request's ID,
// by which an etcd would find the client to answer; there is none.
func (m *message) append(buf []byte, r *request, index uint64) ([]byte, error) {
	if r.other != nil {
		r.other.Header = &pb.RequestHeader{ID: index}
		return proto.MarshalOptions{}.MarshalAppend(buf, r.other)
	}
	m.request.Header.ID = index
	txn := m.request.Txn
	txn.Compare = nil
	if r.conditional() {
		m.demand(r.key, r.pre.Rev)
	}
	if r.fence != nil {
		m.demand(r.fence, r.pre.Fence.Rev)
	}
	if r.deletes {
		txn.Success, m.del.Key = m.dels, r.key
	} else {
		txn.Success, m.put.Key, m.put.Value, m.put.Lease = m.puts, r.key, r.value, int64(r.lease)
	}
	return proto.MarshalOptions{}.MarshalAppend(buf, &m.request)
}

// demand adds a comparison to the transaction: key must be at rev. An absent key is at modification
// revision 0.
func (m *message) demand(key []byte, rev storage.Revision) {
	txn := m.request.Txn
	n := len(txn.Compare)
	txn.Compare = m.compare[:n+1]
	txn.Compare[n].Key, m.mods[n].ModRevision = key, int64(rev)
}

// conditional reports whether the write has a precondition on its own key.
func (w *write) conditional() bool { return w.pre.Absent || w.pre.Rev != 0 }
