package server

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

// configMetrics tell which configuration is in force of a file that is read again when it changes, and how often that was done, under
// Kubernetes' names. They are one Collector.
type configMetrics struct {
	reloads *prometheus.CounterVec
	last    *prometheus.GaugeVec
	info    *prometheus.Desc
	hash    atomic.Pointer[string] // of what is in force; nil before there is something
}

// newConfigMetrics makes those of the authentication or the authorization configuration.
func newConfigMetrics(what string) *configMetrics {
	prefix := "apiserver_" + what + "_config_controller_"
	server := prometheus.Labels{"apiserver_id_hash": serverHash()}
	return &configMetrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "automatic_reloads_total", ConstLabels: server,
			Help: "How often the " + what + " configuration was read again, by how that went."}, []string{"status"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "automatic_reload_last_timestamp_seconds", ConstLabels: server,
			Help: "When the " + what + " configuration was read again last, by how that went."}, []string{"status"}),
		info: prometheus.NewDesc(prefix+"last_config_info", "The "+what+" configuration in force, by its hash.", []string{"hash"}, server),
	}
}

// inForce notes what the file said that is in force.
func (m *configMetrics) inForce(data []byte) {
	hash := hashLabel(data)
	m.hash.Store(&hash)
}

// reloaded counts one reading of a file that said data.
func (m *configMetrics) reloaded(data []byte, err error) {
	if err == nil {
		m.inForce(data)
	}
	status := result(err)
	m.reloads.WithLabelValues(status).Inc()
	m.last.WithLabelValues(status).SetToCurrentTime()
}

// Describe implements prometheus.Collector.
func (m *configMetrics) Describe(to chan<- *prometheus.Desc) {
	m.reloads.Describe(to)
	m.last.Describe(to)
	to <- m.info
}

// Collect implements prometheus.Collector.
func (m *configMetrics) Collect(to chan<- prometheus.Metric) {
	m.reloads.Collect(to)
	m.last.Collect(to)
	if hash := m.hash.Load(); hash != nil {
		to <- prometheus.MustNewConstMetric(m.info, prometheus.GaugeValue, 1, *hash)
	}
}

// hashLabel stands for something in a label; "" for nothing.
func hashLabel[T ~string | ~[]byte](data T) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(data))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// serverHash names this server in metrics.
var serverHash = sync.OnceValue(func() string { return hashLabel(serverID()) })

// serverID names this server by the machine, as kube-apiserver does.
var serverID = sync.OnceValue(func() string {
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
