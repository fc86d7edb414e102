// Package storage keeps encoded objects and their recent history. It knows no types.
//
// A revision counts commits over the whole store, from 1. Every change has a revision of its own,
// with one exception: the keys that are deleted at the end of a lease may share a revision. A batch
// never ends within a revision.
//
// An engine is a Store over some medium, and a wrapper is a Store over another Store. A cursor is a
// position in the history.
//
// Laws, each a subtest of storagetest.Run:
//   - Revisions only grow; reading does not raise them. A write whose precondition fails changes
//     nothing.
//   - A write that carries a fence is stored only while the key of the fence is at the revision
//     that the fence names.
//   - A read at revision r sees exactly the commits up to r, or fails with Compacted.
//   - Get, Range and Revision without a revision see every write acknowledged before they began.
//   - A cursor yields every later change once, in order, or ends with Compacted.
//   - Whatever a cursor has yielded can be read: later calls of Get and Range answer at its
//     revision or a later one, and a write may use that revision as its precondition.
//   - An acknowledged write survives kill -9 and a restart (the memory engine apart).
//
// Bytes passed in or out are shared and read-only from then on. All methods may be called at once.
// A call whose context has ended fails with the context's error. A write that was under way at that
// moment is InDoubt, with that error as its cause. After Close everything fails with Closed.
//
// Not here: JSON, defaulting, validation (registry); who may write (filters). Written once for all
// engines: Leases (a time to live for keys), Compactor (periodic compaction), encryption/ (values
// encrypted at rest), cache/ (updates that are retried, and finding out whether a write in doubt
// was applied). Abilities of only some engines are in ability.go; As finds them behind wrappers.
//
// Read: store.go, errors.go, ability.go, memory/, then cache/.
package storage

import (
	"context"
	"time"
)

// Revision is a commit number of the store. The API shows it as resourceVersion.
type Revision uint64

// Entry is one key with its value and the revision that wrote it.
type Entry struct {
	Key   string
	Value []byte
	Rev   Revision
	// Stale is true if the stored form should be replaced, because it is encrypted with an old key,
	// for example: the next update writes the value even if it changes nothing.
	Stale bool
	// Err says why the value cannot be decrypted; Value is nil then. Only Range returns such
	// entries: Get fails instead.
	Err error
}

// LeaseID names a lease; 0 is none. Keys put with a lease are deleted when it ends.
type LeaseID int64

// Pre is a precondition on the current state of a key, and of another one. The zero Pre always
// holds. The key itself is checked first: if a write is Fenced, Absent and Rev have held.
type Pre struct {
	Absent bool     // the key must not exist
	Rev    Revision // if not 0: the key must exist and have been written at this revision
	Fence  Fence    // another key that must not have changed
}

// Fence demands of a write that another key of the same store still is as the writer has seen it.
// The zero Fence demands nothing. Whoever writes the other key cuts off all writes that carry its
// earlier revision: none of them is stored after that, however late it reaches the store. This
// holds for a Rev of 0 as long as nobody deletes the key: a deleted key does not exist, again.
type Fence struct {
	Key string   // "" means no fence
	Rev Revision // at which Key was written; 0 means that Key must not exist
}

// RangeRequest asks for the entries under Prefix, in key order.
type RangeRequest struct {
	Prefix string   // ends in "/"
	After  string   // only keys greater than this; "" means from the start
	Rev    Revision // state to read; 0 means the current one
	Limit  int      // at most so many entries; 0 means all
	// CountOnly leaves Entries empty and fills Count.
	CountOnly bool
	// NoCount says that the caller does not use Count. With a Limit, counting costs engines a walk
	// over all entries.
	NoCount bool
}

// RangeResult is one answer to a RangeRequest.
type RangeResult struct {
	Rev     Revision // the revision that was read
	Entries []Entry
	More    bool  // there are entries behind the last one
	Count   int64 // entries from After on, those beyond Limit included; undefined with NoCount
}

// Event is one change of one key.
type Event struct {
	Key   string
	Value []byte // nil if Deleted
	Rev   Revision
	// Deleted is true if the key was deleted or its lease ended.
	Deleted bool
	// Created is true if the key did not exist before.
	Created bool
	// Prev is the value before the change and PrevRev its revision; both are set only if
	// WatchRequest.Prev was set and the event is not Created.
	Prev    []byte
	PrevRev Revision
	Stale   bool  // of Value, as in Entry
	Err     error // of Value, as in Entry
}

// WatchRequest asks for all changes under Prefix after revision After.
type WatchRequest struct {
	Prefix string
	After  Revision // 0 means after the current revision
	Prev   bool     // fill Event.Prev
}

// Batch is what a cursor yields: changes in order, and the revision up to which nothing is missing.
// Another watch may begin after that revision. A batch without events is a progress report.
type Batch struct {
	Events []Event
	Rev    Revision
}

// Cursor is a position in the store's history. It is used by one goroutine at a time, except Close
// and Progress.
type Cursor interface {
	// Next blocks until there is a change, a progress report or the end of ctx, and returns all
	// changes so far, or many of them. Every later read sees them. After the end of ctx Next can be
	// called again. An engine that loses its connection resumes by itself, after the last batch
	// that it has yielded. Errors: Compacted (the position is no longer in the history), Closed, or
	// that of ctx.
	Next(ctx context.Context) (Batch, error)
	// Progress asks the store to report its revision, so that Next returns soon even without
	// changes. It does not block. The report may answer an earlier call: call Progress again if its
	// revision is not high enough.
	Progress()
	// Close releases the cursor and ends a blocked Next with Closed.
	Close()
}

// Store is the interface between Coracle and its engines. Functions and wrappers over a Store retry
// updates, compact and encrypt. They are written once for all engines.
type Store interface {
	// Get returns the current entry of key. Errors: NotFound (Error.Rev is the store's revision).
	Get(ctx context.Context, key string) (Entry, error)
	// Range lists entries under a prefix. Errors: Compacted, Future (a revision not reached yet).
	Range(ctx context.Context, req RangeRequest) (RangeResult, error)
	// Put writes value at key if pre holds and returns the entry with its new revision. Errors:
	// Exists (Error.Rev is the key's), NotFound (pre names a revision of a key that is gone),
	// Conflict (Error.Rev is the winner), Fenced (Error.Rev is the fence's), TooLarge, NoLease,
	// InDoubt (the write may have been applied: read before retrying).
	Put(ctx context.Context, key string, value []byte, pre Pre, lease LeaseID) (Entry, error)
	// Delete removes key if pre holds. The returned revision is the deletion's.
	// Errors: NotFound, Conflict, Fenced, InDoubt.
	Delete(ctx context.Context, key string, pre Pre) (Revision, error)
	// Watch returns a cursor. It may start goroutines of the engine's own; Cursor.Close waits for
	// them. ctx bounds only the call, not the cursor. Errors: Compacted, which may also come from
	// the first Next.
	Watch(ctx context.Context, req WatchRequest) (Cursor, error)
	// Compact drops the history before rev: reads at a revision below rev fail with Compacted, and
	// so do watches after a revision below rev-1; watches after rev-1 may fail. It is no error to
	// compact less than before. Errors: Future.
	Compact(ctx context.Context, rev Revision) error
	// Lease grants a lease that ends ttl from now (resolution: seconds). Keys are attached to it by
	// Put. If ctx ends, the error is that of ctx and never InDoubt: a lease that was granted
	// nevertheless ends by itself.
	Lease(ctx context.Context, ttl time.Duration) (LeaseID, error)
	// Revision returns the current revision. It is at least that of every write acknowledged before
	// the call, and of every answer and event before it.
	Revision(ctx context.Context) (Revision, error)
	// Close ends all cursors and releases the engine. Closing again does nothing.
	Close() error
}
