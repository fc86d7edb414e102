package server

import (
	"context"
	"encoding/json"
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

// errNoDatabase is why there is nothing to defragment.
var errNoDatabase = errors.New("there is no embedded store: what is stored in etcd is defragmented by `etcdctl defrag`, and other stores " +
	"have no database file")

// addDefragment serves filters.DefragmentPath.
func (s *Server) addDefragment() error {
	return s.Core.Paths.HandleHidden(filters.DefragmentPath, router.Plain(func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodPost {
			return router.ErrMethod()
		}
		store, ok := storage.As[storage.Defragmenter](s.Backends().Main())
		if !ok {
			return meta.NewBadRequest(errNoDatabase.Error())
		}
		router.Lift(w)
		done, err := store.Defragment(r.Context())
		if err != nil {
			return meta.NewInternalError(err)
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(done)
	}))
}

// DefragmentServer has the server that a kubeconfig names defragment its embedded store, while it
// serves.
func DefragmentServer(ctx context.Context, kubeconfig string) (storage.Defragmented, error) {
	var done storage.Defragmented
	return done, askServer(ctx, kubeconfig, http.MethodPost, filters.DefragmentPath, &done)
}

// DefragmentStore defragments the embedded store in the data folder of a server that does not run.
func DefragmentStore(ctx context.Context, dataDir string) (storage.Defragmented, error) {
	done, err := embedded.Defragment(ctx, filepath.Join(dataDir, "etcd"))
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoDatabase
	}
	return done, err
}
