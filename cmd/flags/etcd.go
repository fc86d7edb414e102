package flags

import (
	"fmt"
	"time"
)

// The forms in which objects are stored.
const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// etcd is what flags about the store say in a way of their own.
type etcd struct {
	media string
}

func (o *Options) bindEtcd(s *section) {
	c := &o.config.Storage
	s.StringSliceVar(&c.Etcd.Servers, "etcd-servers", nil, "etcd servers to store in, as comma-separated URLs; or one that stands in for etcd: see coracle etcd")
	s.StringVar(&c.Etcd.CAFile, "etcd-cafile", "", "CA of the etcd servers")
	s.StringVar(&c.Etcd.CertFile, "etcd-certfile", "", "client certificate for etcd")
	s.StringVar(&c.Etcd.KeyFile, "etcd-keyfile", "", "key of the client certificate for etcd")
	s.StringVar(&c.Prefix, "etcd-prefix", "/registry", "prefix of all keys in the store")
	s.DurationVar(&c.CompactionInterval, "etcd-compaction-interval", 5*time.Minute, "how long the history of objects is kept; 0 for ever")
	s.StringVar(&o.etcd.media, "storage-media-type", o.defaults.mediaType, "how objects are stored: application/json or application/vnd.kubernetes.protobuf")
	s.StringVar(&c.EncryptionConfigFile, "encryption-provider-config", "", "EncryptionConfiguration file for encryption at rest")
}

func (o *Options) finishEtcd() error {
	noneAtZero(&o.config.Storage.CompactionInterval, -1)
	switch o.etcd.media {
	case mediaJSON:
	case mediaProtobuf, "":
		o.config.Storage.Protobuf = true
	default:
		return fmt.Errorf("--storage-media-type %q: must be %s or %s", o.etcd.media, mediaJSON, mediaProtobuf)
	}
	return nil
}
