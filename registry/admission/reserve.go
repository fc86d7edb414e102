package admission

import "context"

// Fate is what became of a write.
type Fate uint8

const (
	// NotStored: the write was refused, failed, was overtaken, or was a dry run, or somebody else
	// did it first.
	NotStored Fate = iota
	// Stored: what was asked for is stored. An action has done what was asked for.
	Stored
	// InDoubt: nobody knows whether the write is stored. What was taken stays taken. The repair of
	// its owner decides later.
	InDoubt
)

// String is for messages.
func (f Fate) String() string { return [...]string{"not stored", "stored", "in doubt"}[f] }

// Settle is told what became of the write that something was taken for. It cannot fail. Its ctx
// outlives that of the request.
type Settle func(ctx context.Context, fate Fate)

// Reserver is a Plugin that takes something outside of the object that is written, such as a part
// of a quota. It is called when no validator of the chain has refused the write. Only another
// Reserver and the store can still refuse it.
type Reserver interface {
	Plugin
	// Reserve takes what a.Object needs, or what it needs more than a.Old, and says how that is
	// settled. In a dry run (a.DryRun) it takes nothing that others could see. With an error, a
	// *meta.StatusError, it has taken nothing. A nil Settle means that nothing is to be settled.
	//
	// An update calls Reserve for each of its tries. The settle of a try is called before the next
	// try, exactly once.
	Reserve(ctx context.Context, a *Attributes) (Settle, error)
}

// taken is what was taken for the present try of a write, in a list whose last part was taken
// first.
type taken struct {
	settle Settle
	before *taken
}

// Take has settle told what becomes of the present try, like the settles of the chain's reservers.
// It is for those who run the chain. With nil it does nothing.
func (a *Attributes) Take(settle Settle) {
	if settle != nil {
		a.taken = &taken{settle, a.taken}
	}
}

// Settle tells all who have taken something for the present try what became of it: each once, and
// who took last first. Whoever runs the chain calls it when the fate is known, and before the next
// try. When nothing is taken, it does nothing.
func (a *Attributes) Settle(ctx context.Context, fate Fate) {
	if a.taken == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for a.taken != nil {
		t := a.taken
		a.taken = t.before // first: whoever panics is not called again
		t.settle(ctx, fate)
	}
}
