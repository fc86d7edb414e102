package flags

import "time"

func (o *Options) bindAuditing(s *section) {
	s.String("audit-policy-file", "", "AuditPolicy file: what is recorded of which requests")
	for _, sink := range []struct {
		name, destination, usage, mode string
		age, backup, size              int // of log files
		batch, burst                   int
		wait                           time.Duration
		throttle                       bool
		qps                            float32
	}{
		{"log", "path", "file that events are written to", "blocking", 366, 100, 100, 1, 0, 0, false, 0},
		{"webhook", "config-file", "kubeconfig of the server that events are sent to", "batch", 0, 0, 0, 400, 15, 30 * time.Second, true, 10},
	} {
		prefix := "audit-" + sink.name + "-"
		destination := prefix + sink.destination
		s.String(destination, "", sink.usage)
		s.refuse("nothing is audited, and who gives it relies on a record", destination)
		names := []string{"mode", "version", "batch-buffer-size", "batch-max-size", "batch-max-wait", "batch-throttle-enable", "batch-throttle-qps", "batch-throttle-burst",
			"truncate-enabled", "truncate-max-batch-size", "truncate-max-event-size"}
		s.String(prefix+"mode", sink.mode, "how events go there: batch, blocking or blocking-strict")
		s.String(prefix+"version", "audit.k8s.io/v1", "version of the events")
		s.Int(prefix+"batch-buffer-size", 10_000, "events that wait at most")
		s.Int(prefix+"batch-max-size", sink.batch, "events that go together at most")
		s.Duration(prefix+"batch-max-wait", sink.wait, "how long events wait for others at most")
		s.Bool(prefix+"batch-throttle-enable", sink.throttle, "bound the batches of a second")
		s.Float32(prefix+"batch-throttle-qps", sink.qps, "batches a second on average")
		s.Int(prefix+"batch-throttle-burst", sink.burst, "batches that may go at once after a rest")
		s.Bool(prefix+"truncate-enabled", false, "cut events and batches that are too large")
		s.Int(prefix+"truncate-max-batch-size", 10<<20, "bytes of a batch at most")
		s.Int(prefix+"truncate-max-event-size", 100<<10, "bytes of an event at most")
		if sink.name == "log" {
			names = append(names, "maxage", "maxbackup", "maxsize", "compress", "format")
			s.Int(prefix+"maxage", sink.age, "days that old files are kept")
			s.Int(prefix+"maxbackup", sink.backup, "old files that are kept")
			s.Int(prefix+"maxsize", sink.size, "megabytes of a file before it is put aside")
			s.Bool(prefix+"compress", false, "compress old files")
			s.String(prefix+"format", "json", "form of the events: json or legacy")
		} else {
			names = append(names, "initial-backoff")
			s.Duration(prefix+"initial-backoff", 10*time.Second, "how long to wait after the first failure")
		}
		for i := range names {
			names[i] = prefix + names[i]
		}
		s.ignore("nothing is audited", names...)
	}
	s.refuse("nothing is audited, and who gives it relies on a record", "audit-policy-file")
}
