// The configuration of a server, as a program or a command writes it. complete.go fills in the
// defaults and validates it. The parts that configure themselves have their own types:
// identity.Config, access.Config, plugins.Config, addresses.Config, aggregator.Config.

package server

import (
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/choice"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/health"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/storage"
)

// Config describes a server. The zero value of each of its parts works: the zero Config serves the
// Kubernetes kinds over TLS on 127.0.0.1:6443, with an embedded store and self-made certificates
// under ./.coracle.
//
// New copies the Config, fills in the defaults and validates the whole before anything reads it.
// Comments give in brackets the flag of kube-apiserver that sets the same thing.
type Config struct {
	// DataDir holds everything the server keeps on disk, default ".coracle". Only the owner can
	// read the files and folders that the server makes in it.
	DataDir string

	API            APIConfig
	Storage        StorageConfig
	Serving        ServingConfig
	Authentication identity.Config
	Authorization  access.Config
	Admission      plugins.Config
	Limits         LimitsConfig
	Shutdown       ShutdownConfig

	// Controllers selects the controllers that the server runs: names, "*" for all that are on by
	// default, "-name" to leave one out. nil means {"*"}; an empty list means none. (--controllers
	// of kube-controller-manager)
	Controllers []string
	// Setup is called at the end of New. A program adds its own hooks and paths in it. If Setup
	// returns an error New fails.
	Setup func(s *Server) error
	// Log is the server's log; nil means none.
	Log *zap.Logger
}

// Group is an API group to serve.
type Group = generic.Group

// Stores finds the store of a resource by any of its names.
type Stores = generic.Stores

// APIConfig says which API groups are served, and how their resources behave.
type APIConfig struct {
	// Groups are the API groups to serve; nil means Core.
	Groups []Group
	// Core serves Kubernetes' own groups beside Groups. Without Core there are no Namespaces: a
	// client may store objects in any namespace that it names. Roles are then served only if RBAC
	// authorizes, and SubjectAccessReviews and TokenReviews unless every request is allowed.
	Core bool
	// Profile selects some of Kubernetes' own resources; "" selects all, ProfileCRDOnly the few
	// that a server for custom resources needs.
	Profile string
	// Runtime switches versions and resources on and off. A key is a version (apps/v1, or /v1 for
	// the legacy group), a resource in a version (apps/v1/deployments), or "api/all", "api/ga",
	// "api/beta" or "api/alpha" for many versions; its value is "true" or "false". Runtime applies
	// after Profile, and only to the groups that New installs. A version or resource that is off
	// does not exist: no document shows it, and it costs nothing. (--runtime-config)
	Runtime map[string]string
	// Version is what /version says, default KubernetesVersion with Coracle's after it. (--version)
	Version string
	// EventTTL is how long Events are kept, default 1 h; negative: for ever. (--event-ttl)
	EventTTL time.Duration
	// AllowPrivileged lets containers of Pods be privileged. (--allow-privileged)
	AllowPrivileged bool
	// Services sets the ranges from which Services get their cluster IPs and node ports.
	Services addresses.Config
	// Aggregation sets how this server reaches the API servers behind it.
	Aggregation aggregator.Config
	// Without leaves features out of the API.
	Without WithoutConfig
	// Manifests is a YAML or JSON file, or a folder of such files. The server applies the objects
	// in them before it is ready, at every start: first CustomResourceDefinitions, until they are
	// served, then Namespaces, then all others in the order of the files. An object that is as it
	// should be is not written. "" means none.
	Manifests string
	// Objects are applied after those of Manifests, by the same rules.
	Objects []manifest.Object
}

// WithoutConfig switches features of the API off. By default all are on.
type WithoutConfig struct {
	// GarbageCollection: no garbage collector runs. Dependents stay when their owner is deleted,
	// and a deletion's propagationPolicy is ignored. (--enable-garbage-collector=false)
	GarbageCollection bool
	// WatchLists: a watch cannot begin with the objects that exist (sendInitialEvents, KEP-3157).
	// (--feature-gates=WatchList=false)
	WatchLists bool
	// Compression: large answers are not compressed. (--feature-gates=APIResponseCompression=false)
	Compression bool
	// IdentityLease: this server keeps no Lease by which the other servers of the store see that it
	// lives. (--feature-gates=APIServerIdentity=false)
	IdentityLease bool
	// PriorityAndFairness: the server does not write the status of FlowSchemas. It still makes and
	// keeps the FlowSchemas and PriorityLevelConfigurations that every cluster has.
	// (--enable-priority-and-fairness=false)
	PriorityAndFairness bool
}

// ProfileCRDOnly is the APIConfig.Profile of a server for custom resources. It keeps, of
// Kubernetes' own resources, Namespaces, ConfigMaps, Secrets, ServiceAccounts, Roles and their
// bindings, Events, Leases and CustomResourceDefinitions.
const ProfileCRDOnly = choice.CRDOnly

// The storage engines that StorageConfig.Engine names.
const (
	StorageEmbedded = "embedded" // an etcd server inside the process, data under DataDir
	StorageEtcd     = "etcd"     // any etcd cluster, see EtcdConfig
	StorageMemory   = "memory"   // nothing survives
	StorageFile     = "file"     // a folder of YAML files under DataDir
)

// StorageConfig says where objects are stored, and in which encoding.
type StorageConfig struct {
	// Engine is StorageEmbedded, StorageEtcd, StorageMemory or StorageFile. Default: StorageEtcd if
	// Etcd.Servers names some, otherwise StorageEmbedded.
	Engine string
	// Store is used instead of an engine that New would open. The server closes it, also if New
	// fails. A Store that wraps an engine should be a storage.Wrapper, so that the server finds the
	// optional abilities of the engine.
	Store storage.Store
	// Etcd is the cluster of StorageEtcd.
	Etcd EtcdConfig
	// Overrides keep single resources in other stores. If two Overrides name one resource the later
	// one applies. (--etcd-servers-overrides)
	Overrides []StorageOverride
	// InitTimeout bounds how long New waits for an etcd cluster, default 5 s. The flag's default is
	// a minute. (--storage-initialization-timeout)
	InitTimeout time.Duration
	// Timeouts bound the health checks of the store.
	health.Timeouts
	// Prefix begins the key of every object in the store, default "/registry". (--etcd-prefix)
	Prefix string
	// CompactionInterval is the time between compactions of the store, which is about how long old
	// revisions stay readable; default 5 min; negative: the server never compacts.
	// (--etcd-compaction-interval)
	CompactionInterval time.Duration
	// EncryptionConfigFile names an EncryptionConfiguration; "" stores plain text.
	// (--encryption-provider-config)
	EncryptionConfigFile string
	// EncryptionReload reads EncryptionConfigFile again when it changes. Objects that were
	// encrypted with keys that the new file lacks become unreadable. A file that is invalid, or
	// whose KMS plugin does not answer, leaves the old configuration in force.
	// (--encryption-provider-config-automatic-reload)
	EncryptionReload bool
	// Protobuf stores objects as protobuf instead of JSON. The server reads both encodings in any
	// case. (--storage-media-type)
	Protobuf bool
	// MinCompatibility is the oldest release of Kubernetes whose servers can read the stored
	// objects, "1.33" to "1.36"; default "1.35". Each of Kubernetes' own kinds is stored in the
	// version that this release prefers among those that it knows. (--min-compatibility-version)
	MinCompatibility string
}

// EtcdConfig says how to reach an etcd cluster.
type EtcdConfig struct {
	// Servers are client URLs. (--etcd-servers)
	Servers []string
	// CAFile holds the CAs of etcd's certificates, CertFile and KeyFile the client certificate that
	// the server shows to etcd: PEM files, each optional. (--etcd-cafile, --etcd-certfile,
	// --etcd-keyfile)
	CAFile, CertFile, KeyFile string
}

// Values of ServingConfig.SecurePort and HTTPPort that are no port numbers: NoPort opens no port,
// AnyPort lets the system choose a free one.
const (
	NoPort  = -1
	AnyPort = -2

	defaultPort = 6443
)

// ServingConfig says where and how the server listens.
type ServingConfig struct {
	// BindAddress is the IP address of all ports, default 127.0.0.1. (--bind-address)
	BindAddress string
	// AdvertiseAddress is this server's IP address in the endpoints of the Service "kubernetes".
	// Default: BindAddress. If other machines cannot reach BindAddress (it is unspecified or a
	// loopback address), the default is the address of the interface with the default route. If
	// there is no such interface the server is not among the endpoints. (--advertise-address)
	AdvertiseAddress string
	// SecurePort is the port for HTTPS: 0 means 6443, NoPort none, AnyPort a free one.
	// (--secure-port)
	SecurePort int
	// HTTPPort is the port for plain HTTP: 0 or NoPort means none, AnyPort a free one. Its requests
	// pass the same filters as those of the secure port, but clients cannot show certificates.
	HTTPPort int
	// TLS sets the serving certificate and the parameters of TLS on the secure port, and who signs
	// the certificates that clients request.
	TLS identity.TLS
	// ExternalHostname stands in documents (discovery, the OpenID configuration) as the name of
	// this server, in place of its address. (--external-hostname)
	ExternalHostname string
	// CORSOrigins are patterns of web origins that may call the API; none by default.
	// (--cors-allowed-origins)
	CORSOrigins []string
	// HTTP sets limits and headers of the protocol.
	HTTP HTTPConfig
	// Share lets other processes listen where this server listens.
	Share Sharing
	// Audit says what is recorded of requests, and where.
	Audit AuditConfig
	// LivezGrace is the time after the start in which /livez counts a post-start hook that still
	// runs as done, default 0. (--livez-grace-period)
	LivezGrace time.Duration
	// Debug sets which profiles, traces and debugging paths the server offers.
	Debug inspect.Config
}

// Sharing lets other processes listen on the same port.
type Sharing struct {
	// Port lets them listen at the same address, too (SO_REUSEPORT). (--permit-port-sharing)
	Port bool
	// Address lets another process listen at the unspecified address while this server listens at
	// one address, or the reverse (SO_REUSEADDR). (--permit-address-sharing)
	Address bool
}

// HTTPConfig says how the server speaks to clients.
type HTTPConfig struct {
	// Settings configure the filters that each request passes.
	filters.Settings
	// HTTP1Only: the server does not offer HTTP/2. (--disable-http2-serving)
	HTTP1Only bool
	// MaxStreams bounds how many requests one HTTP/2 connection may have open at a time, default
	// 250. (--http2-max-streams-per-connection)
	MaxStreams int
}

// LimitsConfig bounds the requests of clients in number and time.
type LimitsConfig struct {
	// MaxReads, MaxWrites and MaxWatches bound how many requests are served at once; 0 means 400,
	// 200 and 10,000, negative no bound. Anonymous requests have seats of their own beside these, a
	// quarter as many. Health checks need no seat. (--max-requests-inflight,
	// --max-mutating-requests-inflight)
	MaxReads, MaxWrites, MaxWatches int
	// RequestTimeout bounds a request other than a watch, default 1 min. (--request-timeout)
	RequestTimeout time.Duration
	// MinWatch is the least time that a watch without timeoutSeconds lasts, default 30 min.
	// (--min-request-timeout, in seconds there)
	MinWatch time.Duration
	// DeleteWorkers is how many objects one deletion of a collection deletes at a time, default 1.
	// (--delete-collection-workers)
	DeleteWorkers int
}

// ShutdownConfig sets the times of a shutdown, whose steps Server.Run lists.
type ShutdownConfig struct {
	// Delay is how long the server still serves requests after /readyz fails, so that load
	// balancers stop sending requests; default 0. (--shutdown-delay-duration)
	Delay time.Duration
	// RefuseNew answers new requests with 429 and Retry-After until all running requests but
	// watches have been served; only then do watches end. Without it watches begin to end at once,
	// and new requests get 503. The ports stay open until the requests have ended in both cases.
	// (--shutdown-send-retry-after)
	RefuseNew bool
	// WatchGrace spreads the ends of watches over this time, so that their clients do not all
	// reconnect at once; default 0: all watches end at once.
	// (--shutdown-watch-termination-grace-period)
	WatchGrace time.Duration
	// Timeout bounds the wait for pre-shutdown hooks, and then the wait for running requests, to
	// which WatchGrace is added. Default: Limits.RequestTimeout + 15 s.
	Timeout time.Duration
	// Linger is how long connections may take to end after all requests have been served, default 5
	// s; the server then cuts them. An idle HTTP/2 connection takes a second, in which its client
	// reads GOAWAY.
	Linger time.Duration
}
