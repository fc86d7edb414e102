package server

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// metrics are what people graph: requests, watches, operations on the store.
type metrics struct {
	requests   *filters.Metrics
	watches    *watchMetrics
	store      *backing.Metrics
	unreadable *backing.Unreadables
	deprecated *prometheus.GaugeVec // what is deprecated and has been asked for

	flaws *flawMetrics
}

// forget deletes what was counted of a resource under one of its names; stored says that nothing is
// stored under that name any more. Its operations on the store are another matter.
func (m *metrics) forget(o *generic.Offer, stored bool) {
	if stored {
		m.unreadable.Forget(o.Name)
	}
	m.requests.Forget(o.Name)
	m.deprecated.DeletePartialMatch(prometheus.Labels{"group": o.Name.Group, "resource": o.Name.Resource})
	for i := range o.Versions {
		m.watches.forget(o.Versions[i].WithResource(o.Name.Resource))
	}
}

// watchMetrics count what watches do, under Kubernetes' names.
type watchMetrics struct {
	open   *prometheus.GaugeVec
	events *prometheus.CounterVec
}

// newMetrics registers what is counted, and the process. What is stored is shown by a cacheCollector.
func newMetrics(reg *prometheus.Registry, t *generic.Table, log *zap.Logger) (*metrics, error) {
	store, storeErr := backing.NewMetrics(reg)
	unreadable, unreadableErr := backing.NewUnreadables(reg, t, log.Named("store"))
	flaws, flawsErr := newFlawMetrics(reg)
	requests := filters.NewMetrics(reg)
	labels := []string{"group", "version", "resource"}
	watches := &watchMetrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_registered_watchers",
			Help: "Watches being served."}, labels),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_watch_events_total",
			Help: "Events sent to watchers."}, labels),
	}
	deprecated := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_requested_deprecated_apis",
		Help: "1 for each deprecated API that has been asked for."}, []string{"group", "version", "resource", "subresource", "removed_release"})
	errs := []error{storeErr, unreadableErr, flawsErr}
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), watches.open, watches.events, deprecated,
	} {
		errs = append(errs, reg.Register(c))
	}
	requests.Exists = func(gvr meta.GroupVersionResource, subresource string) bool {
		o := t.Find(gvr.GroupResource())
		return o != nil && o.Serves(gvr.GroupVersion(), subresource)
	}
	return &metrics{
		requests: requests, watches: watches, store: store, unreadable: unreadable, deprecated: deprecated, flaws: flaws,
	}, errors.Join(errs...)
}

// deprecatedUse counts that something deprecated was asked for.
func (m *metrics) deprecatedUse(gvr meta.GroupVersionResource, subresource, removed string) {
	m.deprecated.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, subresource, removed).Set(1)
}

func (m *watchMetrics) started(gvr meta.GroupVersionResource) func(int) {
	open := m.open.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	events := m.events.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	open.Inc()
	return func(n int) {
		if n < 0 {
			open.Dec()
			return
		}
		events.Add(float64(n))
	}
}

// forget deletes the metrics of a resource. A watch that still runs counts on, unseen.
func (m *watchMetrics) forget(gvr meta.GroupVersionResource) {
	m.open.DeleteLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	m.events.DeleteLabelValues(gvr.Group, gvr.Version, gvr.Resource)
}

// cacheCollector shows what the cache holds at the moment of the scrape.
type cacheCollector struct{ *generic.Resources }

var (
	objectsDesc = prometheus.NewDesc("apiserver_storage_objects",
		"Objects stored, of the resources in use.", []string{"resource"}, nil)
	brokenDesc = prometheus.NewDesc("coracle_storage_unreadable_objects",
		"Objects of apiserver_storage_objects that cannot be read as they are stored.", []string{"resource"}, nil)
	filesDesc = prometheus.NewDesc("coracle_storage_unreadable_files",
		"Files in the folder of the file store that were refused, each named in the log.", nil, nil)
	resourceObjectsDesc = prometheus.NewDesc("apiserver_resource_objects",
		"Objects stored, of the resources in use.", []string{"group", "resource"}, nil)
	windowDesc = prometheus.NewDesc("watch_cache_capacity",
		"Changes that can be watched from memory.", []string{"group", "resource"}, nil)
	versionDesc = prometheus.NewDesc("apiserver_watch_cache_resource_version",
		"Revision of the newest change that the cache has seen.", []string{"group", "resource"}, nil)
	storeReadsDesc = prometheus.NewDesc("coracle_cache_store_reads_total",
		"Reads that the store answered instead of the cache, of the resources that had any, by why.", []string{"resource", "reason"}, nil)
	seenDesc = prometheus.NewDesc("coracle_cache_revision",
		"Revision of the store up to which the cache has seen everything.", []string{"storage_cluster_id"}, nil)
	sizeDesc = prometheus.NewDesc("apiserver_storage_size_bytes",
		"Size of the embedded store's database file, in bytes.", []string{"storage_cluster_id"}, nil)
	usedDesc = prometheus.NewDesc("coracle_storage_size_in_use_bytes",
		"Bytes in use of the embedded store's database file; `coracle defrag` gives the others back.", []string{"storage_cluster_id"}, nil)
	freeDesc = prometheus.NewDesc("coracle_storage_free_bytes",
		"Bytes free on the disk of the embedded store, which refuses writes before there are none.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *cacheCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		objectsDesc, resourceObjectsDesc, brokenDesc, filesDesc, windowDesc, versionDesc, storeReadsDesc, seenDesc, sizeDesc, usedDesc, freeDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *cacheCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for i, b := range c.Backends() {
		id := "etcd-" + strconv.Itoa(i) // as Kubernetes calls them
		gauge(seenDesc, float64(b.Cache.Seen()), id)
		if sized, ok := storage.As[storage.Sized](b); ok {
			file, used := sized.Size()
			gauge(sizeDesc, float64(file), id)
			gauge(usedDesc, float64(used), id)
		}
	}
	for e := range c.Table().Now().Stored {
		r := e.Store.Objects().Stats()
		for why, n := range r.StoreReads {
			if n > 0 {
				ch <- prometheus.MustNewConstMetric(storeReadsDesc, prometheus.CounterValue, float64(n), r.Name, cache.Reason(why).String())
			}
		}
		if !r.Loaded {
			continue
		}
		gauge(objectsDesc, float64(r.Objects), r.Name)
		gauge(brokenDesc, float64(r.Broken), r.Name)
		gauge(resourceObjectsDesc, float64(r.Objects), e.Name.Group, e.Name.Resource)
		gauge(windowDesc, float64(r.Window), e.Name.Group, e.Name.Resource)
		gauge(versionDesc, float64(r.Last), e.Name.Group, e.Name.Resource)
	}
	if folder, ok := storage.As[storage.Reviewer](c.Backends().Main()); ok {
		gauge(filesDesc, float64(folder.Refused()))
	}
	if bounded, ok := storage.As[storage.Bounded](c.Backends().Main()); ok {
		if free, known := bounded.Free(); known {
			gauge(freeDesc, float64(free))
		}
	}
}
