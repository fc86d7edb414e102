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
		"URLs of the etcd servers that store the objects, separated by commas; or the URL of a coracle etcd, in whose data folder the server then stores them")
	s.StringVar(&c.Etcd.CAFile, "etcd-cafile", "", "file of the CA certificates that verify the etcd servers")
	s.StringVar(&c.Etcd.CertFile, "etcd-certfile", "", "file of the client certificate for the etcd servers")
	s.StringVar(&c.Etcd.KeyFile, "etcd-keyfile", "", "file of the private key of --etcd-certfile")
	s.StringVar(&c.Prefix, "etcd-prefix", "/registry", "prefix of the keys of all objects in the store")
	s.DurationVar(&c.CompactionInterval, "etcd-compaction-interval", 5*time.Minute,
		"time between two compactions of the store, for about which past states stay readable; 0 never compacts")
	s.StringVar(&o.etcd.media, "storage-media-type", o.defaults.mediaType,
		"encoding of the objects in the store: application/json or application/vnd.kubernetes.protobuf")
	s.StringVar(&c.EncryptionConfigFile, "encryption-provider-config", "",
		"EncryptionConfiguration file, which says how objects are encrypted in the store")
	s.BoolVar(&c.EncryptionReload, "encryption-provider-config-automatic-reload", false,
		"read the file of --encryption-provider-config again when it changes")
	s.StringSliceVar(&o.etcd.overrides, "etcd-servers-overrides", nil,
		"other etcd servers for single resources, as group/resource#URL;URL, with commas between the resources")
	s.DurationVar(&c.HealthTimeout, "etcd-healthcheck-timeout", 2*time.Second,
		"time within which the store must answer the health check etcd")
	s.DurationVar(&c.ReadyTimeout, "etcd-readycheck-timeout", 2*time.Second,
		"time within which the store must answer the check etcd-readiness of /readyz")
	s.IntVar(&o.config.Limits.DeleteWorkers, "delete-collection-workers", 1,
		"number of objects that the deletion of a collection deletes at a time")
	s.Duration("etcd-count-metric-poll-period", time.Minute, "interval at which the objects of each resource are counted for metrics")
	s.ignore("the server counts the objects whenever they change", "etcd-count-metric-poll-period")
	s.Duration("etcd-db-metric-poll-interval", 30*time.Second, "interval at which the size of the database is read for metrics")
	s.ignore("the server reads the size for each request to /metrics", "etcd-db-metric-poll-interval")

	s.BoolVar(&o.etcd.garbageCollector, "enable-garbage-collector", true,
		"delete the dependents of deleted owners, and follow the propagationPolicy of deletions")
	s.StringVar(&o.etcd.backend, "storage-backend", "", "type of --etcd-servers: etcd3, which is also the default")
	s.Int64("lease-reuse-duration-seconds", 60, "seconds for which events share one lease of etcd")
	s.ignore("objects that expire at about the same time, within a minute at most, share a lease",
		"lease-reuse-duration-seconds")
	s.BoolVar(&o.etcd.watchCache, "watch-cache", true, "keep the objects of all resources in memory, to serve reads and watches")
	s.StringSliceVar(&o.etcd.cacheSizes, "watch-cache-sizes", nil,
		"sizes of the watch caches of single resources in events, as resource.group#size, separated by commas")
	s.Int("default-watch-cache-size", 100, "size of all other watch caches in events")
	s.hide("default-watch-cache-size",
		"watch caches are sized automatically and this flag will be removed in a future version")
	s.ignore("the server keeps every resource that is used in memory, with as many past changes as its watches need", "watch-cache",
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
