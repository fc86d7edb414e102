// Package inspect shows a server to its operators: its version, an index of its paths, metrics,
// traces, profiles, logs, flags and its status.
//
// Words: a page is /statusz or /flagz: text for people, or an object for a client that asks for its
// kind. A hidden path is one that the index does not list.
//
// Laws: the path of a feature that Config switches off does not exist: the answer is 404. All paths
// pass the filters, so authorization of non-resource URLs decides who sees them. The Unix socket
// for profiles passes no filter: everybody who may open its file sees the profiles. Metrics are
// selected at each scrape, so requests pay nothing for it.
//
// Use: package server calls Install and NewTracer once, before it listens. The paths stay until the
// server ends. The goroutines that serve the socket and send the traces end with the server:
// Needs.Go starts the first, and the argument run of NewTracer the second.
//
// Not here: whether the server is alive and ready (server/health), discovery and OpenAPI (router),
// and the counting, which each package does for itself.
//
// Read: inspect.go, version.go, index.go, metrics.go, featuremetrics.go, pages.go, logs.go,
// profiles.go, verbosity.go, tracing.go, documents.go.
package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// Config says which features of this package are on. The zero Config has the version, the index,
// /metrics and /statusz.
type Config struct {
	// Profiles says how profiles of the process are served.
	Profiles Profiles
	// Metrics says what /metrics shows.
	Metrics Metrics
	// TracingFile is the path of a TracingConfiguration file, which says where traces of requests
	// are sent, and how many requests are traced. If it is "", none is. (--tracing-config-file)
	TracingFile string
	// LogDir is a folder whose files are served at /logs. "" serves none. The flag
	// --enable-logs-handler sets it to /var/log.
	LogDir string
	// Flags returns the values of the flags by their names, which /flagz shows. If it is nil, there
	// is no /flagz. (--feature-gates=ComponentFlagz)
	Flags func() map[string]string
	// Features returns the feature gates that the metric kubernetes_feature_enabled shows. If it is
	// nil, there is no such metric. (--feature-gates)
	Features func() []Feature
	// NoStatus leaves /statusz out. (--feature-gates=ComponentStatusz=false)
	NoStatus bool
}

// Needs are the values that Install works with. All are required.
type Needs struct {
	// On is the server that gets the paths. The index lists its paths.
	On *generic.Server
	// Codecs encodes the objects of /statusz and /flagz.
	Codecs *codec.Factory
	// Metrics is the registry that /metrics shows. Install adds kubernetes_build_info to it.
	Metrics *prometheus.Registry
	// Version is the answer of /version.
	Version meta.VersionInfo
	// Started is the time at which the process began.
	Started time.Time
	// Go runs work in the background until the server stops.
	Go  func(work func(ctx context.Context))
	Log *zap.Logger
}

// Install serves the features that c switches on, and keeps c. If c.Profiles.Contention is true,
// the process collects the profiles of contention from then on.
func Install(c *Config, n Needs) error {
	metrics := promhttp.HandlerFor(shownMetrics{n.Metrics, &c.Metrics}, promhttp.HandlerOpts{})
	return errors.Join(
		installVersion(n.On.Paths, n.Metrics, n.Version),
		registerCounts(n.Metrics, &c.Metrics),
		registerFeatures(n.Metrics, c.Features),
		installIndex(n.On),
		n.On.Paths.Handle("/metrics", metrics),
		installLogs(n.On.Paths, c.LogDir),
		installPages(c, &n),
		installProfiles(&c.Profiles, &n),
	)
}
