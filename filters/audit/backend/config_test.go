package backend

import (
	"errors"
	"testing"
)

// TestValidate wants kube-apiserver's messages for each mistake, and none in what is not used.
func TestValidate(t *testing.T) {
	type change = func(*Config)
	for _, tt := range []struct {
		name   string
		change change
		want   string // "" for no mistake; lines are sorted as they are reported
	}{
		{"defaults", func(*Config) {}, ""},
		{"no log, no webhook", func(c *Config) {
			*c = Config{Log: LogConfig{MaxAge: -1}, Webhook: WebhookConfig{Delivery: Delivery{Mode: "x"}}}
		}, ""},
		{"mode", func(c *Config) { c.Log.Mode = "slow" },
			`invalid audit log mode slow, allowed modes are "batch,blocking,blocking-strict"`},
		{"mode of the webhook", func(c *Config) { c.Webhook.Mode = "" },
			`invalid audit webhook mode , allowed modes are "batch,blocking,blocking-strict"`},
		{"buffer", func(c *Config) { c.Webhook.Batch.Buffer = 0 },
			`invalid audit batch webhook buffer size 0, must be a positive number`},
		{"batch", func(c *Config) { c.Webhook.Batch.Size = -1 },
			`invalid audit batch webhook max batch size -1, must be a positive number`},
		{"qps", func(c *Config) { c.Webhook.Batch.QPS = -0.5 },
			`invalid audit batch webhook throttle QPS -0.5, must be a positive number`},
		{"burst", func(c *Config) { c.Webhook.Batch.Burst = 0 },
			`invalid audit batch webhook throttle burst 0, must be a positive number`},
		{"no throttle", func(c *Config) { c.Webhook.Batch.Throttle, c.Webhook.Batch.QPS = false, 0 }, ""},
		{"batches of a blocking mode", func(c *Config) { c.Log.Batch = Batch{} }, ""},
		{"event size", func(c *Config) { c.Log.Truncate.EventBytes = 0 },
			`invalid audit truncate log max event size 0, must be a positive number`},
		{"batch size", func(c *Config) { c.Webhook.Truncate.BatchBytes = 10 },
			`invalid audit truncate webhook max batch size 10, must be greater than max event size (102400)`},
		{"version", func(c *Config) { c.Log.Version = "audit.k8s.io/v1beta1" },
			`invalid group version, allowed versions are ["audit.k8s.io/v1"]`},
		{"no version", func(c *Config) { c.Webhook.Version = "a/b/c" }, `unexpected GroupVersion string: a/b/c`},
		{"format", func(c *Config) { c.Log.Format = "xml" },
			`invalid audit log format xml, allowed formats are "legacy,json"`},
		{"files", func(c *Config) { c.Log.MaxAge, c.Log.MaxBackups, c.Log.MaxSize = -1, -2, -3 },
			"--audit-log-maxage -1 can't be a negative number\n--audit-log-maxbackup -2 can't be a negative number\n" +
				"--audit-log-maxsize -3 can't be a negative number"},
		{"several", func(c *Config) {
			c.Log.Mode, c.Log.Truncate.EventBytes, c.Log.Version, c.Webhook.Mode = "", 0, "x", "y"
		},
			"invalid audit log mode , allowed modes are \"batch,blocking,blocking-strict\"\n" +
				"invalid audit truncate log max event size 0, must be a positive number\n" +
				"invalid group version, allowed versions are [\"audit.k8s.io/v1\"]\n" +
				"invalid audit webhook mode y, allowed modes are \"batch,blocking,blocking-strict\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newGauges(t).config()
			c.Log.Path, c.Webhook.Kubeconfig = "/nowhere/audit.log", "/nowhere/kubeconfig"
			tt.change(&c)
			got := ""
			if err := errors.Join(c.Validate()...); err != nil {
				got = err.Error()
				if _, err := New(c); err == nil || err.Error() != got {
					t.Errorf("New: got %v, want the mistakes", err)
				}
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
