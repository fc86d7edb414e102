package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/storage"
)

// StorageOverride keeps a resource in another store than StorageConfig's. That store has revisions
// of its own. Overrides with the same Servers or Store share one store. Custom resources and their
// definitions are always in the store of StorageConfig.
type StorageOverride struct {
	Resource meta.GroupResource
	// Servers are client URLs of an etcd cluster. The files of StorageConfig.Etcd authenticate
	// there, too.
	Servers []string
	// Store is used instead of Servers. The server closes it, also if New fails.
	Store storage.Store
}

// ParseStorageOverrides parses values of --etcd-servers-overrides: group/resource#servers, with
// semicolons between the servers. For example "/events#https://a:2379;https://b:2379" keeps Events
// in another cluster.
func ParseStorageOverrides(values []string) ([]StorageOverride, error) {
	var all []StorageOverride
	for _, value := range values {
		resource, servers, ok := strings.Cut(value, "#")
		group, name, slashed := strings.Cut(resource, "/")
		o := StorageOverride{
			Resource: meta.GroupResource{Group: group, Resource: name},
			Servers:  strings.Split(servers, ";"),
		}
		if !ok || !slashed || strings.Contains(servers, "#") || strings.Contains(name, "/") ||
			slices.Contains(o.Servers, "") {
			return nil, errors.New("--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated")
		}
		all = append(all, o)
	}
	return all, nil
}

// storeKey returns a key that is equal for overrides that share a store.
func (o *StorageOverride) storeKey() any {
	if o.Store != nil {
		return o.Store
	}
	return strings.Join(slices.Sorted(slices.Values(o.Servers)), ";")
}

// validateOverrides returns the first fault of the overrides. RBAC reads its four resources at one
// revision, so these must be in one store.
func (c *StorageConfig) validateOverrides() error {
	stores := map[meta.GroupResource]any{}
	for i := range c.Overrides {
		o := &c.Overrides[i]
		if (len(o.Servers) == 0) == (o.Store == nil) {
			return fmt.Errorf("the override of the storage of %s needs either servers or a store", o.Resource)
		}
		stores[o.Resource] = o.storeKey()
	}
	roles := access.RoleResources()
	for _, gr := range roles {
		if stores[gr] != stores[roles[0]] {
			return fmt.Errorf("%s and %s must be in one store", roles[0], gr)
		}
	}
	return nil
}

// override is a store that keeps only the resources in keeps.
type override struct {
	StorageConfig
	keeps []meta.GroupResource
}

// others returns the stores that overrides name, each once. If two overrides name one resource,
// only the store of the later one keeps it.
func (c *StorageConfig) others() (list []*override) {
	stores := map[any]*override{}
	for i := range c.Overrides {
		o := &c.Overrides[i]
		other := stores[o.storeKey()]
		if other == nil {
			other = &override{StorageConfig: *c}
			other.Store, other.Engine, other.Etcd.Servers = o.Store, StorageEtcd, o.Servers
			stores[o.storeKey()] = other
			list = append(list, other)
		}
		for _, before := range list {
			before.keeps = slices.DeleteFunc(before.keeps, func(gr meta.GroupResource) bool { return gr == o.Resource })
		}
		if o.Resource != customResourceDefinitions { // definitions stay with the custom resources
			other.keeps = append(other.keeps, o.Resource)
		}
	}
	return list
}
