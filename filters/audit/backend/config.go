package backend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/callout"
)

// The modes in which a store gets events.
const (
	ModeBatch          = "batch"           // later, together with other events
	ModeBlocking       = "blocking"        // before the request goes on
	ModeBlockingStrict = "blocking-strict" // the same; a failure at RequestReceived refuses the request
)

// The formats of the log.
const (
	FormatJSON   = "json"   // an Event of audit.k8s.io/v1 in each line
	FormatLegacy = "legacy" // one line of text for each event, which tells less
)

// V1 is the only version of events.
const V1 = "audit.k8s.io/v1"

var (
	modes   = []string{ModeBatch, ModeBlocking, ModeBlockingStrict}
	formats = []string{FormatLegacy, FormatJSON}
)

// Config is the configuration of Backends.
type Config struct {
	Log     LogConfig
	Webhook WebhookConfig
	// Metrics counts the errors. It is required.
	Metrics *Metrics
	// Logger gets a line when events were not stored, at most one in ten seconds for each plugin.
	// It is required.
	Logger *zap.Logger
	// Flawed, if set, is called for each call of the webhook with each flaw of its certificate.
	Flawed func(callout.Flaw)
}

// LogConfig is the configuration of the log.
type LogConfig struct {
	// Path is the log's file. "-" is the standard output, which is not rotated. "": no log.
	Path string
	// Format is FormatJSON or FormatLegacy.
	Format string
	// MaxSize is the size in MiB at which the file is rotated; 0: never. An event that is larger
	// fails.
	MaxSize int
	// MaxAge is the number of days for which rotated files are kept; 0: no limit.
	MaxAge int
	// MaxBackups is the number of rotated files that are kept; 0: no limit.
	MaxBackups int
	// Compress compresses rotated files with gzip.
	Compress bool
	Delivery
}

// WebhookConfig is the configuration of the webhook.
type WebhookConfig struct {
	// Kubeconfig is the file that says where the webhook is. "": no webhook.
	Kubeconfig string
	// InitialBackoff is the pause before a failed call is tried for the second time. Each further
	// pause is half as long again. There are five tries.
	InitialBackoff time.Duration
	Delivery
}

// Delivery says how and when a store gets events.
type Delivery struct {
	Mode     string // ModeBatch, ModeBlocking or ModeBlockingStrict
	Version  string // of the events: V1
	Batch    Batch  // ignored in the other modes
	Truncate Truncate
}

// Batch is the configuration of the mode batch.
type Batch struct {
	Buffer int           // largest number of events that wait
	Size   int           // largest number of events in a batch
	Wait   time.Duration // longest time that an event waits until its batch is full
	// Throttle limits the number of batches to QPS a second on average, and to Burst at once after
	// a pause. Batches are not throttled any more when Backends are closed.
	Throttle bool
	QPS      float32
	Burst    int
}

// Truncate bounds the size of what a store gets, in bytes of JSON. An event that is too large loses
// its objects. If it is still too large, it is dropped.
type Truncate struct {
	Enabled    bool
	EventBytes int64 // largest event
	BatchBytes int64 // largest sum of the events in a batch
}

// DefaultLog returns the defaults of kube-apiserver for the log. Its Path is "".
func DefaultLog() LogConfig {
	return LogConfig{
		Format: FormatJSON, MaxSize: 100, MaxAge: 366, MaxBackups: 100,
		Delivery: Delivery{
			Mode: ModeBlocking, Version: V1, Batch: Batch{Buffer: 10_000, Size: 1}, Truncate: defaultTruncate,
		},
	}
}

// DefaultWebhook returns the defaults of kube-apiserver for the webhook. Its Kubeconfig is "".
func DefaultWebhook() WebhookConfig {
	return WebhookConfig{
		InitialBackoff: 10 * time.Second,
		Delivery: Delivery{
			Mode: ModeBatch, Version: V1, Truncate: defaultTruncate,
			Batch: Batch{Buffer: 10_000, Size: 400, Wait: 30 * time.Second, Throttle: true, QPS: 10, Burst: 15},
		},
	}
}

var defaultTruncate = Truncate{EventBytes: 100 << 10, BatchBytes: 10 << 20}

// Validate returns what is wrong with the configuration, in the words of kube-apiserver. It checks
// no files.
func (c *Config) Validate() []error { return append(c.Log.Validate(), c.Webhook.Validate()...) }

// Validate returns what is wrong with the configuration of the log. Nothing is wrong if there is no
// log.
func (c *LogConfig) Validate() []error {
	if c.Path == "" {
		return nil
	}
	errs := c.Delivery.validate(logName)
	if !slices.Contains(formats, c.Format) {
		errs = append(errs, fmt.Errorf("invalid audit log format %s, allowed formats are %q", c.Format,
			strings.Join(formats, ",")))
	}
	for _, bound := range []struct {
		flag  string
		value int
	}{{"--audit-log-maxage", c.MaxAge}, {"--audit-log-maxbackup", c.MaxBackups}, {"--audit-log-maxsize", c.MaxSize}} {
		if bound.value < 0 {
			errs = append(errs, fmt.Errorf("%s %d can't be a negative number", bound.flag, bound.value))
		}
	}
	return errs
}

// Validate returns what is wrong with the configuration of the webhook. Nothing is wrong if there
// is no webhook.
func (c *WebhookConfig) Validate() []error {
	if c.Kubeconfig == "" {
		return nil
	}
	return c.Delivery.validate(webhookName)
}

// validate returns what is wrong with the delivery to the store called name.
func (d *Delivery) validate(name string) []error {
	var errs []error
	for _, err := range []error{d.validateMode(name), d.Truncate.validate(name), validateVersion(d.Version)} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// validateMode returns the first mistake in the mode, and in the batches if the mode is batch.
func (d *Delivery) validateMode(name string) error {
	b := &d.Batch
	switch {
	case !slices.Contains(modes, d.Mode):
		return fmt.Errorf("invalid audit %s mode %s, allowed modes are %q", name, d.Mode, strings.Join(modes, ","))
	case d.Mode != ModeBatch:
	case b.Buffer <= 0:
		return fmt.Errorf("invalid audit batch %s buffer size %d, must be a positive number", name, b.Buffer)
	case b.Size <= 0:
		return fmt.Errorf("invalid audit batch %s max batch size %d, must be a positive number", name, b.Size)
	case b.Throttle && b.QPS <= 0:
		return fmt.Errorf("invalid audit batch %s throttle QPS %v, must be a positive number", name, b.QPS)
	case b.Throttle && b.Burst <= 0:
		return fmt.Errorf("invalid audit batch %s throttle burst %d, must be a positive number", name, b.Burst)
	}
	return nil
}

// validate returns what is wrong with the bounds, which kube-apiserver checks even if truncation is
// off.
func (t *Truncate) validate(name string) error {
	switch {
	case t.EventBytes <= 0:
		return fmt.Errorf("invalid audit truncate %s max event size %d, must be a positive number", name, t.EventBytes)
	case t.BatchBytes < t.EventBytes:
		return fmt.Errorf("invalid audit truncate %s max batch size %d, must be greater than max event size (%d)",
			name, t.BatchBytes, t.EventBytes)
	}
	return nil
}

// validateVersion returns what is wrong with the version of events.
func validateVersion(version string) error {
	switch {
	case strings.Count(version, "/") > 1:
		return fmt.Errorf("unexpected GroupVersion string: %s", version)
	case version != V1:
		return fmt.Errorf("invalid group version, allowed versions are %q", []string{V1})
	}
	return nil
}
