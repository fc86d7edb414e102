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
// A running server checks when it gets a request for CheckPath, which command fsck sends. For a
// server that is stopped, command fsck opens the store and calls Check.

// UnreadableObject is a stored object that cannot be read.
type UnreadableObject struct {
	Key string `json:"key"` // in the store
	// Version is the apiVersion that the object is stored in; "" if that cannot be made out.
	Version string `json:"version,omitempty"`
	Reason  string `json:"reason"` // why it cannot be read, on one line
}

// CheckResult is the result of a check.
type CheckResult struct {
	Objects    int                `json:"objects"`    // the number of objects that were read
	Unreadable []UnreadableObject `json:"unreadable"` // never nil, so that JSON has an empty list
}

// CheckPath is the path at which a running server checks its store. Each GET reads all objects, and
// is answered with a CheckResult as JSON.
const CheckPath = "/debug/unreadable"

// check answers a request for CheckPath.
func (u *Upkeep) check(_ http.ResponseWriter, r *http.Request) (CheckResult, error) {
	found, err := Check(r.Context(), u.table, u.backends.Main(), u.unread())
	if err != nil {
		return found, meta.NewInternalError(err)
	}
	return found, nil
}

// definitions is the resource of the definitions of custom resources.
var definitions = meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// Check reads all objects of all resources of a table. If a definition cannot be read, its resource
// is not in the table: Check then reports all objects of the resource as unreadable. main is the
// backend that stores them. unread are the names of such definitions that the server has found so
// far. The server may not have followed all definitions yet, so Check adds those that it finds
// itself. An error is that of a store.
func Check(ctx context.Context, table *generic.Table, main *backing.Backend, unread []string) (CheckResult, error) {
	c := CheckResult{Unreadable: []UnreadableObject{}}
	var entries []*generic.Entry
	for e := range table.Now().Stored {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *generic.Entry) int { return strings.Compare(a.Prefix, b.Prefix) })
	for _, e := range entries {
		check := func(o *storage.Entry) (string, error) { return e.Store.Check(ctx, o) }
		if err := c.checkPrefix(ctx, e.Backend, e.Prefix, check); err != nil {
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
		err := c.checkPrefix(ctx, main, table.PrefixOf(gr), func(*storage.Entry) (string, error) {
			return "", fmt.Errorf("its definition %s cannot be read", name)
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// checkPage is the number of objects that are read in one request to the store.
const checkPage = 500

// checkPrefix reads all objects under a prefix at one revision, page by page, and adds those for
// which check fails to c.Unreadable. An error is that of the store.
func (c *CheckResult) checkPrefix(ctx context.Context, b *backing.Backend, prefix string,
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

// reason returns the text of err on one line. It drops the key, which a storage.Error has in its
// text, because UnreadableObject has the key already.
func reason(err error) string {
	if e := (*storage.Error)(nil); errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// CheckServer has the server that a kubeconfig names check its store. Command fsck calls it.
func CheckServer(ctx context.Context, kubeconfig string) (CheckResult, error) {
	var c CheckResult
	return c, call(ctx, kubeconfig, http.MethodGet, CheckPath, &c)
}
