package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// watchMetrics count what watches do, under Kubernetes' names.
type watchMetrics struct {
	open   *prometheus.GaugeVec
	events *prometheus.CounterVec
}

// installMetrics registers what people graph beside the requests, which filters.Metrics counts: watches, the number of
// objects, the cache, the process.
func (s *Server) installMetrics(rc *router.Config) error {
	kind := []string{"group", "version", "kind"}
	wm := &watchMetrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_registered_watchers",
			Help: "Watches being served, by kind."}, kind),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_watch_events_total",
			Help: "Events sent to watchers, by kind."}, kind),
	}
	rc.WatchStarted = wm.started
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		wm.open, wm.events, &cacheCollector{s},
	} {
		if err := s.Metrics.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *watchMetrics) started(kind meta.GroupVersionKind) func(int) {
	open := m.open.WithLabelValues(kind.Group, kind.Version, kind.Kind)
	events := m.events.WithLabelValues(kind.Group, kind.Version, kind.Kind)
	open.Inc()
	return func(n int) {
		if n < 0 {
			open.Dec()
			return
		}
		events.Add(float64(n))
	}
}

// cacheCollector shows what the cache holds at the moment of the scrape.
type cacheCollector struct{ s *Server }

var (
	objectsDesc = prometheus.NewDesc("apiserver_storage_objects", "Objects stored, by resource, of the resources in use.", []string{"resource"}, nil)
	windowDesc  = prometheus.NewDesc("watch_cache_capacity", "Changes that can be watched from memory, by resource.", []string{"resource"}, nil)
	seenDesc    = prometheus.NewDesc("coracle_cache_revision", "Revision of the store up to which the cache has seen everything.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *cacheCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- objectsDesc
	ch <- windowDesc
	ch <- seenDesc
}

// Collect implements prometheus.Collector.
func (c *cacheCollector) Collect(ch chan<- prometheus.Metric) {
	stats := c.s.cache.Stats()
	ch <- prometheus.MustNewConstMetric(seenDesc, prometheus.GaugeValue, float64(stats.Seen))
	for _, r := range stats.Resources {
		ch <- prometheus.MustNewConstMetric(objectsDesc, prometheus.GaugeValue, float64(r.Objects), r.Name)
		ch <- prometheus.MustNewConstMetric(windowDesc, prometheus.GaugeValue, float64(r.Window), r.Name)
	}
}

// cacheHooks log what happens to the cache.
func (s *Server) cacheHooks() cache.Hooks {
	log := s.log.Named("cache")
	return cache.Hooks{
		Loaded: func(resource string, objects int, took time.Duration) {
			log.Debug("loaded", zap.String("resource", resource), zap.Int("objects", objects), zap.Duration("took", took))
		},
		LoadFailed: func(resource string, err error) {
			log.Warn("load failed", zap.String("resource", resource), zap.Error(err))
		},
		WatchFailed: func(err error) { log.Warn("the watch on the store ended; watching again", zap.Error(err)) },
		DecodeFailed: func(resource, key string, err error) {
			log.Error("a stored object cannot be read", zap.String("resource", resource), zap.String("key", key), zap.Error(err))
		},
		Evicted: func(resource string) {
			log.Info("a watcher fell behind and was ended", zap.String("resource", resource))
		},
	}
}
