package server

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/storage"
)

// The storage engines that Config.Storage names.
const (
	StorageEmbedded = "embedded" // an etcd server inside the process, data under DataDir
	StorageEtcd     = "etcd"     // any etcd cluster, see EtcdServers
	StorageMemory   = "memory"   // nothing survives
	StorageFile     = "file"     // a folder of YAML files under DataDir
)

// The authorization modes that Config.Authorization names.
const (
	AuthorizeAlways     = "AlwaysAllow"
	AuthorizeNever      = "AlwaysDeny"
	AuthorizePrivileged = "Privileged" // system:masters may do everything, others may look at health and discovery
)

// Config says what a server is to be. The zero Config serves the Kubernetes kinds over TLS on 127.0.0.1:6443 with an
// embedded store and self-made certificates under ./.coracle.
type Config struct {
	// Groups are the API groups to serve; nil means Core.
	Groups []Group
	// Core serves Kubernetes' own groups beside Groups.
	Core bool
	// Admission returns further admission plugins, which run after NamespaceLifecycle. It is called once, when the
	// server's stores exist.
	Admission func(s *Server) (admission.Chain, error)
	// Setup is called last in New, to add hooks and paths of one's own.
	Setup func(s *Server) error
	// Controllers selects what runs beside the API: names, "*" for all that are on by default, "-name" to leave
	// one out. nil means {"*"}; an empty list means none.
	Controllers []string

	// DataDir holds everything the server keeps on disk, default ".coracle". What is made there is for its owner alone.
	DataDir string
	// Storage is the engine, default StorageEmbedded, or StorageEtcd if EtcdServers is set.
	Storage string
	// Store is used instead of an engine that New would open. The server closes it, also if New fails.
	Store storage.Store
	// EtcdServers are client URLs; the files hold PEM.
	EtcdServers                           []string
	EtcdCAFile, EtcdCertFile, EtcdKeyFile string
	// EtcdPrefix is where all objects are kept, default "/registry".
	EtcdPrefix string
	// CompactionInterval is how long history is kept, default 5 min; negative: for ever.
	CompactionInterval time.Duration
	// EncryptionConfigFile names an EncryptionConfiguration; "" stores plain text.
	EncryptionConfigFile string
	// StorageProtobuf stores objects as protobuf instead of JSON. Both are always readable.
	StorageProtobuf bool

	// BindAddress is where the server listens, default 127.0.0.1.
	BindAddress string
	// SecurePort is for HTTPS: 0 means 6443, NoPort none, AnyPort one that is free.
	SecurePort int
	// HTTPPort is for plain HTTP without authentication of its own kind: 0 or NoPort means none, AnyPort one that is
	// free.
	HTTPPort int
	// TLSCertFile and TLSKeyFile hold the serving certificate; "" makes one under DataDir/pki. They are read again
	// when they change.
	TLSCertFile, TLSKeyFile string
	// ExtraSANs are further names and addresses for a self-made certificate.
	ExtraSANs []string
	// ClientCAFile holds the CAs of client certificates, beside the server's own.
	ClientCAFile string
	// TokenAuthFile is a CSV of token,user,uid,"group,...".
	TokenAuthFile string
	// NoAnonymous refuses requests without credentials.
	NoAnonymous bool
	// Authenticators are asked after those above.
	Authenticators []request.Authenticator
	// Authorization is the mode, default AuthorizePrivileged. Authorizer is asked before it, if set.
	Authorization string
	Authorizer    request.Authorizer
	// CORSOrigins are patterns of web origins that may call the API; none by default.
	CORSOrigins []string

	// MaxReads, MaxWrites and MaxWatches bound the requests being served at once; 0 means 400, 200 and 10,000, negative
	// no bound. Anonymous requests have places of their own beside them, a quarter as many. Health needs none.
	MaxReads, MaxWrites, MaxWatches int
	// RequestTimeout bounds a request, default 1 min. MinWatch is the least time that a watch without timeoutSeconds
	// lasts, default 30 min.
	RequestTimeout, MinWatch time.Duration
	// ShutdownDelay is how long requests are still served after readiness has failed, default 0. ShutdownTimeout
	// bounds the wait for running requests, default RequestTimeout and 15 s.
	ShutdownDelay, ShutdownTimeout time.Duration
	// EventTTL is how long Events are kept, default 1 h.
	EventTTL time.Duration
	// AllowPrivileged lets containers of Pods be privileged.
	AllowPrivileged bool
	// Profiling serves /debug/pprof, to who may see it.
	Profiling bool

	// Log is the server's log; nil means none.
	Log *zap.Logger
}

// Port numbers with a meaning of their own.
const (
	NoPort  = -1
	AnyPort = -2

	defaultPort = 6443

	// shutdownGrace is how much longer than a request shutdown takes by default: a client may take as long as the request, and
	// writeGrace, to read the last answer.
	shutdownGrace = writeGrace + 5*time.Second
)

// complete fills in defaults and returns everything that is wrong with the configuration.
func (c *Config) complete() error {
	setDefault(&c.DataDir, ".coracle")
	setDefault(&c.BindAddress, "127.0.0.1")
	setDefault(&c.EtcdPrefix, "/registry")
	setDefault(&c.Authorization, AuthorizePrivileged)
	setDefault(&c.RequestTimeout, time.Minute)
	setDefault(&c.MinWatch, 30*time.Minute)
	setDefault(&c.ShutdownTimeout, c.RequestTimeout+shutdownGrace)
	setDefault(&c.CompactionInterval, 5*time.Minute)
	setDefault(&c.EventTTL, time.Hour)
	setDefault(&c.SecurePort, defaultPort)
	c.EtcdPrefix = "/" + strings.Trim(c.EtcdPrefix, "/")
	if c.HTTPPort == NoPort {
		c.HTTPPort = 0
	}
	setDefault(&c.MaxReads, 400)
	setDefault(&c.MaxWrites, 200)
	setDefault(&c.MaxWatches, 10_000)
	if c.Storage == "" {
		c.Storage = StorageEmbedded
		if len(c.EtcdServers) > 0 {
			c.Storage = StorageEtcd
		}
	}
	if c.Core || c.Groups == nil {
		c.Groups = append(coreGroups(c), c.Groups...)
	}
	if c.Controllers == nil {
		c.Controllers = []string{"*"}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c.validate()
}

func (c *Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch c.Storage {
	case StorageEmbedded, StorageMemory, StorageFile:
		if len(c.EtcdServers) > 0 {
			bad("etcd servers are given, but the storage is %q", c.Storage)
		}
	case StorageEtcd:
		if len(c.EtcdServers) == 0 {
			bad("storage %q needs etcd servers", c.Storage)
		}
	default:
		bad("unknown storage %q: must be %s, %s, %s or %s", c.Storage, StorageEmbedded, StorageEtcd, StorageMemory, StorageFile)
	}
	switch c.Authorization {
	case AuthorizeAlways, AuthorizeNever, AuthorizePrivileged:
	default:
		bad("unknown authorization mode %q", c.Authorization)
	}
	if net.ParseIP(c.BindAddress) == nil {
		bad("bind address %q is no IP address", c.BindAddress)
	}
	for _, port := range []int{c.SecurePort, c.HTTPPort} {
		if port > 65535 || port < AnyPort {
			bad("port %d is out of range", port)
		}
	}
	if c.SecurePort == NoPort && c.HTTPPort == 0 {
		bad("there is neither a secure port nor an HTTP port")
	}
	if (c.TLSCertFile == "") != (c.TLSKeyFile == "") {
		bad("a TLS certificate and its key must be given together")
	}
	for i := range c.Groups {
		if c.Groups[i].AddToScheme == nil {
			bad("group %q registers no types: AddToScheme is nil", c.Groups[i].Name)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"request timeout", c.RequestTimeout}, {"least time of watches", c.MinWatch}, {"shutdown delay", c.ShutdownDelay},
		{"shutdown timeout", c.ShutdownTimeout}, {"time to live of events", c.EventTTL},
	} {
		if d.value < 0 {
			bad("the %s is negative: %v", d.name, d.value)
		}
	}
	for _, name := range c.Controllers {
		if bare := controllerName(strings.TrimPrefix(name, "-")); bare != "*" && !slices.Contains(controllerNames(), bare) {
			bad("unknown controller %q: there are %s", name, strings.Join(controllerNames(), ", "))
		}
	}
	for _, o := range c.CORSOrigins {
		if _, err := regexp.Compile(o); err != nil {
			bad("CORS origin: %w", err)
		}
	}
	return errors.Join(errs...)
}

// setDefault sets a field that has been left at its zero value.
func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// path returns a place under DataDir.
func (c *Config) path(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}
