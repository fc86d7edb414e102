package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file stores the objects of a resource again as a client of a server, as Kubernetes'
// storage-version-migrator does. The steps are: find the version to use (definition, version), wait
// until the server stores in the storage version (waitUntilStored), patch all objects (objects),
// and correct status.storedVersions of the definition (shrink). Command migrate calls Run.

// Migration stores all objects of a resource again, so that all are in the present storage version.
// If the resource is a custom resource, Migration then sets status.storedVersions of its definition
// to that version, so that the other versions can be removed from the definition.
//
// Migration sends an empty patch for each object. The server writes an object only if that changes
// the stored bytes, so a migration can be run again at any time. A migration that was stopped can
// go on after the last object that it reported (After). Migration asks only one of the servers that
// use a store. The others follow the definition at about the same time, and Migration waits a
// second for them.
//
// If an object cannot be read, it stays as it is, and the others are stored again. The definition
// then does not change, because nobody knows in which version that object is stored.
type Migration struct {
	// Kubeconfig is the file that says where the server is.
	Kubeconfig string
	// Resource is a plural name and a group, such as widgets.example.com, or deployments.apps, or
	// configmaps.
	Resource string
	// After names an object in the form of Progress.Last. That object and those before it are not
	// stored again. If After is empty, all objects are.
	After string
	// Progress, if not nil, is called after each page of objects, from the goroutine of Run.
	Progress func(Progress)
	// Unreadable, if not nil, is called for each object that cannot be read, with its name in the
	// form of Progress.Last, and the reason. Calls come from several goroutines, one at a time.
	Unreadable func(name, why string)
}

// Progress is how far a Migration has come.
type Progress struct {
	Objects int // the number of objects that were patched
	Stored  int // the number of those that the server has stored again
	// Unreadable is the number of objects that cannot be read. Objects does not count them.
	Unreadable int
	// Last is the last object that was patched: namespace/name, or the name alone.
	Last string
}

// MigrationResult is the result of a Migration.
type MigrationResult struct {
	Progress
	// StoredVersions is status.storedVersions of the definition after the migration. It is empty if
	// the resource has no definition or an object cannot be read.
	StoredVersions []string
}

// migrators is the number of objects that are patched at once.
const migrators = 8

// Run migrates until all objects are stored again or ctx ends. If the spec of the definition
// changes meanwhile, Run fails, and the migration must be run again.
func (m Migration) Run(ctx context.Context) (MigrationResult, error) {
	c, closeClient, err := m.client()
	if err != nil {
		return MigrationResult{}, err
	}
	defer closeClient()
	definitions := apiextensionsv1.GroupVersion.WithResource("customresourcedefinitions")
	r := &migration{
		Migration: m, client: c, definitions: client.For[*apiextensionsv1.CustomResourceDefinition](c, definitions),
	}
	return r.run(ctx)
}

// client returns a client of the server, and a function that closes it.
func (m Migration) client() (*client.Client, func(), error) {
	target, err := callout.ReadKubeconfig(m.Kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	transport, err := callout.New(callout.Config{Name: "migrate", Target: target})
	if err != nil {
		return nil, nil, err
	}
	s := scheme.New()
	apiextensionsv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		return nil, nil, err
	}
	c, err := client.New(client.Config{
		URL: target.URL, Transport: transport, Codecs: codec.NewFactory(s), UserAgent: "coracle-migrate",
	})
	return c, transport.Close, err
}

// migration is a Migration under way.
//
// page patches objects in several goroutines. While they run, the mutex of page guards done.
type migration struct {
	Migration
	client      *client.Client
	definitions client.Resource[*apiextensionsv1.CustomResourceDefinition]
	namespaced  bool
	done        Progress
}

// run does the steps of a migration, in the order of the comment at the head of this file.
func (m *migration) run(ctx context.Context) (MigrationResult, error) {
	plural, group, _ := strings.Cut(m.Resource, ".")
	if len(names.IsDNS1035Label(plural)) > 0 || group != "" && len(names.IsDNS1123Subdomain(group)) > 0 {
		return MigrationResult{}, m.noResource()
	}
	def, err := m.definition(ctx, group)
	if err != nil {
		return MigrationResult{}, err
	}
	version, err := m.version(ctx, group, def)
	if err != nil {
		return MigrationResult{}, err
	}
	gvr := meta.GroupVersionResource{Group: group, Version: version, Resource: plural}
	if def != nil {
		if err := m.waitUntilStored(ctx, gvr, def); err != nil {
			return MigrationResult{}, err
		}
	}
	found, err := m.client.APIResource(ctx, gvr)
	switch {
	case meta.IsNotFound(err), err == nil && found.Name == "":
		return MigrationResult{}, m.noResource()
	case err != nil:
		return MigrationResult{}, err
	}
	m.namespaced = found.Namespaced
	all := client.For[*meta.PartialObjectMetadata](m.client, gvr)
	if err := m.objects(ctx, all); err != nil || def == nil || m.done.Unreadable > 0 {
		return MigrationResult{Progress: m.done}, err
	}
	stored, err := m.shrink(ctx, def)
	return MigrationResult{m.done, stored}, err
}

// definition returns the definition of the resource. It is nil if the resource is built in, or if
// there is no such resource.
func (m *migration) definition(ctx context.Context, group string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if group == "" {
		return nil, nil
	}
	def, err := m.definitions.Get(ctx, m.Resource, meta.GetOptions{})
	if meta.IsNotFound(err) {
		return nil, nil
	}
	return def, err
}

// noResource returns the error for a Resource that the server does not have.
func (m *migration) noResource() error {
	return fmt.Errorf("the server has no resource %s: give its plural name and its group, such as deployments.apps",
		m.Resource)
}

// version returns the version in which the migration asks for the objects: the storage version of
// the definition if it is served, else the first served version. For a built-in group it is the
// preferred version, for the core group v1.
func (m *migration) version(ctx context.Context, group string,
	def *apiextensionsv1.CustomResourceDefinition) (string, error) {
	switch {
	case def != nil:
		best := ""
		for _, v := range def.Spec.Versions {
			if v.Served && (best == "" || v.Storage) {
				best = v.Name
			}
		}
		if best == "" {
			return "", fmt.Errorf("no version of %s is served", m.Resource)
		}
		return best, nil
	case group == "":
		return "v1", nil
	}
	preferred, err := m.client.PreferredVersion(ctx, group)
	if meta.IsNotFound(err) {
		return "", m.noResource()
	}
	return preferred, err
}

// A server follows a definition with a delay. The migration asks discovery again and again, with
// the pause lookAgain, whether the server has seen the change. After longestLag it gives up.
const (
	lookAgain  = 50 * time.Millisecond
	longestLag = 30 * time.Second
)

// othersFollow is the time that the migration gives the other servers of the same store to follow
// the definition, after the server that it asks has followed. They usually take a few milliseconds.
// A server that took longer could store an object in the old version after the migration has
// passed that object.
const othersFollow = time.Second

// waitUntilStored waits until the server stores objects in the storage version of def. Discovery
// says in which version a server stores: the storageVersionHash is a hash of group, version and
// kind.
func (m *migration) waitUntilStored(ctx context.Context, gvr meta.GroupVersionResource,
	def *apiextensionsv1.CustomResourceDefinition) error {
	looking, cancel := context.WithTimeout(ctx, longestLag)
	defer cancel()
	want := "" // discovery has no hash for a storage version that is not served
	if stored := storageVersion(def); stored.Served {
		want = router.StorageHash(meta.GroupVersionKind{
			Group: gvr.Group, Version: stored.Name, Kind: def.Status.AcceptedNames.Kind,
		})
	}
	for {
		found, err := m.client.APIResource(looking, gvr)
		if err != nil && !meta.IsNotFound(err) {
			return err
		}
		if err == nil && found.StorageVersionHash == want {
			break
		}
		if err := pause(looking, lookAgain); err != nil {
			return fmt.Errorf("the server does not store %s as its definition says: %w", m.Resource, err)
		}
	}
	if len(def.Status.StoredVersions) == 1 { // no object is in another version
		return nil
	}
	return pause(ctx, othersFollow)
}

// pause waits for d. If ctx ends first, it returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storageVersion returns the version in which the objects of a definition are stored.
func storageVersion(def *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionVersion {
	for _, v := range def.Spec.Versions {
		if v.Storage {
			return v
		}
	}
	return apiextensionsv1.CustomResourceDefinitionVersion{} // never: validation requires one
}

// pageSize is the number of objects that one list request asks for.
const pageSize = 500

// objects stores all objects again, page by page. A list fails if an object of its page cannot be
// read. Then objects halves the page until that object is alone on a page, and skips it. After that
// the pages grow again, to twice the size each time.
func (m *migration) objects(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata]) error {
	opts, searching := meta.ListOptions{Limit: pageSize}, false
	for {
		page, err := all.List(ctx, opts)
		switch {
		case meta.IsResourceExpired(err) && meta.StatusOf(err).Continue != "":
			// The revision of the list is compacted. The list goes on in the present state.
			opts.Continue = meta.StatusOf(err).Continue
			continue
		case meta.IsUnreadable(err) && opts.Limit > 1:
			opts.Limit, searching = opts.Limit/2, true
			continue
		case meta.IsUnreadable(err):
			if opts.Continue, err = m.skip(err); err != nil {
				return err
			}
			searching = false
			continue
		case err != nil:
			return err
		}
		if err := m.page(ctx, all, page.Items); err != nil {
			return err
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
		if !searching {
			opts.Limit = min(2*opts.Limit, pageSize)
		}
	}
}

// skip reports the object that a list of one object could not read, and returns a continue token
// after that object. err names the key of the object. The last part of the key is the name, and the
// part before it is the namespace if the resource is namespaced. The token names no revision, so
// the list goes on in the present state.
func (m *migration) skip(err error) (next string, _ error) {
	key, why := meta.UnreadableKey(err)
	parts := strings.Split(key, "/")
	n := 1
	if m.namespaced {
		n = 2
	}
	if len(parts) <= n {
		return "", fmt.Errorf("the server does not say which object it cannot read: %w", err)
	}
	name := strings.Join(parts[len(parts)-n:], "/")
	m.unreadable(name, why)
	return cache.EncodeContinue(0, name), nil
}

// unreadable reports an object that cannot be read.
func (m *migration) unreadable(name, why string) {
	m.done.Unreadable++
	if m.Unreadable != nil {
		m.Unreadable(name, why)
	}
}

// nameOf returns the name of an object in the form of Progress.Last. Lists are sorted by it.
func nameOf(o *meta.PartialObjectMetadata) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// page stores the objects of a page again, several at once, but not the objects up to m.After. It
// reports progress only if no patch failed, so that all objects up to Progress.Last are done. An
// object that cannot be read is no failure.
func (m *migration) page(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata],
	items []*meta.PartialObjectMetadata) error {
	items = slices.DeleteFunc(items, func(o *meta.PartialObjectMetadata) bool { return nameOf(o) <= m.After })
	var wg sync.WaitGroup
	var mu sync.Mutex // guards stored, unread and failed, and calls of m.unreadable
	stored, unread, failed := 0, 0, error(nil)
	next := make(chan *meta.PartialObjectMetadata)
	for range min(migrators, len(items)) {
		wg.Go(func() {
			for o := range next {
				again, err := storeAgain(ctx, all, o)
				mu.Lock()
				if again {
					stored++
				}
				if meta.IsUnreadable(err) {
					unread++
					m.unreadable(nameOf(o), meta.StatusOf(err).Message)
				} else if failed == nil && err != nil {
					failed = fmt.Errorf("%s: %w", nameOf(o), err)
				}
				mu.Unlock()
			}
		})
	}
	for _, o := range items {
		next <- o
	}
	close(next)
	wg.Wait()
	m.done.Stored += stored
	if failed != nil || len(items) == 0 {
		return failed
	}
	m.done.Objects += len(items) - unread
	m.done.Last = nameOf(items[len(items)-1])
	if m.Progress != nil {
		m.Progress(m.done)
	}
	return nil
}

// storeAgain sends an empty patch for an object, and reports whether anybody has stored the object
// since it was listed. The patch has no resourceVersion: if another client has changed the object
// meanwhile, that state may also be in the old version. An object that is gone is no error.
func storeAgain(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata],
	o *meta.PartialObjectMetadata) (bool, error) {
	for {
		after, err := all.In(o.Namespace).Patch(ctx, o.Name, client.MergePatch, []byte("{}"), meta.PatchOptions{})
		switch {
		case meta.IsNotFound(err):
			return false, nil
		case !meta.IsConflict(err):
			return err == nil && after.ResourceVersion != o.ResourceVersion, err
		}
	}
}

// errDefinitionChanged ends a migration during which the definition has changed: the storage
// version may be another one, and the objects may be in either.
var errDefinitionChanged = errors.New("the definition has changed meanwhile: migrate again")

// shrink sets status.storedVersions of the definition to its storage version alone. It fails with
// errDefinitionChanged if the spec has changed since def was read. The patch names the
// resourceVersion, so a change between the look and the patch is a conflict, after which shrink
// looks again.
func (m *migration) shrink(ctx context.Context, def *apiextensionsv1.CustomResourceDefinition) ([]string, error) {
	versions := []string{storageVersion(def).Name}
	for {
		now, err := m.definitions.Get(ctx, def.Name, meta.GetOptions{})
		if err != nil {
			return nil, err
		}
		if now.UID != def.UID || now.Generation != def.Generation {
			return nil, errDefinitionChanged
		}
		if slices.Equal(now.Status.StoredVersions, versions) {
			return versions, nil
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": now.UID, "resourceVersion": now.ResourceVersion},
			"status":   map[string]any{"storedVersions": versions},
		})
		if err != nil {
			return nil, err
		}
		_, err = m.definitions.Sub("status").Patch(ctx, def.Name, client.MergePatch, patch, meta.PatchOptions{})
		if !meta.IsConflict(err) {
			return versions, err
		}
	}
}
