package request

// Freshness says how fresh a read in process has to be. A lower value is at least as fresh as a
// higher one. Clients say the same by resourceVersion: "" is Consistent, "0" is Cached.
type Freshness uint8

const (
	// Consistent: the read sees every write of any server that ended before the read began. The
	// store is asked for its revision.
	Consistent Freshness = iota
	// ReadYourWrites: the read sees every write of this server that ended before the read began,
	// and writes of other servers that have arrived here. The store is not asked, unless the cache
	// has no such object: another server may have created it, so the read is Consistent then.
	ReadYourWrites
	// Cached: the read sees a state that the cache has had. The store is not asked once the
	// resource is loaded.
	Cached
)
