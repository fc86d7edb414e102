package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/generic"
)

// metrics are the metrics in which several parts count, or whose series are deleted when a resource
// is removed.
type metrics struct {
	requests   *filters.Metrics
	resources  *generic.Metrics
	store      *backing.Metrics
	unreadable *backing.Unreadables

	flaws   *flawMetrics
	queues  *controller.Queues
	clients *client.Metrics
}

// forget deletes the series of a resource under one of its names. stored: the objects of the
// resource were stored, and counted as unreadable, under this name. The series of operations on the
// store are deleted elsewhere (backing.Record).
func (m *metrics) forget(o *generic.Offer, stored bool) {
	if stored {
		m.unreadable.Forget(o.Name)
	}
	m.requests.Forget(o.Name)
	m.resources.Forget(o)
}

// newMetrics registers these metrics, and those of the Go runtime and the process.
func newMetrics(reg *prometheus.Registry, t *generic.Table, log *zap.Logger) (*metrics, error) {
	store, storeErr := backing.NewMetrics(reg)
	unreadable, unreadableErr := backing.NewUnreadables(reg, t, log.Named("store"))
	flaws, flawsErr := newFlawMetrics(reg)
	requests := filters.NewMetrics(reg)
	resources, resourcesErr := generic.NewMetrics(reg)
	queues, queuesErr := controller.NewQueues(reg)
	clients, clientsErr := client.NewMetrics(reg)
	errs := []error{storeErr, unreadableErr, resourcesErr, flawsErr, queuesErr, clientsErr}
	errs = append(errs, reg.Register(collectors.NewGoCollector()),
		reg.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	requests.Exists = func(gvr meta.GroupVersionResource, subresource string) bool {
		o := t.Find(gvr.GroupResource())
		return o != nil && o.Serves(gvr.GroupVersion(), subresource)
	}
	return &metrics{
		requests: requests, resources: resources, store: store, unreadable: unreadable, flaws: flaws,
		queues: queues, clients: clients,
	}, errors.Join(errs...)
}
