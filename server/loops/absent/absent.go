// Package absent remembers since when nodes have been missing.
//
// Words: a node is missing if somebody names it and it does not exist. Its quarantine is the time
// for which it may be missing before the pods on it are deleted.
//
// Laws: the quarantine of a node begins with the first question about it, and ends when the node
// appears. A node that has been missing for an hour is forgotten when others are asked about, so the
// memory does not grow forever. Questions about n nodes cost time in proportion to n.
//
// All methods may be called at once. The loop PodGC (server/loops/pods) asks; it also reads the node
// before it deletes a pod.
package absent

import (
	"maps"
	"sync"
	"time"
)

const (
	// Quarantine is how long a missing node may take to appear. A pod may arrive before its node
	// does, and a kubelet may register its node again.
	Quarantine = 40 * time.Second
	// forget is how long a missing node is remembered.
	forget = time.Hour
)

// Nodes remembers missing nodes. The zero Nodes is ready.
type Nodes struct {
	mu     sync.Mutex
	since  map[string]time.Time // by node: when it was first asked about
	tidied time.Time            // when old entries were last removed from since
}

// Left returns how much of Quarantine is left for a missing node. The quarantine begins with the
// first call for the node. If this server has just started, the node may have been missing for
// longer.
func (n *Nodes) Left(node string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	since, known := n.since[node]
	if !known {
		since = time.Now()
		if n.since == nil {
			n.since = map[string]time.Time{}
		}
		if since.Sub(n.tidied) > Quarantine { // not at each new name: the time would grow with the square of names
			n.tidied = since
			maps.DeleteFunc(n.since, func(_ string, at time.Time) bool { return since.Sub(at) > forget })
		}
		n.since[node] = since
	}
	return Quarantine - time.Since(since)
}

// Appeared forgets a node that exists.
func (n *Nodes) Appeared(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.since, node)
}
