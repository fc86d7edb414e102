package generic

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Collector returns the metrics of the caches (objects, windows, revisions) and of the stores
// (sizes, refused files). The values are read at each scrape; requests pay nothing for them.
func (s *Resources) Collector() prometheus.Collector { return &collector{s} }

// collector implements prometheus.Collector. A resource that is not loaded has no series, except
// the count of reads from the store.
type collector struct{ *Resources }

var (
	objectsDesc = prometheus.NewDesc("apiserver_storage_objects",
		"Number of stored objects of each resource that has been used since the start.", []string{"resource"}, nil)
	brokenDesc = prometheus.NewDesc("coracle_storage_unreadable_objects",
		"Number of stored objects that cannot be decoded or decrypted; apiserver_storage_objects counts them too.",
		[]string{"resource"}, nil)
	filesDesc = prometheus.NewDesc("coracle_storage_unreadable_files",
		"Number of files in the folder of the file store that cannot be used; the log names each.",
		nil, nil)
	resourceObjectsDesc = prometheus.NewDesc("apiserver_resource_objects",
		"Number of stored objects of each resource that has been used since the start.", []string{"group", "resource"}, nil)
	windowDesc = prometheus.NewDesc("watch_cache_capacity",
		"Number of recent changes for which the cache of a resource has room.", []string{"group", "resource"}, nil)
	versionDesc = prometheus.NewDesc("apiserver_watch_cache_resource_version",
		"Revision up to which the cache of a resource is complete.", []string{"group", "resource"}, nil)
	storeReadsDesc = prometheus.NewDesc("coracle_cache_store_reads_total",
		"Number of reads that the store answered instead of the cache, by resource and reason.",
		[]string{"resource", "reason"}, nil)
	seenDesc = prometheus.NewDesc("coracle_cache_revision",
		"Revision of the store up to which the caches of all resources are complete.",
		[]string{"storage_cluster_id"}, nil)
	sizeDesc = prometheus.NewDesc("apiserver_storage_size_bytes",
		"Size of the embedded store's database file, in bytes.", []string{"storage_cluster_id"}, nil)
	usedDesc = prometheus.NewDesc("coracle_storage_size_in_use_bytes",
		"Bytes in use in the embedded store's database file; `coracle defrag` gives the other bytes back to the disk.",
		[]string{"storage_cluster_id"}, nil)
	freeDesc = prometheus.NewDesc("coracle_storage_free_bytes",
		"Free bytes on the disk of the embedded store; the store refuses writes before the disk is full.",
		nil, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		objectsDesc, resourceObjectsDesc, brokenDesc, filesDesc, windowDesc, versionDesc,
		storeReadsDesc, seenDesc, sizeDesc, usedDesc, freeDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for i, b := range c.Backends() {
		id := "etcd-" + strconv.Itoa(i) // Kubernetes' name for the store of the i-th --etcd-servers
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
				ch <- prometheus.MustNewConstMetric(storeReadsDesc, prometheus.CounterValue, float64(n),
					r.Name, cache.Reason(why).String())
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
