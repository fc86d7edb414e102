package addresses

import (
	"sync/atomic"
	"time"
)

// Peers is what this server knows of the others on its store: what the Leases say that they keep.
// The zero value knows of none. All methods may be called at once.
type Peers struct {
	foreign atomic.Bool
}

// addressHeadStart is how much earlier than a service its IPAddresses are stored, and later
// deleted, while a kube-apiserver lives. It follows both by watches of their own, and warns of each
// service that it sees without its IPAddress. On two busy cores 10 ms are too few, and 20 ms are
// enough.
const addressHeadStart = 200 * time.Millisecond

// Foreign reports whether a kube-apiserver lives on the store.
func (p *Peers) Foreign() bool { return p.foreign.Load() }

// HeadStart is how much earlier than a service its IPAddresses are to be stored at the moment.
func (p *Peers) HeadStart() time.Duration {
	if p.Foreign() {
		return addressHeadStart
	}
	return 0
}
