package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
)

// options are the flags of serve that do not go into the Config as they are.
type options struct {
	config     server.Config
	securePort int
	anonymous  bool
	profiling  bool
	media      string
	logLevel   string
	logFormat  string
}

// bind declares the flags.
func (o *options) bind(f *pflag.FlagSet) {
	c := &o.config
	f.StringVar(&c.DataDir, "data-dir", ".coracle", "folder for the store, certificates and the admin kubeconfig")

	f.StringVar(&c.Storage, "storage", "", "store: embedded, etcd, memory or file (default embedded, or etcd with --etcd-servers)")
	f.StringSliceVar(&c.EtcdServers, "etcd-servers", nil, "etcd servers to store in, as comma-separated URLs")
	f.StringVar(&c.EtcdCAFile, "etcd-cafile", "", "CA of the etcd servers")
	f.StringVar(&c.EtcdCertFile, "etcd-certfile", "", "client certificate for etcd")
	f.StringVar(&c.EtcdKeyFile, "etcd-keyfile", "", "key of the client certificate for etcd")
	f.StringVar(&c.EtcdPrefix, "etcd-prefix", "/registry", "prefix of all keys in the store")
	f.DurationVar(&c.CompactionInterval, "etcd-compaction-interval", 5*time.Minute, "how long the history of objects is kept; 0 for ever")
	f.StringVar(&o.media, "storage-media-type", "application/json", "how objects are stored: application/json or application/vnd.kubernetes.protobuf")
	f.StringVar(&c.EncryptionConfigFile, "encryption-provider-config", "", "EncryptionConfiguration file for encryption at rest")

	f.StringVar(&c.BindAddress, "bind-address", "127.0.0.1", "IP address to listen on")
	f.IntVar(&o.securePort, "secure-port", 6443, "port for HTTPS; 0 for none")
	f.IntVar(&c.HTTPPort, "http-port", 0, "port for plain HTTP on the bind address; 0 for none")
	f.StringVar(&c.TLSCertFile, "tls-cert-file", "", "serving certificate with its chain; made under the data directory if not given")
	f.StringVar(&c.TLSKeyFile, "tls-private-key-file", "", "key of the serving certificate")
	f.StringSliceVar(&c.ExtraSANs, "tls-san", nil, "further names and addresses for a self-made serving certificate")

	f.StringVar(&c.ClientCAFile, "client-ca-file", "", "CAs of client certificates, beside the server's own")
	f.StringVar(&c.TokenAuthFile, "token-auth-file", "", "CSV file of static tokens: token,user,uid,\"group1,group2\"")
	f.BoolVar(&o.anonymous, "anonymous-auth", true, "let requests without credentials in as system:anonymous")
	f.StringVar(&c.Authorization, "authorization-mode", server.AuthorizePrivileged, "AlwaysAllow, AlwaysDeny, or Privileged: all for system:masters, health and discovery for others")
	f.StringSliceVar(&c.CORSOrigins, "cors-allowed-origins", nil, "patterns of web origins that may call the API")

	f.StringSliceVar(&c.Controllers, "controllers", []string{"*"}, "controllers to run: names, * for all, -name to leave one out; empty for none")
	f.BoolVar(&c.AllowPrivileged, "allow-privileged", false, "let containers of pods be privileged")
	f.DurationVar(&c.EventTTL, "event-ttl", time.Hour, "how long events are kept")
	f.IntVar(&c.MaxReads, "max-requests-inflight", 400, "reading requests served at once; 0 for no bound")
	f.IntVar(&c.MaxWrites, "max-mutating-requests-inflight", 200, "writing requests served at once; 0 for no bound")
	f.IntVar(&c.MaxWatches, "max-watches-inflight", 10_000, "watches served at once; 0 for no bound")
	f.DurationVar(&c.RequestTimeout, "request-timeout", time.Minute, "bound on a request other than a watch")
	minWatch := 1800
	f.IntVar(&minWatch, "min-request-timeout", 1800, "least seconds that a watch without a timeout lasts")
	f.DurationVar(&c.ShutdownDelay, "shutdown-delay-duration", 0, "how long requests are served on after readiness has failed")
	f.BoolVar(&o.profiling, "profiling", true, "serve profiles at /debug/pprof/")

	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
}

// finish turns the flags' ways of saying things into the Config's.
func (o *options) finish(f *pflag.FlagSet) error {
	c := &o.config
	c.SecurePort = o.securePort
	if o.securePort == 0 {
		c.SecurePort = server.NoPort
	}
	c.NoAnonymous = !o.anonymous
	c.Profiling = o.profiling
	if c.CompactionInterval == 0 {
		c.CompactionInterval = -1
	}
	for _, n := range []*int{&c.MaxReads, &c.MaxWrites, &c.MaxWatches} {
		if *n == 0 {
			*n = -1
		}
	}
	if len(c.Controllers) == 1 && strings.TrimSpace(c.Controllers[0]) == "" {
		c.Controllers = []string{}
	}
	seconds, err := f.GetInt("min-request-timeout")
	if err != nil {
		return err
	}
	c.MinWatch = time.Duration(seconds) * time.Second
	return o.finishNames()
}
