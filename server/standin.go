package server

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage/standin"
)

// defaultInitTimeout is short, as a program that has a server inside of it is not to hang where its etcd is wrong. Clusters, whose
// processes start in any order, have the flag's minute.
const defaultInitTimeout = 5 * time.Second

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
	began, patience := time.Now(), cmp.Or(c.Storage.InitTimeout, defaultInitTimeout)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	place := standin.Find(waiting, c.Storage.Etcd.Servers, func() {
		c.Log.Warn("etcd is away", zap.Strings("endpoints", c.Storage.Etcd.Servers), zap.String("reason", "nobody listens"))
	})
	c.Storage.InitTimeout = max(patience-time.Since(began), time.Millisecond) // what is left of it for an etcd
	if place != nil {
		c.standIn = &standIn{place, c.Storage.Etcd.Servers[0]}
		c.Storage.Engine = StorageEmbedded
	}
}
