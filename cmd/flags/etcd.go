package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/server"
)

// The values of --storage-media-type.
const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml" // accepted by kube-apiserver; stored as JSON, which is YAML
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// etcd holds the values of the section "Etcd" that do not go into the Config as they are.
type etcd struct {
	media, backend   string
	watchCache       bool
	cacheSizes       []string
	garbageCollector bool
	overrides        []string
}

// bindEtcd declares the flags about the store, its caches, encryption at rest, and the deletion of
// collections and of objects without owners. finishEtcd checks them, and writes into the Config
// those that the Config holds in another form.
func (o *Options) bindEtcd(s *section) {
	c := &o.config.Storage
	s.StringSliceVar(&c.Etcd.Servers, "etcd-servers", nil,
		"etcd servers to store in, as comma-separated URLs; or one that stands in for etcd: see coracle etcd")
	s.StringVar(&c.Etcd.CAFile, "etcd-cafile", "", "CA of the etcd servers")
	s.StringVar(&c.Etcd.CertFile, "etcd-certfile", "", "client certificate for etcd")
	s.StringVar(&c.Etcd.KeyFile, "etcd-keyfile", "", "key of the client certificate for etcd")
	s.StringVar(&c.Prefix, "etcd-prefix", "/registry", "prefix of all keys in the store")
	s.DurationVar(&c.CompactionInterval, "etcd-compaction-interval", 5*time.Minute,
		"how long the history of objects is kept; 0 for ever")
	s.StringVar(&o.etcd.media, "storage-media-type", o.defaults.mediaType,
		"how objects are stored: application/json or application/vnd.kubernetes.protobuf")
	s.StringVar(&c.EncryptionConfigFile, "encryption-provider-config", "",
		"EncryptionConfiguration file for encryption at rest")
	s.BoolVar(&c.EncryptionReload, "encryption-provider-config-automatic-reload", false,
		"take that file up again when it changes")
	s.StringSliceVar(&o.etcd.overrides, "etcd-servers-overrides", nil,
		"other etcd servers for some resources, as group/resource#servers, with semicolons between the servers")
	s.DurationVar(&c.HealthTimeout, "etcd-healthcheck-timeout", 2*time.Second,
		"how long the store may take to answer for the server to be healthy")
	s.DurationVar(&c.ReadyTimeout, "etcd-readycheck-timeout", 2*time.Second,
		"how long the store may take to answer for the server to be ready")
	s.IntVar(&o.config.Limits.DeleteWorkers, "delete-collection-workers", 1,
		"objects of a collection that are deleted at a time")
	s.Duration("etcd-count-metric-poll-period", time.Minute, "how often the objects of each resource are counted")
	s.ignore("objects are counted as they change", "etcd-count-metric-poll-period")
	s.Duration("etcd-db-metric-poll-interval", 30*time.Second, "how often the size of the database is asked for")
	s.ignore("the size is read for each request for metrics", "etcd-db-metric-poll-interval")

	s.BoolVar(&o.etcd.garbageCollector, "enable-garbage-collector", true,
		"delete what has no owner any more, as deletions ask for it")
	s.StringVar(&o.etcd.backend, "storage-backend", "", "kind of --etcd-servers: etcd3, or nothing, which is the same")
	s.Int64("lease-reuse-duration-seconds", 60, "seconds for which events share a lease of etcd")
	s.ignore("objects that end at about the same time share leases: within a minute at most",
		"lease-reuse-duration-seconds")
	s.BoolVar(&o.etcd.watchCache, "watch-cache", true, "keep what is watched in memory")
	s.StringSliceVar(&o.etcd.cacheSizes, "watch-cache-sizes", nil,
		"sizes of the watch caches of resources, as resource.group#size")
	s.Int("default-watch-cache-size", 100, "size of other watch caches")
	s.hide("default-watch-cache-size",
		"watch caches are sized automatically and this flag will be removed in a future version")
	s.ignore("every resource that is used is kept in memory, with as much history as is needed", "watch-cache",
		"watch-cache-sizes", "default-watch-cache-size")
}

// completeEtcd checks --watch-cache-sizes, and reports the first mistake. The sizes themselves are
// ignored.
func (o *Options) completeEtcd() error {
	if !o.etcd.watchCache {
		return nil
	}
	for _, entry := range o.etcd.cacheSizes {
		parts := strings.Split(entry, "#")
		if len(parts) != 2 {
			return fmt.Errorf("invalid value of watch cache size: %s", entry)
		}
		switch size, err := strconv.Atoi(parts[1]); {
		case err != nil:
			return fmt.Errorf("invalid size of watch cache size: %s", entry)
		case size < 0:
			return fmt.Errorf("watch cache size cannot be negative: %s", entry)
		}
	}
	return nil
}

// finishEtcd checks the section and writes it into the Config.
func (o *Options) finishEtcd() error {
	c := &o.config.Storage
	var m mistakes
	if o.defaults.strict && len(c.Etcd.Servers) == 0 && c.Engine == "" {
		m.add("--etcd-servers must be specified")
	}
	if o.etcd.backend != "" && o.etcd.backend != "etcd3" {
		m.add("--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'")
	}
	overrides, err := server.ParseStorageOverrides(o.etcd.overrides)
	m.addErr(err)
	c.Overrides = overrides
	if c.EncryptionReload && c.EncryptionConfigFile == "" {
		m.add("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
	}
	if media := o.etcd.media; media != "" && !slices.Contains([]string{mediaJSON, mediaYAML, mediaProtobuf}, media) {
		m.add("--storage-media-type %q invalid, allowed values: %s, %s, %s", media, mediaJSON, mediaProtobuf, mediaYAML)
	}
	c.Protobuf = o.etcd.media == mediaProtobuf || o.etcd.media == ""
	noneAtZero(&c.CompactionInterval, -1)
	o.config.API.Without.GarbageCollection = !o.etcd.garbageCollector
	return m.err()
}
