package addresses

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/storage"
)

// apiServers are the live servers on a store. Each keeps a record there as kube-apiserver's lease
// reconciler does: an Endpoints object, named by the server's address, with a lease that the server
// renews. On a store that is not shared this server is the only one, and has no record.
type apiServers struct {
	self    string                               // the address of this server
	records *registry.Records[*corev1.Endpoints] // nil: this server is the only one
	leases  registry.Leaser
	log     *zap.Logger

	generation int64 // metadata.generation of the record, which counts renewals as in kube-apiserver
}

const (
	serverLease = 15 * time.Second // how long a record outlives a killed server
	renewEvery  = serverLease / 3

	apiServerResource = "apiServerIPInfo" // kube-apiserver's name of the records, for encryption and metrics
	apiServerPrefix   = "masterleases/"
)

// list returns the addresses of the live servers, sorted.
func (a *apiServers) list(ctx context.Context) ([]string, error) {
	if a.records == nil {
		return []string{a.self}, nil
	}
	records, _, err := a.records.List(ctx)
	if err != nil {
		return nil, err
	}
	var ips []string
	for _, r := range records {
		if len(r.Subsets) > 0 && len(r.Subsets[0].Addresses) > 0 && r.Subsets[0].Addresses[0].IP != "" {
			ips = append(ips, r.Subsets[0].Addresses[0].IP)
		}
	}
	slices.Sort(ips)
	return slices.Compact(ips), nil
}

// renew writes this server's record with a new lease. One goroutine calls it at a time.
func (a *apiServers) renew(ctx context.Context) error {
	if a.records == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	lease, err := a.leases.Get(ctx, serverLease)
	if err != nil {
		return err
	}
	record := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: a.self}}}}}
	a.generation++
	record.Generation = a.generation
	_, err = a.records.Put(ctx, a.self, record, storage.Pre{}, lease)
	if errors.Is(err, storage.NoLease) {
		a.leases.Forget(lease)
	}
	return err
}

// keep renews the record until ctx ends.
func (a *apiServers) keep(ctx context.Context) {
	again := time.NewTicker(renewEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		if err := a.renew(ctx); err != nil && ctx.Err() == nil {
			a.log.Log(backing.Severity(err), "cannot renew the record of this server", zap.Error(err))
		}
	}
}

// leave deletes this server's record.
func (a *apiServers) leave(ctx context.Context) error {
	err := a.records.Delete(ctx, a.self)
	if errors.Is(err, storage.NotFound) {
		return nil
	}
	return err
}

// changes calls add, with an empty name, at its begin and whenever a server comes or goes, until
// ctx ends. It calls failed when the watch breaks. It is a controller.Source.
func (a *apiServers) changes(ctx context.Context, add func(controller.Name), failed func(error)) {
	for ctx.Err() == nil {
		err := a.watch(ctx, func() { add(controller.Name{}) })
		if ctx.Err() != nil {
			return
		}
		failed(err)
		_ = storage.Sleep(ctx, renewEvery)
	}
}

// watch calls changed once, and then whenever a record is created or deleted. It ignores renewals.
func (a *apiServers) watch(ctx context.Context, changed func()) error {
	cursor, err := a.records.Watch(ctx, 0)
	if err != nil {
		return err
	}
	defer cursor.Close()
	changed()
	for {
		batch, err := cursor.Next(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(batch.Events, func(ev storage.Event) bool { return ev.Created || ev.Deleted }) {
			changed()
		}
	}
}
