package admission

import (
	"context"
	"errors"
)

// This file has what a reserver takes outside the object, how it is settled, and fences. The
// registry calls Settle and ReserveAgain (registry/write.go).

// Fate is what became of a write.
type Fate uint8

const (
	// NotStored: the store does not have the try: it was refused, failed or was a dry run, another
	// writer was faster, or its fence had changed.
	NotStored Fate = iota
	// Stored: the write is stored. Of an action: it has done what the client asked for.
	Stored
	// InDoubt: the store has not said whether it stored the write. Whatever was taken for the write
	// stays taken until a repair loop finds that no object uses it.
	InDoubt
)

// String returns the fate in lower case, for messages.
func (f Fate) String() string { return [...]string{"not stored", "stored", "in doubt"}[f] }

// Settle is called exactly once, with the fate of the try for which something was taken. It cannot
// fail. Its ctx does not end with the request.
type Settle func(ctx context.Context, fate Fate)

// Reserver is a Plugin that takes something outside the object, such as a part of a quota. It is
// called after all validators of the chain have accepted the write: only another Reserver or the
// store can still refuse it.
type Reserver interface {
	Plugin
	// Reserve takes what a.Object needs, on an update what it needs beyond a.Old, and returns the
	// function that settles it. In a dry run (a.DryRun) it takes nothing that other requests could
	// see. If it returns an error, a *meta.StatusError, it has taken nothing. A nil Settle means
	// that there is nothing to settle.
	//
	// Reserve is called for each try of a write. The Settle of a try is called before the next try.
	// If the write must not be stored after a certain key of the store has changed, Reserve asks
	// for a fence (Attributes.Fence).
	Reserve(ctx context.Context, a *Attributes) (Settle, error)
}

// taken is a list of settle functions of the present try, the latest first.
type taken struct {
	settle Settle
	before *taken
}

// Take registers settle for the present try. Chain.Validate calls it for each reserver; code that
// runs the chain calls it for reservations of its own. It ignores nil.
func (a *Attributes) Take(settle Settle) {
	if settle != nil {
		a.taken = &taken{settle, a.taken}
	}
}

// Settle calls the settle functions of the present try, the latest first, each once, and forgets
// the fence. Code that runs the chain calls it when the fate of a try is known, and before the next
// try.
func (a *Attributes) Settle(ctx context.Context, fate Fate) { a.settle(ctx, fate, nil) }

// settle does what Settle does, but only for the functions that were registered after before.
func (a *Attributes) settle(ctx context.Context, fate Fate, before *taken) {
	a.fence = nil
	if a.taken == before {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for a.taken != before {
		t := a.taken
		a.taken = t.before // before the call, so that a function that panics is not called again
		t.settle(ctx, fate)
	}
}

// fence is a key of the store that must not change until the try is stored.
type fence struct {
	key      string
	revision uint64
	// reservers is the chain whose reserver asked for the fence, and before what had been taken
	// when its first reserver was called.
	reservers Chain
	before    *taken
}

// errTwoFences is the error of Fence for a second key.
var errTwoFences = errors.New("admission: two reservers want fences at different keys, and a write can carry only one")

// Fence sets a condition for the present try: the write is stored only if the key, in the store of
// the object, still has the revision. Revision 0 means that the key does not exist. A reserver
// calls Fence within Reserve. After the key has changed, this try can never be stored; the write
// has another try, in which the reservers look again.
//
// A try has one fence: Fence fails if the try has a fence at another key. If the try has a fence at
// another revision of the same key, the older revision counts, so that there is another try. Writes
// that store nothing (a dry run, an update that changes nothing), deletions and connects ignore the
// fence, and so do actions.
func (a *Attributes) Fence(key string, revision uint64) error {
	switch {
	case a.fence == nil:
		a.fence = &fence{key: key, revision: revision}
	case a.fence.key != key:
		return errTwoFences
	case a.fence.revision > revision:
		a.fence.revision = revision
	}
	return nil
}

// Fenced returns the fence of the present try. key is "" if there is none.
func (a *Attributes) Fenced() (key string, revision uint64) {
	if a.fence == nil {
		return "", 0
	}
	return a.fence.key, a.fence.revision
}

// ReserveAgain begins another try of a write that was not stored because of its fence, if nothing
// else has changed. It settles what the reservers took, as NotStored, and calls all reservers
// again, but no other plugin. What was taken by others stays taken for the new try. The error is
// that of a reserver; the caller must call Settle as after Chain.Validate.
func (a *Attributes) ReserveAgain(ctx context.Context) error {
	f := a.fence
	if f == nil {
		return nil
	}
	a.settle(ctx, NotStored, f.before)
	return f.reservers.reserve(ctx, a)
}
