package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
)

// options are the flags of serve that do not go into the Config as they are.
type options struct {
	config    server.Config
	anonymous bool
	claims    []string // name=value
	given     func(flag string) bool
	lookup    bool     // of tokens in secrets
	extend    bool     // tokens of pods
	runtime   []string // key=value, or just a key
	minWatch  int      // seconds
	media     string
	logLevel  string
	logFormat string
}

// bind declares the flags.
func (o *options) bind(f *pflag.FlagSet) {
	c := &o.config
	f.StringVar(&c.DataDir, "data-dir", ".coracle", "folder for the store, certificates and the admin kubeconfig")
	f.StringVar(&c.API.Manifests, "manifests", "", "folder of YAML and JSON files to apply before the server is ready: definitions, then objects")

	f.StringVar(&c.Storage.Engine, "storage", "", "store: embedded, etcd, memory or file (default embedded, or etcd with --etcd-servers)")
	f.StringSliceVar(&c.Storage.Etcd.Servers, "etcd-servers", nil, "etcd servers to store in, as comma-separated URLs")
	f.StringVar(&c.Storage.Etcd.CAFile, "etcd-cafile", "", "CA of the etcd servers")
	f.StringVar(&c.Storage.Etcd.CertFile, "etcd-certfile", "", "client certificate for etcd")
	f.StringVar(&c.Storage.Etcd.KeyFile, "etcd-keyfile", "", "key of the client certificate for etcd")
	f.StringVar(&c.Storage.Prefix, "etcd-prefix", "/registry", "prefix of all keys in the store")
	f.DurationVar(&c.Storage.CompactionInterval, "etcd-compaction-interval", 5*time.Minute, "how long the history of objects is kept; 0 for ever")
	f.StringVar(&o.media, "storage-media-type", "application/json", "how objects are stored: application/json or application/vnd.kubernetes.protobuf")
	f.StringVar(&c.Storage.EncryptionConfigFile, "encryption-provider-config", "", "EncryptionConfiguration file for encryption at rest")

	f.StringVar(&c.Serving.BindAddress, "bind-address", "127.0.0.1", "IP address to listen on")
	f.StringVar(&c.Serving.AdvertiseAddress, "advertise-address", "", "IP address under which the service kubernetes knows the server; by default --bind-address, or that of the default route's interface")
	f.IntVar(&c.Serving.SecurePort, "secure-port", 6443, "port for HTTPS; 0 for none")
	f.IntVar(&c.Serving.HTTPPort, "http-port", 0, "port for plain HTTP on the bind address; 0 for none")
	f.StringVar(&c.Serving.TLS.CertFile, "tls-cert-file", "", "serving certificate with its chain; made under the data directory if not given")
	f.StringVar(&c.Serving.TLS.KeyFile, "tls-private-key-file", "", "key of the serving certificate")
	f.StringSliceVar(&c.Serving.TLS.SANs, "tls-san", nil, "further names and addresses for a self-made serving certificate")

	o.bindAuthentication(f)
	o.bindAuthorization(f)
	f.StringSliceVar(&c.Serving.CORSOrigins, "cors-allowed-origins", nil, "patterns of web origins that may call the API")

	f.StringSliceVar(&c.Controllers, "controllers", []string{"*"}, "controllers to run: names, * for all, -name to leave one out; empty for none")
	f.StringSliceVar(&o.runtime, "runtime-config", nil, "API versions and resources to turn on or off: apps/v1=false, apps/v1/deployments=true, /v1/pods=false, api/all=false")
	f.StringVar(&c.API.Profile, "profile", "", "crd-only serves of the built-in resources those alone that a server for resources of one's own needs")
	f.BoolVar(&c.API.AllowPrivileged, "allow-privileged", false, "let containers of pods be privileged")
	f.StringSliceVar(&c.API.Services.ClusterIPRanges, "service-cluster-ip-range", []string{"10.0.0.0/24"},
		"ranges that the cluster IPs of services come from: one, or two of different families")
	f.DurationVar(&c.API.EventTTL, "event-ttl", time.Hour, "how long events are kept")
	f.StringVar(&c.API.Services.NodePortRange, "service-node-port-range", "30000-32767", "ports that services of the types NodePort and LoadBalancer get: first-last or first+more")
	f.IntVar(&c.Limits.MaxReads, "max-requests-inflight", 400, "reading requests served at once; 0 for no bound")
	f.IntVar(&c.Limits.MaxWrites, "max-mutating-requests-inflight", 200, "writing requests served at once; 0 for no bound")
	f.IntVar(&c.Limits.MaxWatches, "max-watches-inflight", 10_000, "watches served at once; 0 for no bound")
	f.DurationVar(&c.Limits.RequestTimeout, "request-timeout", time.Minute, "bound on a request other than a watch")
	f.IntVar(&o.minWatch, "min-request-timeout", 1800, "least seconds that a watch without a timeout lasts")
	f.DurationVar(&c.Shutdown.Delay, "shutdown-delay-duration", 0, "how long requests are served on after readiness has failed")
	f.BoolVar(&c.Serving.Profiling, "profiling", true, "serve profiles at /debug/pprof/")

	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
}

// finish turns the flags' ways of saying things into the Config's.
func (o *options) finish() error {
	c := &o.config
	for _, port := range []*int{&c.Serving.SecurePort, &c.Serving.HTTPPort} {
		if *port == 0 {
			*port = server.NoPort
		}
	}
	for _, d := range []*time.Duration{&c.Storage.CompactionInterval, &c.Authentication.Webhook.CacheTTL} {
		if *d == 0 {
			*d = -1
		}
	}
	for _, n := range []*int{&c.Limits.MaxReads, &c.Limits.MaxWrites, &c.Limits.MaxWatches} {
		if *n == 0 {
			*n = -1
		}
	}
	o.finishAuthorization()
	if len(c.Controllers) == 1 && strings.TrimSpace(c.Controllers[0]) == "" {
		c.Controllers = []string{}
	}
	c.Limits.MinWatch = time.Duration(o.minWatch) * time.Second
	c.API.Runtime = map[string]string{}
	for _, entry := range o.runtime {
		if key, value, _ := strings.Cut(entry, "="); entry != "" {
			c.API.Runtime[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return errors.Join(o.finishAuthentication(), o.finishNames())
}
