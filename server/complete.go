package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/choice"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/health"
)

// The defaults and the validation of a Config. New, NewValidator and CheckStore call
// Config.complete first; all other code receives its result.

// completed is a Config in which every default is filled in and nothing is wrong. Config.complete
// makes it once, before anything else is made. Other code gets a copy of it or of its fields, so
// nobody sees a Config without its defaults, and no change reaches another holder.
type completed struct {
	Config
	origins []*regexp.Regexp  // Serving.CORSOrigins
	access  *access.Completed // Authorization
	standIn *standIn          // the process that stands in for etcd (see recognize); nil if there is none
}

// shutdownGrace is the time by which ShutdownConfig.Timeout exceeds RequestTimeout by default. It
// leaves writeGrace for clients to read the last answers, and 5 s more.
const shutdownGrace = writeGrace + 5*time.Second

// maxGoawayChance bounds HTTPConfig.GoawayChance, as kube-apiserver does: a higher chance would
// make clients reconnect all the time.
const maxGoawayChance = 0.02

// complete returns the configuration with its defaults. The error joins everything that is wrong
// with it.
func (c Config) complete() (completed, error) {
	setDefault(&c.DataDir, ".coracle")
	if c.Controllers == nil {
		c.Controllers = []string{"*"}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.API.Without.GarbageCollection {
		c.Controllers = append(slices.Clip(c.Controllers), "-"+garbageCollector)
	}
	c.API = c.API.complete()
	c.Storage = c.Storage.complete()
	c.Serving = c.Serving.complete()
	c.Authentication = c.Authentication.Complete()
	authorization, authorizationErr := c.Authorization.Complete()
	c.Limits = c.Limits.complete()
	setDefault(&c.Shutdown.Timeout, c.Limits.RequestTimeout+shutdownGrace)
	setDefault(&c.Shutdown.Linger, connections.Linger)
	origins, err := compileAll(c.Serving.CORSOrigins)
	return completed{c, origins, authorization, nil}, errors.Join(c.validate(), authorizationErr, err)
}

func (c APIConfig) complete() APIConfig {
	setDefault(&c.Version, KubernetesVersion+"+coracle."+Version)
	setDefault(&c.EventTTL, time.Hour)
	c.Core = c.Core || c.Groups == nil
	c.Services = c.Services.Complete()
	return c
}

func (c StorageConfig) complete() StorageConfig {
	if len(c.Etcd.Servers) > 0 {
		setDefault(&c.Engine, StorageEtcd)
	}
	setDefault(&c.Engine, StorageEmbedded)
	setDefault(&c.Prefix, "/registry")
	setDefault(&c.InitTimeout, 5*time.Second)
	setDefault(&c.HealthTimeout, health.DefaultTimeout)
	setDefault(&c.ReadyTimeout, health.DefaultTimeout)
	c.Prefix = "/" + strings.Trim(c.Prefix, "/")
	setDefault(&c.CompactionInterval, 5*time.Minute)
	setDefault(&c.MinCompatibility, fmt.Sprintf("1.%d", generic.DefaultCompatible))
	return c
}

// shared reports whether other servers may work on the same store.
func (c *StorageConfig) shared() bool { return c.Engine == StorageEtcd || c.Store != nil }

func (c ServingConfig) complete() ServingConfig {
	c.Audit = c.Audit.complete()
	setDefault(&c.BindAddress, "127.0.0.1")
	setDefault(&c.SecurePort, defaultPort)
	setDefault(&c.HTTPPort, NoPort)
	setDefault(&c.HTTP.MaxStreams, connections.MaxStreams)
	setDefault(&c.TLS.MinVersion, tls.VersionTLS12)
	c.TLS.Signing = c.TLS.Signing.Complete()
	return c
}

func (c LimitsConfig) complete() LimitsConfig {
	setDefault(&c.MaxReads, 400)
	setDefault(&c.MaxWrites, 200)
	setDefault(&c.MaxWatches, 10_000)
	setDefault(&c.RequestTimeout, time.Minute)
	setDefault(&c.MinWatch, 30*time.Minute)
	return c
}

// setDefault sets *p to value if *p is the zero value.
func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// compileAll compiles the regular expressions of --cors-allowed-origins. The error joins all that
// are invalid.
func compileAll(patterns []string) ([]*regexp.Regexp, error) {
	compiled := make([]*regexp.Regexp, len(patterns))
	var errs []error
	for i, p := range patterns {
		var err error
		if compiled[i], err = regexp.Compile(p); err != nil {
			errs = append(errs, fmt.Errorf("--cors-allowed-origins: %w", err))
		}
	}
	return compiled, errors.Join(errs...)
}

// validate returns everything that is wrong with a configuration that has its defaults.
func (c *Config) validate() error {
	errs := []error{
		c.API.validate(), c.API.Aggregation.Validate(), c.Storage.validate(), c.Serving.validate(),
		c.Authentication.Validate(), c.Admission.Validate(), c.Serving.Audit.validate(),
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"timeout of the health check etcd (--etcd-healthcheck-timeout)", c.Storage.HealthTimeout},
		{"timeout of the health check etcd-readiness (--etcd-readycheck-timeout)", c.Storage.ReadyTimeout},
		{"time to wait for etcd (--storage-initialization-timeout)", c.Storage.InitTimeout},
		{"request timeout (--request-timeout)", c.Limits.RequestTimeout},
		{"least time of watches (--min-request-timeout)", c.Limits.MinWatch},
		{"shutdown delay (--shutdown-delay-duration)", c.Shutdown.Delay},
		{"shutdown timeout (Shutdown.Timeout)", c.Shutdown.Timeout},
		{"time for ending watches (--shutdown-watch-termination-grace-period)", c.Shutdown.WatchGrace},
		{"time for ending connections (Shutdown.Linger)", c.Shutdown.Linger},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("the %s is negative: %v", d.name, d.value))
		}
	}
	for _, name := range c.Controllers {
		if bare := controllerName(strings.TrimPrefix(name, "-")); bare != "*" &&
			!slices.Contains(controllerNames(), bare) {
			errs = append(errs,
				fmt.Errorf("unknown controller %q: there are %s", name, strings.Join(controllerNames(), ", ")))
		}
	}
	return errors.Join(errs...)
}

func (c *APIConfig) validate() error {
	var errs []error
	for i := range c.Groups {
		if c.Groups[i].AddToScheme == nil {
			errs = append(errs, fmt.Errorf("group %q registers no types: AddToScheme is nil", c.Groups[i].Name))
		}
	}
	errs = append(errs, choice.CheckProfile(c.Profile))
	return errors.Join(append(errs, c.Services.Validate())...)
}

func (c *StorageConfig) validate() error {
	if c.EncryptionReload && c.EncryptionConfigFile == "" {
		return errors.New("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
	}
	if err := c.validateOverrides(); err != nil {
		return err
	}
	if _, err := c.compatible(); err != nil {
		return err
	}
	switch c.Engine {
	case StorageEmbedded, StorageMemory, StorageFile:
		if len(c.Etcd.Servers) > 0 {
			return fmt.Errorf("etcd servers are given (--etcd-servers), but the storage is %q: leave one of them out", c.Engine)
		}
	case StorageEtcd:
		if len(c.Etcd.Servers) == 0 {
			return fmt.Errorf("storage %q needs etcd servers (--etcd-servers)", c.Engine)
		}
	default:
		return fmt.Errorf("unknown storage %q: must be %s, %s, %s or %s", c.Engine, StorageEmbedded, StorageEtcd,
			StorageMemory, StorageFile)
	}
	return nil
}

// validate returns everything that is wrong with the addresses, ports, certificate and HTTP
// settings. Only NoPort and AnyPort are below 0; a port of 0 does not occur, because it stands for
// the default.
func (c *ServingConfig) validate() error {
	errs := []error{c.TLS.Signing.Validate()}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if net.ParseIP(c.BindAddress) == nil {
		bad("--bind-address %q is no IP address", c.BindAddress)
	}
	if c.AdvertiseAddress != "" && net.ParseIP(c.AdvertiseAddress) == nil {
		bad("--advertise-address %q is no IP address", c.AdvertiseAddress)
	}
	for _, port := range []int{c.SecurePort, c.HTTPPort} {
		if port > 65535 || port < AnyPort {
			bad("port %d is out of range: must be from 1 to 65535 (--secure-port, --http-port)", port)
		}
	}
	if c.SecurePort == NoPort && c.HTTPPort == NoPort {
		bad("there is neither a secure port nor an HTTP port: set one of them")
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		bad("a TLS certificate and its key must be given together (--tls-cert-file, --tls-private-key-file)")
	}
	if !(c.HTTP.GoawayChance >= 0 && c.HTTP.GoawayChance <= maxGoawayChance) { // also false for NaN
		bad("--goaway-chance is %v: must be from 0 to %v", c.HTTP.GoawayChance, maxGoawayChance)
	}
	if c.HTTP.MaxStreams < 0 {
		bad("--http2-max-streams-per-connection is negative: %d", c.HTTP.MaxStreams)
	}
	for _, directive := range c.HTTP.HSTS {
		if age, is := strings.CutPrefix(directive, "max-age="); directive != "includeSubDomains" &&
			directive != "preload" && (!is || strings.Contains(age, "=")) {
			bad("--strict-transport-security-directives: %q is no directive: must be max-age=SECONDS, includeSubDomains or preload", directive)
		}
	}
	return errors.Join(errs...)
}

// authority reports whether the server signs certificates itself.
func (c *ServingConfig) authority() bool { return c.SecurePort != NoPort && c.TLS.CertDir == "" }

// path returns the path of a file or folder under DataDir.
func (c *Config) path(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}
