package admission

import "context"

// Fate is what became of a write.
type Fate uint8

const (
	// NotStored: the store does not have the try: it was refused, failed or was a dry run, or
	// another writer was faster.
	NotStored Fate = iota
	// Stored: the write is stored. Of an action: it has done what the client asked for.
	Stored
	// InDoubt: nobody knows whether the write is stored. Things that were taken for it stay taken;
	// the repair loop of their owner frees them if no object uses them.
	InDoubt
)

// String returns the fate in lower case, for messages.
func (f Fate) String() string { return [...]string{"not stored", "stored", "in doubt"}[f] }

// Settle is called exactly once with the fate of the try that something was taken for. It cannot
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
	// Reserve is called for each try of an update. The Settle of a try is called before the next
	// try.
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

// Settle calls the settle functions of the present try, the latest first, each once. Code that runs
// the chain calls it when the fate of a try is known, and before the next try.
func (a *Attributes) Settle(ctx context.Context, fate Fate) {
	if a.taken == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for a.taken != nil {
		t := a.taken
		a.taken = t.before // before the call, so that a function that panics is not called again
		t.settle(ctx, fate)
	}
}
