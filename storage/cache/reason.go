package cache

// Reason says why the store, and not the cache, answered a read. Such a read is as correct as
// others, and slower. The reads of a write whose guess was stale are not counted.
type Reason uint8

// These are the values of Reason.
const (
	Loading    Reason = iota // the objects are still being read from the store
	Behind                   // the cache had not seen the revision of the store within Config.MaxWait
	Forgotten                // the cache does not hold the past revision that was asked for
	Unreadable               // the object could not be read when it came, and a decoder or key has been replaced since
	reasons                  // the number of reasons
)

// String returns the reason's name in lower case, as metrics and debug pages show it.
func (r Reason) String() string {
	return [reasons]string{"loading", "behind", "forgotten", "unreadable"}[r]
}

// fellBack counts a read that the store answers.
func (r *Resource) fellBack(why Reason) { r.storeReads[why].Add(1) }
