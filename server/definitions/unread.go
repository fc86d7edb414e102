package definitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/storage"
)

// A definition whose present state cannot be read still exists, and so do its instances. But nobody
// knows its schemas. So requests for its resource are answered with an error that names the
// definition, even if an earlier state of the definition is known. A namespace with instances of it
// does not count as empty, the garbage collector treats the instances as existing, and the
// APIServices of its group stay.

// unread holds the definitions that cannot be read. All methods may be called at once.
type unread struct {
	mu      sync.RWMutex
	reasons map[string]error // by name of the definition
}

// add records why a definition cannot be read.
func (u *unread) add(name string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reasons == nil {
		u.reasons = map[string]error{}
	}
	u.reasons[name] = err
}

// remove records that a definition can be read, or is gone.
func (u *unread) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.reasons, name)
}

// names returns the names of the definitions, sorted.
func (u *unread) names() []string {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return slices.Sorted(maps.Keys(u.reasons))
}

// errorOf returns the error with which requests for a resource are refused, or nil if its
// definition can be read or does not exist. A definition's name is always PLURAL.GROUP, so the name
// of the resource is enough to find it.
func (u *unread) errorOf(gr meta.GroupResource) error {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if len(u.reasons) == 0 {
		return nil
	}
	name := gr.Resource + "." + gr.Group
	if err := u.reasons[name]; err != nil {
		return meta.NewStoreReadError(fmt.Sprintf("the definition %s cannot be read: %v", name, err), nil)
	}
	return nil
}

// Unread returns the names of the definitions that cannot be read, sorted.
func (d *Definitions) Unread() []string { return d.unread.names() }

// UnreadIn reports whether any definition of a group cannot be read.
func (d *Definitions) UnreadIn(group string) bool {
	return slices.ContainsFunc(d.unread.names(), func(name string) bool {
		return extensions.DefinedBy(name).Group == group
	})
}

// UnservedObjects returns how many objects a namespace holds of each resource whose definition
// cannot be read. The namespace controller must not take such a namespace for empty. The error is
// that of the store.
func (d *Definitions) UnservedObjects(ctx context.Context, namespace string) ([]ownership.UnservedObjects, error) {
	var list []ownership.UnservedObjects
	for _, name := range d.unread.names() {
		gr := extensions.DefinedBy(name)
		prefix := d.host.Table().PrefixOf(gr) + namespace + "/"
		res, err := d.home.Range(ctx, storage.RangeRequest{Prefix: prefix, Limit: 1})
		if err != nil {
			return nil, err
		}
		if res.Count > 0 {
			list = append(list,
				ownership.UnservedObjects{Resource: gr, Objects: int(res.Count), Why: d.unread.errorOf(gr)})
		}
	}
	return list, nil
}
