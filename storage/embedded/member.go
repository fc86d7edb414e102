package embedded

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/database"
)

// The path of a change. The only member of a cluster needs no votes, so every entry in its log is
// committed (in the sense of raft). A change is written to the log together with all others that
// wait at that moment, the log is synced, and the changes are applied to the store. Readers see a
// change only after that.
//
// There is no goroutine for this work. A writer puts its request into the queue and becomes leader
// if there is none. The leader takes a batch from the queue, writes it to the log, applies it, and
// wakes the other writers of the batch. Then the first writer in the queue becomes leader. So a
// writer works for others for one batch at most, and a writer that is alone waits for nobody.
// write.go and lease.go call do.

// maxBatch bounds the bytes of a batch. A first request that is larger is a batch of its own.
const maxBatch = 2 << 20

var (
	// errBroken refuses changes after a write to the log has failed. It is unknown how much of that
	// write is on the disk, so nothing may be written behind it. Reads go on.
	errBroken = errors.New("the log could not be written: writes are refused until the process is restarted")
	// errPanic refuses changes after a leader has panicked, because the store may lack a change
	// that the log has.
	errPanic = errors.New("a change was not applied completely")
)

// member is an etcd member without peers, over etcd's own storage.
type member struct {
	dir     string
	id      uint64
	log     *zap.Logger
	wal     *wal.WAL
	be      *database.Database
	trim    *trimmer                 // of the mapping of be
	index   cindex.ConsistentIndexer // index of the last log entry that be has
	kv      mvcc.KV
	lessor  lease.Lessor
	cluster *membership.RaftCluster
	feed    *feed
	term    uint64 // raft's term of all entries of this run

	applied atomic.Uint64 // index of the last entry that was applied
	logged  atomic.Int64  // bytes of the entries since the last snapshot
	wrote   chan struct{} // capacity 1; a batch has been written

	snapshots struct { // held to save one
		sync.Mutex
		last uint64 // index of the last snapshot
	}

	logging sync.Mutex // held to write to the log

	mu struct {
		sync.Mutex
		queue  []*request // requests that no leader has taken; empty if there is no leader
		led    bool       // there is a leader, or one has been named
		broken bool       // errBroken refuses all changes
	}

	// Owned by the leader.

	message *message        // encodes one write after another
	buf     []byte          // encoded entries of the batch
	events  []storage.Event // changes of the batch, for the cursors
}

// request is a change on its way through the log, and its outcome.
type request struct {
	write
	other *pb.InternalRaftRequest // if not nil, instead of the write

	compacted <-chan struct{} // for a compaction: closed when the database has deleted the history
	err       error
	wake      chan bool // capacity 1; true: become leader, false: the request is done
}

var requests = sync.Pool{New: func() any { return &request{wake: make(chan bool, 1)} }}

func newRequest() *request { return requests.Get().(*request) }

// free makes a request that is done available to others.
func (r *request) free() {
	*r = request{wake: r.wake}
	requests.Put(r)
}

// do writes a request to the log and applies it. If ctx ends before a leader has taken the request,
// do withdraws it and returns the error of ctx.
func (m *member) do(ctx context.Context, r *request) error {
	m.mu.Lock()
	if m.mu.broken {
		m.mu.Unlock()
		return errBroken
	}
	m.mu.queue = append(m.mu.queue, r)
	leads := !m.mu.led
	m.mu.led = true
	m.mu.Unlock()
	if !leads {
		select {
		case leads = <-r.wake:
		case <-ctx.Done():
			if m.withdraw(r) {
				return ctx.Err()
			}
			leads = <-r.wake
		}
	}
	if leads {
		m.lead(r)
	}
	return r.err
}

// withdraw removes r from the queue. It does nothing if r has left the queue or leads the next
// batch: r then ends soon by itself.
func (m *member) withdraw(r *request) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.mu.queue, r)
	if i < 0 || len(r.wake) > 0 {
		return false
	}
	m.mu.queue = slices.Delete(m.mu.queue, i, i+1)
	return true
}

// lead writes and applies one batch, which begins with the leader's own request, and names the next
// leader.
func (m *member) lead(own *request) {
	batch, ended := m.take(), false
	defer func() {
		if !ended { // a panic, which continues after this
			m.fail(errPanic)
			refuse(batch, &storage.Error{Kind: storage.InDoubt, Err: errPanic})
		}
		m.handOver(batch, own)
	}()
	if err := m.append(batch); err == nil {
		m.applyBatch(batch)
	} else if err == errBroken {
		refuse(batch, err)
	} else {
		refuse(batch, &storage.Error{Kind: storage.InDoubt, Err: err})
	}
	ended = true
}

// take removes the next batch from the queue and returns it.
func (m *member) take() []*request {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, size := 0, 0
	for n < len(m.mu.queue) && (n == 0 || size+m.mu.queue[n].size() <= maxBatch) {
		size += m.mu.queue[n].size()
		n++
	}
	batch := slices.Clone(m.mu.queue[:n])
	m.mu.queue = slices.Delete(m.mu.queue, 0, n)
	return batch
}

// handOver names the next leader and wakes the writers of the batch. After a failure it refuses all
// requests in the queue.
func (m *member) handOver(batch []*request, own *request) {
	m.mu.Lock()
	if m.mu.broken {
		refuse(m.mu.queue, errBroken)
		batch = append(batch, m.mu.queue...)
		m.mu.queue = nil
	}
	if m.mu.led = len(m.mu.queue) > 0; m.mu.led {
		m.mu.queue[0].wake <- true
	}
	m.mu.Unlock()
	for _, r := range batch {
		if r != own {
			r.wake <- false
		}
	}
	signal(m.wrote)
}

func refuse(batch []*request, err error) {
	for _, r := range batch {
		r.err = err
	}
}

// fail refuses all later changes, because of err.
func (m *member) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.mu.broken {
		m.log.Error(errBroken.Error(), zap.Error(err))
	}
	m.mu.broken = true
}

func (m *member) isBroken() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.broken
}

// append writes a batch to the end of the log and syncs it.
func (m *member) append(batch []*request) error {
	last, buf := m.applied.Load(), m.buf[:0]
	entries := make([]*raftpb.Entry, 0, len(batch))
	for _, r := range batch {
		last++
		begin := len(buf)
		var err error
		if buf, err = m.message.append(buf, r, last); err != nil {
			return err
		}
		entries = append(entries, &raftpb.Entry{Term: &m.term, Index: new(last), Data: buf[begin:]})
	}
	m.logged.Add(int64(len(buf)))
	if m.buf = buf; cap(buf) > maxBatch {
		m.buf = nil
	}
	return m.writeLog(func() error {
		return m.wal.Save(&raftpb.HardState{Term: &m.term, Vote: &m.id, Commit: &last}, entries)
	})
}

// writeLog calls write, which writes to the log, unless an earlier write has failed. After an error
// other than errBroken it is unknown how much is on the disk.
func (m *member) writeLog(write func() error) error {
	m.logging.Lock()
	defer m.logging.Unlock()
	if m.isBroken() {
		return errBroken
	}
	err := write()
	if err != nil {
		m.fail(err)
	}
	return err
}
