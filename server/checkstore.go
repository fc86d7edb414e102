package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/upkeep"
	"github.com/coracle-project/coracle/storage/embedded"
)

// CheckStore opens the store that a server with cfg would open, and looks there for objects that
// cannot be read. It reads each object as that server would, and writes nothing to the store. If
// the store is in a data folder CheckStore copies it to a temporary folder and reads the copy; no
// server may run on the data folder meanwhile. The command fsck calls it.
func CheckStore(ctx context.Context, cfg Config) (checked upkeep.CheckResult, err error) {
	c, err := cfg.complete()
	if err != nil {
		return checked, err
	}
	if c.Storage.Store == nil && c.Storage.Engine != StorageEtcd {
		copied, err := copyStore(ctx, &c)
		if err != nil {
			return checked, err
		}
		defer os.RemoveAll(copied)
	}
	a, err := assemble(ctx, c, heldParts()) // its store of files also takes files that a server would refuse
	if err != nil {
		return checked, err
	}
	defer func() { err = errors.Join(err, a.ends.run()) }()
	unread, err := (&Validator{assembly: a}).defineStored(ctx)
	if err != nil {
		return checked, err
	}
	return upkeep.Check(ctx, a.table, a.resources.Backends().Main(), unread)
}

// defineStored adds the resources that the stored CustomResourceDefinitions define. It returns the
// names of the definitions that cannot be read or cannot be served.
func (j *Validator) defineStored(ctx context.Context) (unread []string, err error) {
	offer := j.resources.Table().Find(customResourceDefinitions)
	if offer == nil {
		return nil, nil
	}
	list, err := offer.View.List(meta.WithUnread(ctx), &request.ListRequest{})
	if err != nil {
		return nil, err
	}
	for item := range list.Items {
		err := registry.Unreadable(item)
		if err == nil {
			err = j.define(ctx, offer.View, item)
		}
		if err != nil {
			_, name := offer.View.NameOf(item)
			unread = append(unread, name)
		}
	}
	return unread, nil
}

// copyStore copies the store of a data folder to a temporary folder, which becomes the data folder
// of c. It returns that folder, which the caller removes.
func copyStore(ctx context.Context, c *completed) (dir string, err error) {
	folder := "etcd"
	if c.Storage.Engine == StorageFile {
		folder = "objects"
	}
	from := c.path(folder)
	if _, err := os.Stat(from); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "coracle-fsck-"); err != nil {
		return "", err
	}
	if folder == "etcd" {
		err = embedded.Copy(ctx, filepath.Join(dir, folder), from)
	} else {
		err = os.CopyFS(filepath.Join(dir, folder), os.DirFS(from))
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	c.DataDir = dir
	return dir, nil
}
