package upkeep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// A check reads every stored object as a request would, and lists the objects that cannot be read.
// A server does that when CheckPath is asked for; command fsck asks for it, or has the store of a
// server that does not run checked by Check.

// UnreadableObject is a stored object that cannot be read.
type UnreadableObject struct {
	Key string `json:"key"` // in the store
	// Version is the apiVersion that the object is stored in; "" if that cannot be made out.
	Version string `json:"version,omitempty"`
	Reason  string `json:"reason"` // why it cannot be read, on one line
}

// Checked is the result of a check.
type Checked struct {
	Objects    int                `json:"objects"` // that were looked at
	Unreadable []UnreadableObject `json:"unreadable"`
}

// CheckPath is where a running server tells which of its objects cannot be read. It looks at all
// objects for that.
const CheckPath = "/debug/unreadable"

// check answers a request for CheckPath.
func (u *Upkeep) check(_ http.ResponseWriter, r *http.Request) (Checked, error) {
	found, err := Check(r.Context(), u.table, u.backends.Main(), u.unread())
	if err != nil {
		return found, meta.NewInternalError(err)
	}
	return found, nil
}

// definitions is the resource of the definitions of custom resources.
var definitions = meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// Check looks at all objects of all resources of a table. It also looks at the objects of resources
// that are not in the table because their definitions cannot be read; main is the backend that has
// those. unread are the names of definitions that are already known to be unreadable: the server
// may not have come to all of them yet, so that the check itself finds others. The error is that of
// a store.
func Check(ctx context.Context, table *generic.Table, main *backing.Backend, unread []string) (Checked, error) {
	c := Checked{Unreadable: []UnreadableObject{}}
	var entries []*generic.Entry
	for e := range table.Now().Stored {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *generic.Entry) int { return strings.Compare(a.Prefix, b.Prefix) })
	for _, e := range entries {
		check := func(o *storage.Entry) (string, error) { return e.Store.Check(ctx, o) }
		if err := c.look(ctx, e.Backend, e.Prefix, check); err != nil {
			return c, err
		}
		if e.Name == definitions {
			for _, o := range c.Unreadable {
				if name, ok := strings.CutPrefix(o.Key, e.Prefix); ok && !slices.Contains(unread, name) {
					unread = append(unread, name)
				}
			}
		}
	}
	for _, name := range unread {
		gr := extensions.DefinedBy(name)
		if table.Find(gr) != nil {
			continue
		}
		err := c.look(ctx, main, table.PrefixOf(gr), func(*storage.Entry) (string, error) {
			return "", fmt.Errorf("its definition %s cannot be read", name)
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// checkPage is how many objects are read at once.
const checkPage = 500

// look reads all objects under a prefix and notes those for which check fails. The error is that of
// the store.
func (c *Checked) look(ctx context.Context, b *backing.Backend, prefix string,
	check func(*storage.Entry) (version string, err error)) error {
	req := storage.RangeRequest{Prefix: prefix, Limit: checkPage, NoCount: true}
	for {
		res, err := b.Range(ctx, req)
		if err != nil {
			return err
		}
		for i := range res.Entries {
			e := &res.Entries[i]
			c.Objects++
			if version, err := check(e); err != nil {
				c.Unreadable = append(c.Unreadable, UnreadableObject{e.Key, version, reason(err)})
			}
		}
		if !res.More || len(res.Entries) == 0 {
			return nil
		}
		req.After, req.Rev = res.Entries[len(res.Entries)-1].Key, res.Rev
	}
}

// reason returns why an object cannot be read, on one line and without its key.
func reason(err error) string {
	if e := (*storage.Error)(nil); errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// CheckServer asks the server that a kubeconfig names which of its objects cannot be read.
func CheckServer(ctx context.Context, kubeconfig string) (Checked, error) {
	var c Checked
	return c, ask(ctx, kubeconfig, http.MethodGet, CheckPath, &c)
}
