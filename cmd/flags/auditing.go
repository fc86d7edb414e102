package flags

import (
	"slices"
	"strings"
	"time"
)

// The section "Auditing". This server records no audit events. The flags that ask for a record are
// refused, because somebody relies on it, and the flags that only say how to record are ignored.
// All are checked as kube-apiserver checks them.

// auditing holds the values of the flags about audit events. They are only checked.
type auditing struct {
	log, webhook auditSink
}

// auditSink holds the flags of one backend that audit events go to: the log file or the webhook.
// Both backends have the flags up to eventBytes, whose names begin with audit-log- or
// audit-webhook-.
type auditSink struct {
	name                   string // "log" or "webhook"
	destination            string // a file; "" for a backend that is not used
	mode, version          string
	buffer, batch, burst   int           // events, events, batches
	wait                   time.Duration // longest time until a batch is sent
	throttle               bool
	qps                    float32 // batches a second
	cut                    bool    // --...-truncate-enabled
	batchBytes, eventBytes int64   // bounds that truncation keeps
	age, backups, size     int     // of log files: days, number of files, megabytes
	format                 string
	compress               bool
	backoff                time.Duration // the webhook's, after the first failure
}

// bindAuditing declares the flags with kube-apiserver's defaults, which differ between the two
// backends.
func (o *Options) bindAuditing(s *section) {
	const unrecorded = "this server records no audit events, and the flag asks for them"
	s.String("audit-policy-file", "", "AuditPolicy file, which says what is recorded of which requests")
	s.refuse(unrecorded, "audit-policy-file")

	log := &o.auditing.log
	*log = auditSink{name: "log", mode: "blocking", batch: 1, age: 366, backups: 100, size: 100, format: "json"}
	log.bind(s)
	s.StringVar(&log.destination, "audit-log-path", "", "file to which audit events are written")
	s.IntVar(&log.age, "audit-log-maxage", log.age, "number of days for which rotated audit log files are kept")
	s.IntVar(&log.backups, "audit-log-maxbackup", log.backups, "number of rotated audit log files that are kept")
	s.IntVar(&log.size, "audit-log-maxsize", log.size, "size in megabytes at which the audit log file is rotated")
	s.BoolVar(&log.compress, "audit-log-compress", false, "compress rotated audit log files")
	s.StringVar(&log.format, "audit-log-format", log.format, "format of the audit events in the file: json or legacy")
	s.ignore(unaudited, "audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize", "audit-log-compress",
		"audit-log-format")

	hook := &o.auditing.webhook
	*hook = auditSink{
		name: "webhook", mode: "batch", batch: 400, burst: 15, wait: 30 * time.Second, throttle: true, qps: 10,
	}
	hook.bind(s)
	s.StringVar(&hook.destination, "audit-webhook-config-file", "",
		"kubeconfig of the server to which audit events are sent")
	s.DurationVar(&hook.backoff, "audit-webhook-initial-backoff", 10*time.Second,
		"pause after the first failure to send audit events")
	s.DurationVar(&hook.backoff, "audit-webhook-batch-initial-backoff", 10*time.Second,
		"older name of --audit-webhook-initial-backoff")
	s.hide("audit-webhook-batch-initial-backoff", "Deprecated, use --audit-webhook-initial-backoff instead.")
	s.ignore(unaudited, "audit-webhook-initial-backoff", "audit-webhook-batch-initial-backoff")
	s.refuse(unrecorded, "audit-log-path", "audit-webhook-config-file")
}

// unaudited is the reason why flags about the recording of events are ignored.
const unaudited = "this server records no audit events"

// bind declares the flags that both backends have.
func (a *auditSink) bind(s *section) {
	prefix := "audit-" + a.name + "-"
	s.StringVar(&a.mode, prefix+"mode", a.mode, "when audit events are handed over: batch, blocking or blocking-strict")
	s.StringVar(&a.version, prefix+"version", "audit.k8s.io/v1", "version of the audit events")
	s.IntVar(&a.buffer, prefix+"batch-buffer-size", 10_000,
		"largest number of audit events that wait in the mode batch")
	s.IntVar(&a.batch, prefix+"batch-max-size", a.batch, "largest number of audit events in a batch")
	s.DurationVar(&a.wait, prefix+"batch-max-wait", a.wait, "longest time that audit events wait until their batch is full")
	s.BoolVar(&a.throttle, prefix+"batch-throttle-enable", a.throttle, "limit the number of batches a second")
	s.Float32Var(&a.qps, prefix+"batch-throttle-qps", a.qps, "average number of batches a second")
	s.IntVar(&a.burst, prefix+"batch-throttle-burst", a.burst,
		"number of batches that may be sent at once after a pause")
	s.BoolVar(&a.cut, prefix+"truncate-enabled", false, "truncate audit events and batches that are too large")
	s.Int64Var(&a.batchBytes, prefix+"truncate-max-batch-size", 10<<20, "largest size of a batch, in bytes")
	s.Int64Var(&a.eventBytes, prefix+"truncate-max-event-size", 100<<10, "largest size of an audit event, in bytes")
	for _, name := range []string{"mode", "version", "batch-buffer-size", "batch-max-size", "batch-max-wait",
		"batch-throttle-enable",
		"batch-throttle-qps", "batch-throttle-burst", "truncate-enabled",
		"truncate-max-batch-size", "truncate-max-event-size"} {
		s.ignore(unaudited, prefix+name)
	}
}

// finishAuditing checks both backends. It writes nothing into the Config.
func (o *Options) finishAuditing() error {
	log, hook := &o.auditing.log, &o.auditing.webhook
	var m mistakes
	m.addErr(log.check())
	if log.destination != "" {
		if log.format != "json" && log.format != "legacy" {
			m.add("invalid audit log format %s, allowed formats are %q", log.format, "legacy,json")
		}
		for _, bound := range []struct {
			name  string
			value int
		}{{"maxage", log.age}, {"maxbackup", log.backups}, {"maxsize", log.size}} {
			if bound.value < 0 {
				m.add("--audit-log-%s %d can't be a negative number", bound.name, bound.value)
			}
		}
	}
	m.addErr(hook.check())
	return m.err()
}

// auditModes are the ways in which events can be handed to a backend.
var auditModes = []string{"batch", "blocking", "blocking-strict"}

// check returns what is wrong with the flags of a backend. A backend that is not used has no
// mistakes.
func (a *auditSink) check() error {
	if a.destination == "" {
		return nil
	}
	var m mistakes
	m.addErr(a.checkBatches())
	switch {
	case a.eventBytes <= 0:
		m.add("invalid audit truncate %s max event size %d, must be a positive number", a.name, a.eventBytes)
	case a.batchBytes < a.eventBytes:
		m.add("invalid audit truncate %s max batch size %d, must be greater than max event size (%d)", a.name,
			a.batchBytes, a.eventBytes)
	}
	switch parts := strings.Split(a.version, "/"); {
	case len(parts) > 2:
		m.add("unexpected GroupVersion string: %s", a.version)
	case a.version != "audit.k8s.io/v1":
		m.add(`invalid group version, allowed versions are ["audit.k8s.io/v1"]`)
	}
	return m.err()
}

// checkBatches returns the first mistake in the flags about batches. They count in the mode "batch"
// only.
func (a *auditSink) checkBatches() error {
	var m mistakes
	switch {
	case !slices.Contains(auditModes, a.mode):
		m.add("invalid audit %s mode %s, allowed modes are %q", a.name, a.mode, strings.Join(auditModes, ","))
	case a.mode != "batch":
	case a.buffer <= 0:
		m.add("invalid audit batch %s buffer size %d, must be a positive number", a.name, a.buffer)
	case a.batch <= 0:
		m.add("invalid audit batch %s max batch size %d, must be a positive number", a.name, a.batch)
	case a.throttle && a.qps <= 0:
		m.add("invalid audit batch %s throttle QPS %v, must be a positive number", a.name, a.qps)
	case a.throttle && a.burst <= 0:
		m.add("invalid audit batch %s throttle burst %d, must be a positive number", a.name, a.burst)
	}
	return m.err()
}
