package upkeep

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// errNoDatabase is the error of a store without a database to defragment.
var errNoDatabase = errors.New("there is no embedded store: what is stored in etcd is defragmented by " +
	"`etcdctl defrag`, and other stores have no database file")

// defragment handles a request for filters.DefragmentPath. It returns when the database is
// defragmented. That can take longer than the time limit of requests, so defragment lifts the limit
// of this request.
func (u *Upkeep) defragment(w http.ResponseWriter, r *http.Request) (done storage.Defragmented, err error) {
	store, ok := storage.As[storage.Defragmenter](u.backends.Main())
	if !ok {
		return done, meta.NewBadRequest(errNoDatabase.Error())
	}
	router.Lift(w)
	if done, err = store.Defragment(r.Context()); err != nil {
		return done, meta.NewInternalError(err)
	}
	return done, nil
}

// DefragmentServer has the server that a kubeconfig names defragment its embedded store while the
// server goes on serving. Command defrag calls it.
func DefragmentServer(ctx context.Context, kubeconfig string) (storage.Defragmented, error) {
	var done storage.Defragmented
	return done, call(ctx, kubeconfig, http.MethodPost, filters.DefragmentPath, &done)
}

// DefragmentStore defragments the embedded store in the data folder of a server that is stopped.
// Command defrag calls it.
func DefragmentStore(ctx context.Context, dataDir string) (storage.Defragmented, error) {
	done, err := embedded.Defragment(ctx, filepath.Join(dataDir, "etcd"))
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoDatabase
	}
	return done, err
}
