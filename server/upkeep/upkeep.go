// Package upkeep is what is done to stored objects and their stores beside the requests for them:
// history is compacted, databases are defragmented, objects that cannot be read are found, and
// objects are stored again in the version that is stored now.
//
// Words: to check a store is to read every object as a request would. To migrate a resource is to
// store each of its objects again.
//
// Laws, for all of it:
//   - No object changes, apart from the version that it is stored in. An object that cannot be read
//     stays as it is.
//   - All of it may go on while servers serve, and may be cut short and begun again.
//
// An Upkeep belongs to one server. It serves two paths, for check and defragment, and compacts in
// the background until its host ends. The other exported functions and Migration are for commands:
// they work as clients of a running server, or on the store of a server that does not run. All may
// be called at once.
//
// Not here: how a store compacts and defragments itself (storage), which store a configuration
// means and what else it takes to check it without a server (server), who may ask for the paths
// (filters).
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

// Needs is what an Upkeep is made of.
type Needs struct {
	Host     generic.Host
	Backends backing.Backends
	// Unread returns the names of the definitions of custom resources that the server cannot read.
	// It may be called at any time, for several requests at once.
	Unread func() []string
	// CompactionInterval is the time between two compactions of a store. If it is not positive,
	// nothing is compacted.
	CompactionInterval time.Duration
}

// Upkeep is what a server does to its stores beside requests. It has no state of its own.
type Upkeep struct {
	host     generic.Host
	table    *generic.Table
	backends backing.Backends
	unread   func() []string
	interval time.Duration
}

// New makes the Upkeep of a server. It does nothing before Start and Install.
func New(n Needs) *Upkeep {
	return &Upkeep{
		host: n.Host, table: n.Host.Table(), backends: n.Backends, unread: n.Unread, interval: n.CompactionInterval,
	}
}

// Start has every store compacted at intervals, if it is to be, until the host ends. It is called
// once. Several servers may do that to one store: see storage.Compactor.
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

// Install serves CheckPath and filters.DefragmentPath. Neither is in the index of paths.
func (u *Upkeep) Install(paths *router.PrefixMux) error {
	return errors.Join(
		paths.HandleHidden(CheckPath, answer(http.MethodGet, u.check)),
		paths.HandleHidden(filters.DefragmentPath, answer(http.MethodPost, u.defragment)),
	)
}
