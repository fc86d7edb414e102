package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// UnreadableObject is a stored object that cannot be read.
type UnreadableObject struct {
	Key     string `json:"key"`
	Version string `json:"version,omitempty"` // the apiVersion that it is stored in; "" if that cannot be made out
	Reason  string `json:"reason"`
}

// Checked is what has been found out about a store.
type Checked struct {
	Objects    int                `json:"objects"` // looked at
	Unreadable []UnreadableObject `json:"unreadable"`
}

// CheckPath is where a running server tells which of its objects cannot be read. It looks at all
// objects for that.
const CheckPath = "/debug/unreadable"

// addCheck serves CheckPath.
func (s *Server) addCheck() error {
	return s.Core.Paths.HandleHidden(CheckPath, router.ReadOnly(router.Plain(func(w http.ResponseWriter, r *http.Request) error {
		found, err := check(r.Context(), s.Resources, s.definitions.unread.names())
		if err != nil {
			return meta.NewInternalError(err)
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(found)
	})))
}

// check looks at all objects of all resources, and at those of definitions that cannot be read,
// which nobody else knows. unread are definitions that are known for that already: the server may
// not have come to all of them yet.
func check(ctx context.Context, r *generic.Resources, unread []string) (Checked, error) {
	c := Checked{Unreadable: []UnreadableObject{}}
	var entries []*generic.Entry
	for e := range r.Table().Now().Stored {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *generic.Entry) int { return strings.Compare(a.Prefix, b.Prefix) })
	for _, e := range entries {
		if err := c.look(ctx, e.Backend, e.Prefix, func(o *storage.Entry) (string, error) { return e.Store.Check(ctx, o) }); err != nil {
			return c, err
		}
		if e.Name == customResourceDefinitions {
			for _, o := range c.Unreadable {
				if name, ok := strings.CutPrefix(o.Key, e.Prefix); ok && !slices.Contains(unread, name) {
					unread = append(unread, name)
				}
			}
		}
	}
	for _, name := range unread {
		if r.Table().Find(definedBy(name)) != nil {
			continue
		}
		err := c.look(ctx, r.Backends().Main(), instancesOf(r.Table(), definedBy(name)), func(*storage.Entry) (string, error) {
			return "", fmt.Errorf("its definition %s cannot be read", name)
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// checkPage is how many objects are read at a time.
const checkPage = 500

// look reads all objects under a prefix. The error is that of the store.
func (c *Checked) look(ctx context.Context, b *backing.Backend, prefix string, check func(*storage.Entry) (version string, err error)) error {
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

// reason is why an object cannot be read, without what the key says as well.
func reason(err error) string {
	if e := (*storage.Error)(nil); errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// CheckServer asks the server that a kubeconfig names which of its objects cannot be read.
func CheckServer(ctx context.Context, kubeconfig string) (Checked, error) {
	var c Checked
	return c, askServer(ctx, kubeconfig, http.MethodGet, CheckPath, &c)
}

// askServer sends a request without a body to the server that a kubeconfig names, and reads its
// answer.
func askServer(ctx context.Context, kubeconfig, method, path string, answer any) error {
	target, err := callout.ReadKubeconfig(kubeconfig)
	if err != nil {
		return err
	}
	way, err := callout.New(callout.Config{Name: "command", Target: target})
	if err != nil {
		return err
	}
	defer way.Close()
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(target.URL, "/")+path, nil)
	if err != nil {
		return err
	}
	resp, err := way.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server answers %s: %.300s", resp.Status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, answer)
	}
	return err
}

// CheckStore reads a store that no server need be running on, as a server with that configuration
// would, and writes nothing to it. Of a store in a data folder it reads a copy, which it makes in a
// temporary folder.
func CheckStore(ctx context.Context, cfg Config) (checked Checked, err error) {
	c, err := cfg.complete()
	if err != nil {
		return checked, err
	}
	if c.Storage.Store == nil && c.Storage.Engine != StorageEtcd {
		copied, err := copyStore(ctx, &c)
		if err != nil {
			return checked, err
		}
		defer os.RemoveAll(copied)
	}
	reg, table := prometheus.NewRegistry(), generic.NewTable(c.Storage.Prefix+"/")
	metrics, metricsErr := newMetrics(reg, table, c.Log)
	encryption, encryptionErr := backing.NewEncryption(c.Storage.EncryptionConfigFile, false, reg, c.Log)
	store := c.newStore(table, metrics.store, encryption, nil) // files that a server would refuse are looked at, too
	d, declareErr := declare(c, table, metrics, store, reg)
	openErr := store.Open(ctx)
	defer func() { err = errors.Join(err, store.Close()) }()
	defer d.close()
	if err := errors.Join(metricsErr, encryptionErr, declareErr, openErr); err != nil {
		return checked, err
	}
	encryption.Ask(ctx)
	unread, err := (&Judge{d, store}).defineStored(ctx)
	if err != nil {
		return checked, err
	}
	return check(ctx, d.resources, unread)
}

// defineStored adds what the stored definitions define, and returns the names of those that cannot
// be read, or not be served.
func (j *Judge) defineStored(ctx context.Context) (unread []string, err error) {
	offer := j.resources.Table().Find(customResourceDefinitions)
	if offer == nil {
		return nil, nil
	}
	list, err := offer.View.List(meta.WithUnread(ctx), &request.ListRequest{})
	if err != nil {
		return nil, err
	}
	for item := range list.Items {
		err := registry.Unreadable(item)
		if err == nil {
			err = j.define(ctx, offer.View, item)
		}
		if err != nil {
			_, name := offer.View.NameOf(item)
			unread = append(unread, name)
		}
	}
	return unread, nil
}

// copyStore copies the store of a data folder, and has c name the copy, whose folder it returns.
func copyStore(ctx context.Context, c *completed) (dir string, err error) {
	folder := "etcd"
	if c.Storage.Engine == StorageFile {
		folder = "objects"
	}
	from := c.path(folder)
	if _, err := os.Stat(from); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "coracle-fsck-"); err != nil {
		return "", err
	}
	if folder == "etcd" {
		err = embedded.Copy(ctx, filepath.Join(dir, folder), from)
	} else {
		err = os.CopyFS(filepath.Join(dir, folder), os.DirFS(from))
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	c.DataDir = dir
	return dir, nil
}
