package addresses

import (
	"sync/atomic"
	"time"
)

// Peers is what this server knows about the other servers on its store, from their Leases.
// identityLease updates it; the zero value knows of no others. All methods may be called at once.
type Peers struct {
	foreign atomic.Bool
}

// addressHeadStart is the time between the write of an IPAddress and the write of its Service, and
// between their deletions, while a kube-apiserver lives. A kube-apiserver follows the two resources
// by separate watches, and warns about each Service that it sees without its IPAddress. (Measured
// on two busy cores: 10 ms are too few, 20 ms are enough.)
const addressHeadStart = 200 * time.Millisecond

// KubeAPIServerLives reports whether a kube-apiserver works on the store: it has renewed its Lease
// within foreignLife.
func (p *Peers) KubeAPIServerLives() bool { return p.foreign.Load() }

// HeadStart returns how much earlier than a Service its IPAddresses are to be stored at the moment:
// 0 unless a kube-apiserver works on the store.
func (p *Peers) HeadStart() time.Duration {
	if p.KubeAPIServerLives() {
		return addressHeadStart
	}
	return 0
}
