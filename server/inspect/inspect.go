// Package inspect shows a server to people: its version, an index of its paths, metrics, traces,
// profiles, logs, flags and its status.
//
// Guarantees: what the Config does not want shown is not there: its path is answered as any path
// that nobody knows. Counting costs nothing for what is shown of it: that is decided when somebody
// looks. All paths but those of the socket for profiles pass the filters, so the rules for
// non-resource URLs say who sees them.
//
// Paths are installed on one generic.Server and stay until the server ends. What serves beside
// requests (the socket for profiles, the sender of traces) is run by the host and ends with it.
//
// Not here: whether the server is alive and ready (server/health), documents of the API (router),
// and the counting itself, which stands beside what is counted.
//
// Read: inspect.go, version.go, index.go, metrics.go, pages.go, logs.go, profiles.go, tracing.go,
// documents.go.
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

// Config is what a server shows of itself, to those who may see such paths.
type Config struct {
	// Profiles says who gets profiles of the process.
	Profiles Profiles
	// Metrics says what /metrics shows.
	Metrics Metrics
	// TracingFile is a TracingConfiguration: where traces of requests go; "" makes none.
	// (--tracing-config-file)
	TracingFile string
	// LogDir is a folder whose files are served at /logs; "" serves none. (--enable-logs-handler,
	// of /var/log)
	LogDir string
	// Flags are shown at /flagz, by their names; nil: there is no such path.
	// (--feature-gates=ComponentFlagz)
	Flags func() map[string]string
	// NoStatus leaves /statusz out. (--feature-gates=ComponentStatusz=false)
	NoStatus bool
}

// Needs are what a server must have to be inspected.
type Needs struct {
	// On is the server that gets the paths, and whose paths are listed.
	On     *generic.Server
	Codecs *codec.Factory
	// Metrics is everything that is counted. The version is added to it.
	Metrics *prometheus.Registry
	// Version is what /version says.
	Version meta.VersionInfo
	// Started is when the process began.
	Started time.Time
	// Go runs work until the server stops.
	Go  func(work func(ctx context.Context))
	Log *zap.Logger
}

// Install serves what c wants shown. If the process is to be profiled, that begins now.
func Install(c *Config, n Needs) error {
	metrics := promhttp.HandlerFor(shownMetrics{n.Metrics, &c.Metrics}, promhttp.HandlerOpts{})
	return errors.Join(
		installVersion(n.On.Paths, n.Metrics, n.Version),
		installIndex(n.On),
		n.On.Paths.Handle("/metrics", metrics),
		installLogs(n.On.Paths, c.LogDir),
		installPages(c, &n),
		installProfiles(&c.Profiles, &n),
	)
}
