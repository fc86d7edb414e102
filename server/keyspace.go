package server

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/encryption"
)

// keyspace knows to which resource a key of the store belongs. Resources are added before the first key is read or
// written, and nothing changes after that.
type keyspace struct {
	engine     storage.Store      // as opened, without what is wrapped around it
	encryption *encryption.Config // nil: nothing is encrypted
	metrics    *storeMetrics
	list       []*keyed
	other      keyed // keys of no resource
}

// keyed is what belongs to the keys of one resource.
type keyed struct {
	prefix  string
	chain   encryption.Chain // empty: stored as plain text
	metrics operations
}

// add tells under which prefix a resource is stored.
func (k *keyspace) add(gr meta.GroupResource, prefix string) {
	k.list = append(k.list, &keyed{prefix: prefix, chain: k.encryption.For(gr.Group, gr.Resource), metrics: k.metrics.of(gr)})
}

// of returns what belongs to a key, or to a prefix of keys.
func (k *keyspace) of(key string) *keyed {
	for _, r := range k.list {
		if strings.HasPrefix(key, r.prefix) {
			return r
		}
	}
	return &k.other
}
