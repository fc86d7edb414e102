package server

import (
	"context"

	"github.com/coracle-project/coracle/storage/standin"
)

// standIn is a process in etcd's place, and the embedded store it stands for.
type standIn struct {
	*standin.Place
	url string
}

// recognize has the embedded store opened if who answers as etcd stands in for it. That store is nobody else's, and so is what follows
// from it: there are no other servers to agree with.
func (c *completed) recognize(ctx context.Context) {
	if c.Storage.Engine != StorageEtcd || c.Storage.Store != nil {
		return
	}
	if place := standin.Find(ctx, c.Storage.Etcd.Servers); place != nil {
		c.standIn = &standIn{place, c.Storage.Etcd.Servers[0]}
		c.Storage.Engine = StorageEmbedded
	}
}
