package embedded

import (
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/coracle-project/coracle/storage"
)

const (
	// These bound one read of the past, because the database cannot be committed meanwhile.
	pastRevisions = 512
	pastBytes     = 1 << 20
)

// readPast reads the next changes after pos from the database, whose keys are revisions, and moves
// pos. It is for changes that the feed did not offer to the cursor.
func (c *cursor) readPast() ([]storage.Event, error) {
	s := c.store
	if err := s.enter("watch", c.req.Prefix); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	events, upto := s.changes(c.req.Prefix, int64(c.pos), int64(c.until))
	if first := s.first(); c.pos+1 < first { // a compaction may have deleted some while they were read
		return nil, c.compacted(first)
	}
	c.pos = storage.Revision(upto)
	return events, nil
}

// changes reads changes under prefix with after < revision <= end from the database, in order. It
// may stop early, at the end of a revision, and returns the revision up to which the result is
// complete. The caller holds life.
func (s *Store) changes(prefix string, after, end int64) (events []storage.Event, upto int64) {
	upto = min(end, after+pastRevisions)
	from := mvcc.RevToBytes(mvcc.Revision{Main: after + 1}, mvcc.NewRevBytes())
	to := mvcc.RevToBytes(mvcc.Revision{Main: upto + 1}, mvcc.NewRevBytes())
	tx := s.member.be.ReadTx()
	tx.RLock()
	defer tx.RUnlock() // the values lie in the mapped file until they are decoded
	keys, values := tx.UnsafeRange(schema.Key, from, to, 0)
	size, last := 0, after
	for i, key := range keys {
		rev := mvcc.BytesToRev(key).Main
		if size > pastBytes && rev > last { // the result never ends within a revision
			return events, last
		}
		last = rev
		kv := &mvccpb.KeyValue{}
		if err := proto.Unmarshal(values[i], kv); err != nil {
			panic("embedded: the database holds something else than changes: " + err.Error()) // as mvcc does
		}
		if !strings.HasPrefix(string(kv.Key), prefix) {
			continue
		}
		size += len(values[i])
		events = append(events, event(kv, rev, mvcc.IsTombstone(key)))
	}
	return events, upto
}
