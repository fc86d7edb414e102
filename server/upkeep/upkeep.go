// Package upkeep maintains stored objects and their stores, apart from the requests for them: it
// compacts history, defragments databases, finds objects that cannot be read, and stores objects
// again in the present storage version.
//
// Words: to check a store is to read every object as a request would. To migrate a resource is to
// store each of its objects again.
//
// Laws, for each of these four kinds of work:
//   - No object changes, apart from the version that it is stored in. An object that cannot be read
//     stays as it is.
//   - The work can be done while servers serve. It may be stopped at any time and begun again.
//
// An Upkeep belongs to one server. It serves two paths, for check and defragment, and compacts in
// the background until its host ends. The other exported functions and Migration are for commands:
// they work as clients of a running server, or on the store of a server that is stopped. All may be
// called at once.
//
// Not here: how a store compacts and defragments itself (storage), how the store of a stopped
// server is opened for a check (server), who may use the paths (filters).
//
// Read: upkeep.go, check.go, defragment.go, migration.go; ask.go for the paths and their clients.
package upkeep

import (
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// Needs are the arguments of New.
type Needs struct {
	Host     generic.Host     // of the server
	Backends backing.Backends // all stores of the server
	// Unread returns the names of the definitions of custom resources that the server cannot read.
	// Each check calls it once. Several checks may run at the same time.
	Unread func() []string
	// CompactionInterval is the time between two compactions of a store. If it is not positive,
	// nothing is compacted.
	CompactionInterval time.Duration
}

// Upkeep compacts, checks and defragments the stores of one server. It has no state of its own. All
// methods may be called at once, except that Start is called once.
type Upkeep struct {
	host     generic.Host
	table    *generic.Table
	backends backing.Backends
	unread   func() []string
	interval time.Duration
}

// New makes the Upkeep of a server. The Upkeep does nothing before Start and Install.
func New(n Needs) *Upkeep {
	return &Upkeep{
		host: n.Host, table: n.Host.Table(), backends: n.Backends, unread: n.Unread, interval: n.CompactionInterval,
	}
}

// Start starts the compaction of every store, at intervals of Needs.CompactionInterval, until the
// host ends. It is called once. Several servers may compact one store: storage.Compactor keeps them
// from compacting twice.
func (u *Upkeep) Start() {
	if u.interval <= 0 {
		return
	}
	for _, b := range u.backends {
		compactor := &storage.Compactor{Store: b, Interval: u.interval, Failed: func(err error) {
			u.host.Log().Log(backing.Severity(err), "compaction failed; it will be tried again", zap.Error(err))
		}}
		u.host.Go(compactor.Run)
	}
}

// Install serves CheckPath (GET) and filters.DefragmentPath (POST). The index of paths lists
// neither.
func (u *Upkeep) Install(paths *router.PrefixMux) error {
	return errors.Join(
		paths.HandleHidden(CheckPath, jsonHandler(http.MethodGet, u.check)),
		paths.HandleHidden(filters.DefragmentPath, jsonHandler(http.MethodPost, u.defragment)),
	)
}
