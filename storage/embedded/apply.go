package embedded

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
)

// Applying changes to the store. A change and the index of its log entry go into the database in
// one transaction of the backend; a start replays the log from that index. An entry that changes
// nothing may be applied twice.

// applyBatch applies a batch that has just been written to the log, and then shows its changes to
// the cursors. The leader calls it.
func (m *member) applyBatch(batch []*request) {
	m.events = m.events[:0]
	defer func() { // also if an entry panics: readers see the entries before it
		m.feed.publish(m.events)
		clear(m.events)
	}()
	for _, r := range batch {
		m.applyEntries(m.applied.Load()+1, m.term, func() {
			if r.other != nil {
				r.compacted, r.err = m.applyRequest(r.other)
			} else {
				m.applyWrite(&r.write)
			}
		})
	}
}

// applyEntries applies one entry. etcd's own checks, if they are turned on, look for this name in
// the stack.
func (m *member) applyEntries(index, term uint64, apply func()) {
	m.index.SetConsistentApplyingIndex(index, term)
	apply()
	if m.index.ConsistentIndex() < index { // the entry changed nothing, so no transaction has stored the index
		m.index.SetConsistentIndex(index, term)
	}
	m.applied.Store(index)
}

// storeIndex stores the index of the entry being applied. The backend calls it when a transaction
// begins in which an entry is applied.
func (m *member) storeIndex() {
	if index, term := m.index.ConsistentApplyingIndex(); index > m.index.UnsafeConsistentIndex() {
		m.index.SetConsistentIndex(index, term)
	}
}

// applyWrite applies a write. It does the same as etcd does for the transaction that stands in the
// log.
func (m *member) applyWrite(w *write) {
	tx := m.kv.Write(traceutil.TODO())
	defer tx.End()
	if w.conditional() {
		if mod := modified(tx, w.key); mod != w.pre.Rev {
			w.lost(mod, tx.Rev())
			return
		}
	}
	if w.fence != nil {
		if mod := modified(tx, w.fence); mod != w.pre.Fence.Rev {
			w.kind, w.rev = storage.Fenced, mod
			return
		}
	}
	if w.deletes {
		if n, rev := tx.DeleteRange(w.key, nil); n == 0 {
			w.kind, w.rev = storage.NotFound, storage.Revision(rev)
			return
		}
	} else if w.lease != 0 && m.lessor.Lookup(lease.LeaseID(w.lease)) == nil {
		w.kind = storage.NoLease
		return
	} else {
		tx.Put(w.key, w.value, lease.LeaseID(w.lease))
	}
	w.rev = m.note(tx)
}

// modified returns the revision at which a key was written, 0 if there is no such key.
func modified(tx mvcc.TxnWrite, key []byte) storage.Revision {
	found, err := tx.Range(context.Background(), key, nil, mvcc.RangeOptions{FastKeysOnly: true})
	if err != nil || len(found.KVs) == 0 {
		return 0
	}
	return storage.Revision(found.KVs[0].ModRevision)
}

// lost sets the outcome of a write whose own key is not as demanded: it is at revision mod, 0 for
// absent, and the store at now.
func (w *write) lost(mod storage.Revision, now int64) {
	switch {
	case mod == 0:
		w.kind, w.rev = storage.NotFound, storage.Revision(now)
	case w.pre.Rev == 0:
		w.kind, w.rev = storage.Exists, mod
	default:
		w.kind, w.rev = storage.Conflict, mod
	}
}

// note keeps the changes of a transaction that is about to end for the cursors, and returns their
// revision.
func (m *member) note(tx mvcc.TxnWrite) storage.Revision {
	rev := tx.Rev() + 1
	for _, kv := range tx.Changes() {
		m.events = append(m.events, event(kv, rev, kv.ModRevision == 0))
	}
	return storage.Revision(rev)
}

// event returns a change of a key as cursors yield it. It shares the value's bytes.
func event(kv *mvccpb.KeyValue, rev int64, deleted bool) storage.Event {
	ev := storage.Event{Key: string(kv.Key), Rev: storage.Revision(rev), Deleted: deleted}
	if !deleted {
		ev.Value, ev.Created = kv.Value, kv.CreateRevision == rev
	}
	return ev
}

// noting is a transaction in which a lease ends. It notes the deletions.
type noting struct {
	mvcc.TxnWrite
	m *member
}

// End implements lease.TxnDelete.
func (n noting) End() {
	if len(n.Changes()) > 0 {
		n.m.note(n.TxnWrite)
	}
	n.TxnWrite.End()
}

// ending begins the transaction in which a lease ends. The lessor calls it.
func (m *member) ending() lease.TxnDelete { return noting{m.kv.Write(traceutil.TODO()), m} }
