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

// A member that is alone agrees with itself: what is in its log is decided. So a change is written to the log, with all others
// that wait at that moment, synced, and then applied to the store; only then can anybody see it.
//
// There is no goroutine for that. Who has a change puts it into the queue, and if nobody leads, leads: takes the queue, writes
// it to the log, applies it, and wakes the others whose changes were in it. What has been queued meanwhile is for the first of
// those who wait, so that nobody works for others for longer than one batch, and a writer who is alone waits for nobody.

// maxBatch is how many bytes are written to the log at once, if the first change alone is not larger.
const maxBatch = 2 << 20

var (
	// errBroken refuses changes after the log could not be written once. What of it is on the disk is not known then, so nothing
	// may be written behind it; reads go on.
	errBroken = errors.New("the log could not be written: nothing is accepted until the process is restarted")
	// errPanic is why nothing is accepted after a leader that did not get to the end: the store may lack what the log has.
	errPanic = errors.New("a change was not applied to its end")
)

// member is an etcd member without peers, over etcd's own storage.
type member struct {
	dir     string
	id      uint64
	log     *zap.Logger
	wal     *wal.WAL
	be      *database.Database
	trim    *trimmer                 // of be
	index   cindex.ConsistentIndexer // which of the log be has
	kv      mvcc.KV
	lessor  lease.Lessor
	cluster *membership.RaftCluster
	feed    *feed
	term    uint64

	applied atomic.Uint64 // index of the last entry that was applied
	logged  atomic.Int64  // bytes of the entries since the last snapshot
	wrote   chan struct{} // capacity 1: something has been written

	snapshots struct { // one at a time
		sync.Mutex
		last uint64 // index
	}

	logging sync.Mutex // held to write to the log

	mu struct {
		sync.Mutex
		queue  []*request // what nobody has taken yet; empty if nobody leads
		led    bool       // somebody leads, or has been told to
		broken bool
	}

	// Owned by the leader.

	message *message
	buf     []byte
	events  []storage.Event // of the batch
}

// request is a change, and what became of it.
type request struct {
	write
	other *pb.InternalRaftRequest // if not nil, instead of the write

	compacted <-chan struct{} // of a compaction: closed when it has been done
	err       error
	wake      chan bool // capacity 1: whether to lead, or the request has been done
}

var requests = sync.Pool{New: func() any { return &request{wake: make(chan bool, 1)} }}

func newRequest() *request { return requests.Get().(*request) }

// free makes a request available again, which has been done.
func (r *request) free() {
	*r = request{wake: r.wake}
	requests.Put(r)
}

// do has a request written and applied. Until that begins the end of ctx withdraws it, with the error of ctx.
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

// withdraw takes a request out of the queue, unless it has been taken or is to lead: then its end is near.
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

// lead does one batch, which begins with the leader's own request, and names the next leader.
func (m *member) lead(own *request) {
	batch, ended := m.take(), false
	defer func() {
		if !ended { // a panic, which goes on
			m.fail(errPanic)
			refuse(batch, &storage.Error{Kind: storage.InDoubt, Err: errPanic})
		}
		m.leave(batch, own)
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

// take takes the next batch from the queue.
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

// leave names the next leader, and wakes the others whose requests were in the batch.
func (m *member) leave(batch []*request, own *request) {
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

// fail ends all writing, for an error.
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

// append writes a batch behind the end of the log, and syncs it.
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

// writeLog has something written to the log, unless that has failed before. An error that is not errBroken leaves open what
// of it is on the disk.
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
