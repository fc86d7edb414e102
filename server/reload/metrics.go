package reload

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics show which content of a configuration file is in force, by its hash, and count how often
// the file was read again, under Kubernetes' names. Metrics implements prometheus.Collector. All
// methods may be called at once.
type Metrics struct {
	reloads *prometheus.CounterVec // by status: see ResultLabel
	last    *prometheus.GaugeVec   // time of the last reload in Unix seconds, by status
	info    *prometheus.Desc
	hash    atomic.Pointer[string] // HashLabel of the content in force; nil before there is any
}

// NewMetrics returns the metrics of one configuration. what is a part of their names:
// "authentication", "authorization" or "encryption".
func NewMetrics(what string) *Metrics { return newMetrics(what, what, prometheus.Labels{}) }

// NewManifestMetrics returns the metrics of the directory of manifests of an admission plugin.
func NewManifestMetrics(plugin string) *Metrics {
	return newMetrics("manifest_admission", "admission manifest", prometheus.Labels{"plugin": plugin})
}

// newMetrics returns metrics whose names contain id and whose help texts contain what. They have
// labels and the label apiserver_id_hash.
func newMetrics(id, what string, labels prometheus.Labels) *Metrics {
	prefix := "apiserver_" + id + "_config_controller_"
	labels["apiserver_id_hash"] = ServerHash()
	return &Metrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name:        prefix + "automatic_reloads_total",
			ConstLabels: labels,
			Help:        "Number of reloads of the " + what + " configuration, by status.",
		}, []string{"status"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name:        prefix + "automatic_reload_last_timestamp_seconds",
			ConstLabels: labels,
			Help:        "Time of the last reload of the " + what + " configuration, in Unix seconds, by status.",
		}, []string{"status"}),
		info: prometheus.NewDesc(prefix+"last_config_info",
			"1 for the "+what+" configuration in force; the label hash identifies its content.",
			[]string{"hash"}, labels),
	}
}

// InForce notes that data, the content of the file, is in force. The content of a directory is that
// of its files, each followed by a zero byte.
func (m *Metrics) InForce(data []byte) {
	hash := HashLabel(data)
	m.hash.Store(&hash)
}

// Reloaded counts one reload. data is the content of the file; it is in force if err is nil.
func (m *Metrics) Reloaded(data []byte, err error) {
	if err == nil {
		m.InForce(data)
	}
	status := ResultLabel(err)
	m.reloads.WithLabelValues(status).Inc()
	m.last.WithLabelValues(status).SetToCurrentTime()
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.reloads.Describe(to)
	m.last.Describe(to)
	to <- m.info
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.reloads.Collect(to)
	m.last.Collect(to)
	if hash := m.hash.Load(); hash != nil {
		to <- prometheus.MustNewConstMetric(m.info, prometheus.GaugeValue, 1, *hash)
	}
}

// ResultLabel returns the status label of an outcome: "success" if err is nil, else "failure".
func ResultLabel(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// HashLabel returns a label value that identifies data without showing it: "sha256:" and the hash
// in hex, or "" if data is empty.
func HashLabel[T ~string | ~[]byte](data T) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ServerHash returns the label apiserver_id_hash, which identifies this server: the HashLabel of
// ServerID.
var ServerHash = sync.OnceValue(func() string { return HashLabel(ServerID()) })

// ServerID returns the name by which a kube-apiserver on this machine would identify itself:
// "apiserver-" and a hash of the machine's host name, in base32. The result is "" if the host name
// cannot be read. Servers on one machine have the same ServerID.
var ServerID = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	var id []byte
	for _, part := range []string{host, "kube-apiserver"} {
		id = append(binary.BigEndian.AppendUint16(id, uint16(len(part))), part...)
	}
	sum := sha256.Sum256(id)
	return "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
})
