package embedded

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"github.com/coracle-project/coracle/storage"
)

// A watcher of the server that begins in the past is served in steps of 1,000 changes every 100 ms, for each of which the
// server decodes all that has happened since, while writes wait. So a cursor reads the past itself, out of the database
// in which revisions are the keys, and only what comes then is the server's.
//
// The two parts meet like this: when the cursor has read up to the present it begins to watch, notes the revision after
// that, and reads up to there as well. What the server has sent of that it leaves out.

const (
	// Bounds of what is read at once: the database cannot be committed meanwhile.
	pastRevisions = 512
	pastBytes     = 1 << 20
)

// readPast returns the next changes of the past, and moves the position. After the last it sets live.
func (c *cursor) readPast() (storage.Batch, error) {
	events, upto, err := c.past()
	if err != nil {
		return storage.Batch{}, err
	}
	var b storage.Batch
	if err := c.add(&b, events); err != nil {
		return storage.Batch{}, err
	}
	c.live = upto == int64(c.pos)
	c.pos = storage.Revision(upto)
	if len(b.Events) > 0 {
		b.Rev = c.pos
		c.store.Saw(b.Rev)
	}
	return b, nil
}

// past reads changes behind the position, and the revision up to which there are no others: the position, if it begins
// to watch here and the server sends all that comes.
func (c *cursor) past() ([]*mvccpb.Event, int64, error) {
	s, pos := c.store, int64(c.pos)
	s.life.RLock()
	defer s.life.RUnlock()
	if s.IsClosed() {
		return nil, 0, closedError(c.req.Prefix)
	}
	end := c.until
	if end == 0 {
		end = s.kv.Rev()
	}
	if c.until == 0 && pos >= end {
		if err := c.watch(0); err != nil {
			return nil, 0, err
		}
		c.until = s.kv.Rev()
		end = c.until
	}
	if pos >= end {
		return nil, pos, nil
	}
	events, upto := s.changes(c.req.Prefix, pos, end)
	if first := s.kv.FirstRev(); pos+1 < first { // they may have been taken away while we read
		return nil, 0, c.compacted(first)
	}
	return events, upto, nil
}

// watch has the server send what comes after a revision, or from now on if start is 0. A start in the past is slow.
func (c *cursor) watch(start int64) error {
	end := rangeEnd([]byte(clientv3.GetPrefixRangeEnd(c.req.Prefix)))
	id, err := c.ws.Watch(context.Background(), clientv3.AutoWatchID, []byte(c.req.Prefix), end, start)
	if err == nil {
		c.id = id
		return nil
	}
	select {
	case <-c.closing:
		return closedError(c.req.Prefix)
	default:
		return &storage.Error{Op: "watch", Key: c.req.Prefix, Kind: storage.Unavailable, Err: err}
	}
}

// changes reads the changes under prefix after one revision and up to another out of the database, many of them, and
// returns the revision up to which they are complete. The caller holds life.
func (s *Store) changes(prefix string, after, end int64) (events []*mvccpb.Event, upto int64) {
	upto = min(end, after+pastRevisions)
	from := mvcc.RevToBytes(mvcc.Revision{Main: after + 1}, mvcc.NewRevBytes())
	to := mvcc.RevToBytes(mvcc.Revision{Main: upto + 1}, mvcc.NewRevBytes())
	tx := s.server.Backend().ReadTx()
	tx.RLock()
	defer tx.RUnlock() // the values lie in the mapped file until they are decoded
	keys, values := tx.UnsafeRange(schema.Key, from, to, 0)
	size, last := 0, after
	for i, key := range keys {
		rev := mvcc.BytesToRev(key).Main
		if size > pastBytes && rev > last { // a revision is not taken apart
			return events, last
		}
		last = rev
		kv := &mvccpb.KeyValue{}
		if err := proto.Unmarshal(values[i], kv); err != nil {
			panic("embedded: the database holds something else than changes: " + err.Error()) // as the server does
		}
		if !strings.HasPrefix(string(kv.Key), prefix) {
			continue
		}
		size += len(values[i])
		ev := &mvccpb.Event{Type: mvccpb.Event_PUT, Kv: kv}
		if mvcc.IsTombstone(key) {
			ev.Type, kv.ModRevision = mvccpb.Event_DELETE, rev
		}
		events = append(events, ev)
	}
	return events, upto
}
