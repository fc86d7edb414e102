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

// Metrics tell which configuration is in force of a file that is read again when it changes, and
// how often that was done, under Kubernetes' names. They are one Collector.
type Metrics struct {
	reloads *prometheus.CounterVec
	last    *prometheus.GaugeVec
	info    *prometheus.Desc
	hash    atomic.Pointer[string] // of what is in force; nil before there is something
}

// NewMetrics makes the metrics of a configuration: what is "authentication", "authorization" or
// "encryption".
func NewMetrics(what string) *Metrics {
	prefix := "apiserver_" + what + "_config_controller_"
	server := prometheus.Labels{"apiserver_id_hash": ServerHash()}
	return &Metrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "automatic_reloads_total", ConstLabels: server,
			Help: "How often the " + what + " configuration was read again, by how that went."}, []string{"status"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "automatic_reload_last_timestamp_seconds", ConstLabels: server,
			Help: "When the " + what + " configuration was read again last, by how that went."}, []string{"status"}),
		info: prometheus.NewDesc(prefix+"last_config_info", "The "+what+" configuration in force, by its hash.", []string{"hash"}, server),
	}
}

// InForce notes what the file said that is in force.
func (m *Metrics) InForce(data []byte) {
	hash := HashLabel(data)
	m.hash.Store(&hash)
}

// Reloaded counts one reading of a file that said data.
func (m *Metrics) Reloaded(data []byte, err error) {
	if err == nil {
		m.InForce(data)
	}
	status := Result(err)
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

// Result is what metrics call an outcome.
func Result(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// HashLabel stands for something in a label; "" for nothing.
func HashLabel[T ~string | ~[]byte](data T) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ServerHash names this server in metrics.
var ServerHash = sync.OnceValue(func() string { return HashLabel(ServerID()) })

// ServerID names this server by the machine, as kube-apiserver does.
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
