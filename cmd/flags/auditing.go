package flags

import (
	"github.com/coracle-project/coracle/filters/audit/backend"
)

// The section "Auditing": what is recorded of requests, and where.

// bindAuditing declares the flags with kube-apiserver's defaults, which differ between the two
// backends.
func (o *Options) bindAuditing(s *section) {
	c := &o.config.Serving.Audit
	s.StringVar(&c.PolicyFile, "audit-policy-file", "",
		"AuditPolicy file, which says what is recorded of which requests")

	log := &c.Log
	*log = backend.DefaultLog()
	bindDelivery(s, "audit-log-", &log.Delivery)
	s.StringVar(&log.Path, "audit-log-path", "", "file to which audit events are written; - is standard output")
	s.IntVar(&log.MaxAge, "audit-log-maxage", log.MaxAge, "number of days for which rotated audit log files are kept")
	s.IntVar(&log.MaxBackups, "audit-log-maxbackup", log.MaxBackups, "number of rotated audit log files that are kept")
	s.IntVar(&log.MaxSize, "audit-log-maxsize", log.MaxSize,
		"size in megabytes at which the audit log file is rotated")
	s.BoolVar(&log.Compress, "audit-log-compress", false, "compress rotated audit log files")
	s.StringVar(&log.Format, "audit-log-format", log.Format, "format of the audit events in the file: json or legacy")

	hook := &c.Webhook
	*hook = backend.DefaultWebhook()
	bindDelivery(s, "audit-webhook-", &hook.Delivery)
	s.StringVar(&hook.Kubeconfig, "audit-webhook-config-file", "",
		"kubeconfig of the server to which audit events are sent")
	s.DurationVar(&hook.InitialBackoff, "audit-webhook-initial-backoff", hook.InitialBackoff,
		"pause after the first failure to send audit events")
	s.DurationVar(&hook.InitialBackoff, "audit-webhook-batch-initial-backoff", hook.InitialBackoff,
		"older name of --audit-webhook-initial-backoff")
	s.hide("audit-webhook-batch-initial-backoff", "Deprecated, use --audit-webhook-initial-backoff instead.")
}

// bindDelivery declares the flags that both backends have, whose names begin with prefix.
func bindDelivery(s *section, prefix string, d *backend.Delivery) {
	s.StringVar(&d.Mode, prefix+"mode", d.Mode, "when audit events are handed over: batch, blocking or blocking-strict")
	s.StringVar(&d.Version, prefix+"version", d.Version, "version of the audit events")
	b := &d.Batch
	s.IntVar(&b.Buffer, prefix+"batch-buffer-size", b.Buffer,
		"largest number of audit events that wait in the mode batch")
	s.IntVar(&b.Size, prefix+"batch-max-size", b.Size, "largest number of audit events in a batch")
	s.DurationVar(&b.Wait, prefix+"batch-max-wait", b.Wait,
		"longest time that audit events wait until their batch is full")
	s.BoolVar(&b.Throttle, prefix+"batch-throttle-enable", b.Throttle, "limit the number of batches a second")
	s.Float32Var(&b.QPS, prefix+"batch-throttle-qps", b.QPS, "average number of batches a second")
	s.IntVar(&b.Burst, prefix+"batch-throttle-burst", b.Burst,
		"number of batches that may be sent at once after a pause")
	t := &d.Truncate
	s.BoolVar(&t.Enabled, prefix+"truncate-enabled", false, "truncate audit events and batches that are too large")
	s.Int64Var(&t.BatchBytes, prefix+"truncate-max-batch-size", t.BatchBytes, "largest size of a batch, in bytes")
	s.Int64Var(&t.EventBytes, prefix+"truncate-max-event-size", t.EventBytes,
		"largest size of an audit event, in bytes")
}

// finishAuditing returns what is wrong with the backends, in kube-apiserver's order.
func (o *Options) finishAuditing() error {
	var m mistakes
	audit := &o.config.Serving.Audit
	for _, err := range append(audit.Log.Validate(), audit.Webhook.Validate()...) {
		m.addErr(err)
	}
	return m.err()
}
