package storage

import (
	"context"
	"strconv"
	"time"
)

// CompactKey is the key by which servers that share a store agree on compaction. Kubernetes uses
// the same key with the same kind of value: the compacted revision in decimal digits.
const CompactKey = "compact_rev_key"

// Compactor compacts old history at intervals.
//
// If several servers share a store, one of them compacts in each interval: before it compacts, a
// server writes CompactKey, with the revision at which it last saw this key as the precondition. A
// server that finds the key changed does nothing in this interval. Only history older than a whole
// interval is compacted, so clients can resume watches for at least that long, unless more than
// Revisions writes come in less time.
type Compactor struct {
	Store Store
	// Interval is the time between compactions, default 5 min.
	Interval time.Duration
	// Revisions is the length of history that causes a compaction before the interval is over; half
	// of it is kept. It bounds the store's size under heavy writing. Default 100 000; negative
	// means no bound.
	Revisions int64
	// Poll is the time between two checks of the length of the history, default 5 s.
	Poll time.Duration
	// Failed, if set, is called with each error other than the end of ctx. The next interval tries
	// again.
	Failed func(error)

	seen     Revision // revision of CompactKey when it was last read, 0 if absent; owned by Run
	oldest   Revision // revision to which the store was last compacted, by any server
	previous Revision // current revision at the last interval
	looked   bool     // CompactKey has been read, so seen is not just the zero value
}

// Run compacts until ctx ends. It is called once.
func (c *Compactor) Run(ctx context.Context) {
	if c.Interval <= 0 {
		c.Interval = 5 * time.Minute
	}
	if c.Revisions == 0 {
		c.Revisions = 100_000
	}
	if c.Poll <= 0 {
		c.Poll = 5 * time.Second
	}
	c.report(ctx, c.compactAtInterval(ctx))
	interval := time.NewTicker(c.Interval)
	defer interval.Stop()
	var poll <-chan time.Time
	if c.Revisions > 0 {
		t := time.NewTicker(c.Poll)
		defer t.Stop()
		poll = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-interval.C:
			c.report(ctx, c.compactAtInterval(ctx))
		case <-poll:
			c.report(ctx, c.compactIfLong(ctx))
		}
	}
}

// report passes an error to Failed, unless ctx has ended.
func (c *Compactor) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && c.Failed != nil {
		c.Failed(err)
	}
}

// compactAtInterval compacts to the revision that the store had an interval ago, unless another
// server has compacted since.
func (c *Compactor) compactAtInterval(ctx context.Context) error {
	now, err := c.Store.Revision(ctx)
	if err != nil {
		return err
	}
	mine, err := c.readKey(ctx)
	if err != nil {
		return err
	}
	target := c.previous
	// An idle store is left alone: the only write since the last compaction is the write of
	// CompactKey.
	onlyNote := target == c.seen && c.oldest+1 == c.seen
	if !mine || target <= c.oldest || onlyNote {
		c.previous = now
		return nil
	}
	wrote, err := c.compactTo(ctx, target)
	if wrote == now+1 {
		now = wrote
	}
	c.previous = now
	return err
}

// compactIfLong compacts if the history has grown longer than Revisions.
func (c *Compactor) compactIfLong(ctx context.Context) error {
	now, err := c.Store.Revision(ctx)
	if err != nil || int64(now)-int64(max(c.oldest, 1)) <= c.Revisions {
		return err
	}
	if _, err := c.readKey(ctx); err != nil { // another server may have compacted already
		return err
	}
	if int64(now)-int64(max(c.oldest, 1)) <= c.Revisions {
		return nil
	}
	target := now - Revision(c.Revisions/2)
	_, err = c.compactTo(ctx, target)
	c.previous = max(c.previous, target)
	return err
}

// readKey reads CompactKey and reports whether no server has changed it since the last readKey.
func (c *Compactor) readKey(ctx context.Context) (same bool, err error) {
	e, err := c.Store.Get(ctx, CompactKey)
	if err != nil && KindOf(err) != NotFound {
		return false, err
	}
	same = c.looked && e.Rev == c.seen
	c.looked, c.seen = true, e.Rev
	if n, err := strconv.ParseUint(string(e.Value), 10, 64); err == nil {
		c.oldest = max(c.oldest, Revision(n))
	}
	return same, nil
}

// compactTo compacts to rev unless another server has written CompactKey. It returns the revision
// of its own write of CompactKey, 0 if there was none.
func (c *Compactor) compactTo(ctx context.Context, rev Revision) (Revision, error) {
	e, err := c.Store.Put(ctx, CompactKey, strconv.AppendUint(nil, uint64(rev), 10),
		Pre{Rev: c.seen, Absent: c.seen == 0}, 0)
	switch KindOf(err) {
	case Conflict, Exists, NotFound:
		return 0, nil // another server compacts
	}
	if err != nil {
		return 0, err
	}
	c.seen, c.oldest = e.Rev, rev
	return e.Rev, c.Store.Compact(ctx, rev)
}
