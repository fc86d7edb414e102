package cache

// Reason says why the store answered a read that is the cache's. Such reads are as right as others, and slower. What a write
// reads of the store, because its guess was stale, is none of them.
type Reason uint8

// The reasons.
const (
	Loading    Reason = iota // the objects are still being read from the store
	Behind                   // the watch had not brought what the store has, after Config.MaxWait
	Forgotten                // a past revision was asked for that is not remembered
	Unreadable               // the object could not be decoded when it came, and there is another decoder now
	reasons
)

// String returns the reason's name in lower case.
func (r Reason) String() string {
	return [reasons]string{"loading", "behind", "forgotten", "unreadable"}[r]
}

// fellBack counts a read that the store answers.
func (r *Resource) fellBack(why Reason) { r.storeReads[why].Add(1) }
