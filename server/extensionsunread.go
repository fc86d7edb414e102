package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/storage"
)

// A definition whose present state cannot be read is there, and so is what it defines. Nobody knows
// its schemas: requests for the resource are answered with an error that names the definition,
// whether an earlier state of it is known or not. Its namespaces are not empty, its instances own
// and are owned, and its APIServices stay.

// unreadDefinitions are the definitions that cannot be read. All methods may be called at once.
type unreadDefinitions struct {
	mu  sync.RWMutex
	why map[string]error // by name
}

// add notes why a definition cannot be read.
func (u *unreadDefinitions) add(name string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == nil {
		u.why = map[string]error{}
	}
	u.why[name] = err
}

// remove notes that a definition can be read, or is gone.
func (u *unreadDefinitions) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.why, name)
}

// names are the definitions, in order.
func (u *unreadDefinitions) names() []string {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return slices.Sorted(maps.Keys(u.why))
}

// of returns the error of the definition of a resource, nil if there is none that cannot be read.
func (u *unreadDefinitions) of(gr meta.GroupResource) error {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if len(u.why) == 0 {
		return nil
	}
	name := gr.Resource + "." + gr.Group
	if err := u.why[name]; err != nil {
		return meta.NewStoreReadError(fmt.Sprintf("the definition %s cannot be read: %v", name, err), nil)
	}
	return nil
}

// inGroup reports whether a definition of a group cannot be read.
func (u *unreadDefinitions) inGroup(group string) bool {
	return slices.ContainsFunc(u.names(), func(name string) bool { return definedBy(name).Group == group })
}

// definedBy is the resource that a definition of a name defines.
func definedBy(name string) meta.GroupResource {
	plural, group, _ := strings.Cut(name, ".")
	return meta.GroupResource{Group: group, Resource: plural}
}

// unreadGuard answers requests for what definitions define that cannot be read.
type unreadGuard struct {
	unread *unreadDefinitions
	next   http.Handler
}

// ServeHTTP implements http.Handler.
func (g *unreadGuard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if info := request.From(r.Context()); info != nil && info.IsResource {
		if err := g.unread.of(meta.GroupResource{Group: info.Group, Resource: info.Resource}); err != nil {
			router.WriteError(w, r, err)
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// hidden returns what a namespace holds of resources whose definitions cannot be read.
func (s *Server) hidden(ctx context.Context, namespace string) ([]ownership.Hidden, error) {
	var list []ownership.Hidden
	for _, name := range s.definitions.unread.names() {
		gr := definedBy(name)
		res, err := s.Backends().Main().Range(ctx, storage.RangeRequest{Prefix: instancesOf(s.Table(), gr) + namespace + "/", Limit: 1})
		if err != nil {
			return nil, err
		}
		if res.Count > 0 {
			list = append(list, ownership.Hidden{Resource: gr, Objects: int(res.Count), Why: s.definitions.unread.of(gr)})
		}
	}
	return list, nil
}

// instancesOf is the prefix of the keys of custom resources.
func instancesOf(t *generic.Table, gr meta.GroupResource) string {
	return t.Root() + registry.KeyPrefix(gr) + "/"
}
