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

// Config says what a server is to be, in parts that each have a zero value which works. The zero
// Config serves the Kubernetes kinds over TLS on 127.0.0.1:6443 with an embedded store and
// self-made certificates under ./.coracle.
//
// New takes a copy, completes it and checks it as a whole before anything reads it. Where
// kube-apiserver has a flag for the same thing, its name is given.
type Config struct {
	// DataDir holds everything the server keeps on disk, default ".coracle". What is made there is
	// for its owner alone.
	DataDir string

	API            APIConfig
	Storage        StorageConfig
	Serving        ServingConfig
	Authentication identity.Config
	Authorization  access.Config
	Admission      plugins.Config
	Limits         LimitsConfig
	Shutdown       ShutdownConfig

	// Controllers selects what runs beside the API: names, "*" for all that are on by default,
	// "-name" to leave one out. nil means {"*"}; an empty list means none. (--controllers of
	// kube-controller-manager)
	Controllers []string
	// Setup is called last in New, to add hooks and paths of one's own.
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
	// Core serves Kubernetes' own groups beside Groups. Without Core there are no namespaces:
	// objects are stored in any namespace that a client names. Roles are served if they decide, and
	// the reviews of authorization and authentication unless everything is allowed.
	Core bool
	// Profile chooses among Kubernetes' own groups; "" keeps all of them.
	Profile string
	// Runtime turns versions (apps/v1, or /v1 for the legacy group) and single resources in them
	// (apps/v1/deployments) on and off, "true" or "false", with "api/all", "api/ga", "api/beta" and
	// "api/alpha" for many versions. It counts after Profile, and for what New installs. What is
	// off does not exist: it is in no document, and costs nothing. (--runtime-config)
	Runtime map[string]string
	// Version is what /version says, default KubernetesVersion with Coracle's after it. (--version)
	Version string
	// EventTTL is how long Events are kept, default 1 h; negative: for ever. (--event-ttl)
	EventTTL time.Duration
	// AllowPrivileged lets containers of Pods be privileged. (--allow-privileged)
	AllowPrivileged bool
	// Services is what services are given.
	Services addresses.Config
	// Aggregation is how other API servers are reached, behind this one.
	Aggregation aggregator.Config
	// Without is what to leave out of the API.
	Without WithoutConfig
	// Manifests is a folder of objects, as YAML or JSON, that are applied before the server is
	// ready: definitions of resources, which are served then, namespaces, and all others in the
	// order of the files. It is done whenever a server starts, and an object that is as it should
	// be is not written. "" means none.
	Manifests string
	// Objects are applied as those of Manifests are, and after them.
	Objects []manifest.Object
}

// WithoutConfig says what to leave out of the API, which by default is all there.
type WithoutConfig struct {
	// GarbageCollection: dependents stay when what owns them goes, and no garbage collector runs.
	// Whatever a deletion says about them counts for nothing. (--enable-garbage-collector=false)
	GarbageCollection bool
	// WatchLists are watches that begin with what there is. (--feature-gates=WatchList=false)
	WatchLists bool
	// Compression of large answers. (--feature-gates=APIResponseCompression=false)
	Compression bool
	// IdentityLease is the Lease by which servers that share a store see that this one lives.
	// (--feature-gates=APIServerIdentity=false)
	IdentityLease bool
	// PriorityAndFairness is what is done by FlowSchemas: their status is not kept. The FlowSchemas
	// and PriorityLevelConfigurations of every cluster are made and kept nevertheless.
	// (--enable-priority-and-fairness=false)
	PriorityAndFairness bool
}

// ProfileCRDOnly is the APIConfig.Profile of a server for resources of one's own: it keeps
// namespaces, config maps, secrets, service accounts, roles and their bindings, events, leases and
// definitions.
const ProfileCRDOnly = choice.CRDOnly

// The storage engines that StorageConfig.Engine names.
const (
	StorageEmbedded = "embedded" // an etcd server inside the process, data under DataDir
	StorageEtcd     = "etcd"     // any etcd cluster, see EtcdConfig
	StorageMemory   = "memory"   // nothing survives
	StorageFile     = "file"     // a folder of YAML files under DataDir
)

// StorageConfig says where objects are stored, and in which form.
type StorageConfig struct {
	// Engine is StorageEmbedded or another of the names beside it; default StorageEmbedded, or
	// StorageEtcd if there are Etcd.Servers.
	Engine string
	// Store is used instead of an engine that New would open. The server closes it, also if New
	// fails. If it wraps an engine, it should be a storage.Wrapper, so that the server finds what
	// the engine can do.
	Store storage.Store
	// Etcd is the cluster of StorageEtcd.
	Etcd EtcdConfig
	// Overrides keep single resources elsewhere; of a resource the last counts.
	// (--etcd-servers-overrides)
	Overrides []StorageOverride
	// InitTimeout bounds how long New waits for an etcd cluster, default 5 s; the flag's is a
	// minute. (--storage-initialization-timeout)
	InitTimeout time.Duration
	// Timeouts are those of the checks of health.
	health.Timeouts
	// Prefix is where all objects are kept, default "/registry". (--etcd-prefix)
	Prefix string
	// CompactionInterval is how long history is kept, default 5 min; negative: for ever.
	// (--etcd-compaction-interval)
	CompactionInterval time.Duration
	// EncryptionConfigFile names an EncryptionConfiguration; "" stores plain text.
	// (--encryption-provider-config)
	EncryptionConfigFile string
	// EncryptionReload has the server take up EncryptionConfigFile again when it changes. Values
	// that the new one cannot read cannot be read; a file that cannot be used changes nothing.
	// (--encryption-provider-config-automatic-reload)
	EncryptionReload bool
	// Protobuf stores objects as protobuf instead of JSON. Both are always readable.
	// (--storage-media-type)
	Protobuf bool
	// MinCompatibility is the oldest release of Kubernetes whose servers can read what is stored,
	// "1.33" to "1.36"; default "1.35". Kubernetes' own kinds are stored in the most preferred
	// version that the release knows. (--min-compatibility-version)
	MinCompatibility string
}

// EtcdConfig is how to reach an etcd cluster.
type EtcdConfig struct {
	// Servers are client URLs. (--etcd-servers)
	Servers []string
	// CAFile is whom to trust, CertFile and KeyFile are who the server is to etcd: PEM files, each
	// optional. (--etcd-cafile, --etcd-certfile, --etcd-keyfile)
	CAFile, CertFile, KeyFile string
}

// Port numbers with a meaning of their own.
const (
	NoPort  = -1
	AnyPort = -2

	defaultPort = 6443
)

// ServingConfig says where and how the server listens.
type ServingConfig struct {
	// BindAddress is the IP address of all ports, default 127.0.0.1. (--bind-address)
	BindAddress string
	// AdvertiseAddress is the IP address under which the endpoints of the service "kubernetes" name
	// this server. Default: BindAddress, or if that is no address for others the one by which this
	// machine would go to the Internet. If there is none either, the server is not among the
	// endpoints. (--advertise-address)
	AdvertiseAddress string
	// SecurePort is for HTTPS: 0 means 6443, NoPort none, AnyPort one that is free. (--secure-port)
	SecurePort int
	// HTTPPort is for plain HTTP without authentication of its own kind: 0 or NoPort means none,
	// AnyPort one that is free.
	HTTPPort int
	// TLS is what the secure port shows to clients.
	TLS identity.TLS
	// ExternalHostname is how documents name this server to others, in place of its address.
	// (--external-hostname)
	ExternalHostname string
	// CORSOrigins are patterns of web origins that may call the API; none by default.
	// (--cors-allowed-origins)
	CORSOrigins []string
	// HTTP is how the server speaks to clients.
	HTTP HTTPConfig
	// SharePort lets other processes listen on the same address and port, and ShareAddress on all
	// addresses and single ones of the same port. (--permit-port-sharing, --permit-address-sharing)
	SharePort, ShareAddress bool
	// LivezGrace is how long after the start /livez takes post-start hooks that still run for done,
	// default 0. (--livez-grace-period)
	LivezGrace time.Duration
	// Debug is what the server shows of itself.
	Debug inspect.Config
}

// HTTPConfig says how the server speaks to clients.
type HTTPConfig struct {
	// Settings are those of the filters that each request passes.
	filters.Settings
	// HTTP1Only offers no HTTP/2. (--disable-http2-serving)
	HTTP1Only bool
	// MaxStreams bounds the requests of one HTTP/2 connection at a time, default 250.
	// (--http2-max-streams-per-connection)
	MaxStreams int
}

// LimitsConfig bounds what clients can ask for.
type LimitsConfig struct {
	// MaxReads, MaxWrites and MaxWatches bound the requests being served at once; 0 means 400, 200
	// and 10,000, negative no bound. Anonymous requests have places of their own beside them, a
	// quarter as many. Health needs none. (--max-requests-inflight,
	// --max-mutating-requests-inflight)
	MaxReads, MaxWrites, MaxWatches int
	// RequestTimeout bounds a request other than a watch, default 1 min. (--request-timeout)
	RequestTimeout time.Duration
	// MinWatch is the least time that a watch without timeoutSeconds lasts, default 30 min.
	// (--min-request-timeout, in seconds there)
	MinWatch time.Duration
	// DeleteWorkers is how many objects of a collection are deleted at a time, default 1.
	// (--delete-collection-workers)
	DeleteWorkers int
}

// ShutdownConfig says how the server ends.
type ShutdownConfig struct {
	// Delay is how long requests are still served after readiness has failed, default 0.
	// (--shutdown-delay-duration)
	Delay time.Duration
	// RefuseNew has the server go on listening until all running requests but watches have been
	// served, and answer new ones with 429 and Retry-After; otherwise it stops listening first.
	// (--shutdown-send-retry-after)
	RefuseNew bool
	// WatchGrace is the time over which watches are ended, one after the other; default 0: all at
	// once. (--shutdown-watch-termination-grace-period)
	WatchGrace time.Duration
	// Timeout bounds the wait for running requests, and that for pre-shutdown hooks; default
	// Limits.RequestTimeout and 15 s.
	Timeout time.Duration
	// Linger is how long connections have to end when all requests have been served, default 5 s;
	// then they are cut. By HTTP/2 one that is idle takes a second, in which the client is told.
	Linger time.Duration
}
