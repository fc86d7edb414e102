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

// Migration stores all objects of a resource again, so that all are in the version that is stored
// now. Then it has the definition of a custom resource say so, and the versions that nothing is
// stored in any more can be taken out of the definition. Command migrate runs it, as a client of a
// server: see Run.
//
// Each object is patched with an empty patch. The server writes an object only if that changes what
// is stored, so a migration can be run again at any time. A migration that was cut short can go on
// after the last object that it reported (see After). Other servers of the same store are not
// asked: they follow the definition at about the same time, and the migration waits for that.
//
// An object that cannot be read is left as it is, and the others are stored again. The definition
// does not change then, because nobody knows in which version the object is stored.
type Migration struct {
	// Kubeconfig is the file that says where the server is.
	Kubeconfig string
	// Resource is a plural name and a group, such as widgets.example.com, or deployments.apps, or
	// configmaps.
	Resource string
	// After is an object, as Progress.Last has it; the objects up to it are left alone. Empty:
	// none.
	After string
	// Progress is called after each page of objects; nil: nobody is told.
	Progress func(Progress)
	// Unreadable is called for each object that cannot be read, with its name as Progress.Last has
	// it, and the reason; nil: nobody is told.
	Unreadable func(name, why string)
}

// Progress is how far a Migration has come.
type Progress struct {
	Objects int // that were looked at
	Stored  int // those among Objects that were stored again
	// Unreadable is how many objects cannot be read. They are not among Objects.
	Unreadable int
	// Last is the last object that was looked at: namespace/name, or the name alone.
	Last string
}

// Migrated is the result of a Migration.
type Migrated struct {
	Progress
	// StoredVersions are the stored versions that the definition has now. There are none if the
	// resource has no definition or some objects cannot be read.
	StoredVersions []string
}

// migrators is how many objects are patched at once.
const migrators = 8

// Run migrates until all is done or ctx ends. It is an error if the definition changes meanwhile.
func (m Migration) Run(ctx context.Context) (Migrated, error) {
	c, closeClient, err := m.client()
	if err != nil {
		return Migrated{}, err
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
	way, err := callout.New(callout.Config{Name: "migrate", Target: target})
	if err != nil {
		return nil, nil, err
	}
	s := scheme.New()
	apiextensionsv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		return nil, nil, err
	}
	c, err := client.New(client.Config{
		URL: target.URL, Transport: way, Codecs: codec.NewFactory(s), UserAgent: "coracle-migrate",
	})
	return c, way.Close, err
}

// migration is a Migration under way.
type migration struct {
	Migration
	client      *client.Client
	definitions client.Resource[*apiextensionsv1.CustomResourceDefinition]
	namespaced  bool
	done        Progress
}

func (m *migration) run(ctx context.Context) (Migrated, error) {
	plural, group, _ := strings.Cut(m.Resource, ".")
	if len(names.IsDNS1035Label(plural)) > 0 || group != "" && len(names.IsDNS1123Subdomain(group)) > 0 {
		return Migrated{}, m.noResource()
	}
	def, err := m.definition(ctx, group)
	if err != nil {
		return Migrated{}, err
	}
	version, err := m.version(ctx, group, def)
	if err != nil {
		return Migrated{}, err
	}
	gvr := meta.GroupVersionResource{Group: group, Version: version, Resource: plural}
	if def != nil {
		if err := m.waitUntilStored(ctx, gvr, def); err != nil {
			return Migrated{}, err
		}
	}
	found, err := m.client.APIResource(ctx, gvr)
	switch {
	case meta.IsNotFound(err), err == nil && found.Name == "":
		return Migrated{}, m.noResource()
	case err != nil:
		return Migrated{}, err
	}
	m.namespaced = found.Namespaced
	all := client.For[*meta.PartialObjectMetadata](m.client, gvr)
	if err := m.objects(ctx, all); err != nil || def == nil || m.done.Unreadable > 0 {
		return Migrated{Progress: m.done}, err
	}
	stored, err := m.shrink(ctx, def)
	return Migrated{m.done, stored}, err
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

// noResource is the error of a name that is no resource.
func (m *migration) noResource() error {
	return fmt.Errorf("the server has no resource %s: give its plural name and its group, such as deployments.apps",
		m.Resource)
}

// version returns a version in which the objects can be addressed: the one that they are stored in,
// if it is served.
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

// A server follows a definition with a delay. lookAgain is the pause between two looks whether the
// server has seen a change; longestLag is after how long the migration gives up.
const (
	lookAgain  = 50 * time.Millisecond
	longestLag = 30 * time.Second
)

// othersFollow is how long the migration waits for other servers of the same store to follow the
// definition, after the one that is asked: many times what they take. A server that did not follow
// in that time would store an object in the old version when the migration has gone past it.
const othersFollow = time.Second

// waitUntilStored returns when objects are stored in the version that the definition says.
func (m *migration) waitUntilStored(ctx context.Context, gvr meta.GroupVersionResource,
	def *apiextensionsv1.CustomResourceDefinition) error {
	looking, cancel := context.WithTimeout(ctx, longestLag)
	defer cancel()
	want := "" // discovery says nothing of a version that is not served
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
	if len(def.Status.StoredVersions) == 1 { // there has been no other
		return nil
	}
	return pause(ctx, othersFollow)
}

// pause waits for d. If ctx ends before that, it returns the error of ctx.
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
	return apiextensionsv1.CustomResourceDefinitionVersion{} // no definition is without one
}

// pageSize is how many objects are listed at a time.
const pageSize = 500

// objects stores all objects again, page by page. If an object on a page cannot be read, the pages
// are made smaller, until that object is alone on one and can be skipped.
func (m *migration) objects(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata]) error {
	opts, searching := meta.ListOptions{Limit: pageSize}, false
	for {
		page, err := all.List(ctx, opts)
		switch {
		case meta.IsResourceExpired(err) && meta.StatusOf(err).Continue != "":
			// The state that was listed is gone. The list goes on in the present state.
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

// skip reports the one object that a list could not read, and returns the token to continue the
// list after it.
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

// place returns the name of an object as in Progress.Last. Objects are listed in the order of
// these.
func place(o *meta.PartialObjectMetadata) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// page stores the objects of a page again. It reports progress only if that succeeded for all.
func (m *migration) page(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata],
	items []*meta.PartialObjectMetadata) error {
	items = slices.DeleteFunc(items, func(o *meta.PartialObjectMetadata) bool { return place(o) <= m.After })
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
					m.unreadable(place(o), meta.StatusOf(err).Message)
				} else if failed == nil && err != nil {
					failed = fmt.Errorf("%s: %w", place(o), err)
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
	m.done.Last = place(items[len(items)-1])
	if m.Progress != nil {
		m.Progress(m.done)
	}
	return nil
}

// storeAgain has the server store an object again, and reports whether it has been stored anew
// since it was listed. The patch names no revision: if somebody else has changed the object
// meanwhile, that state may be in the old version, too.
func storeAgain(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata],
	o *meta.PartialObjectMetadata) (bool, error) {
	for {
		after, err := all.In(o.Namespace).Patch(ctx, o.Name, client.MergePatch, []byte("{}"), meta.PatchOptions{})
		switch {
		case meta.IsNotFound(err): // somebody has deleted it
			return false, nil
		case !meta.IsConflict(err):
			return err == nil && after.ResourceVersion != o.ResourceVersion, err
		}
	}
}

// errDefinitionChanged ends a migration during which the definition has changed: nobody knows in
// which version the objects are stored now.
var errDefinitionChanged = errors.New("the definition has changed meanwhile: migrate again")

// shrink removes all versions but the stored one from the stored versions in the status of the
// definition, unless its spec has changed since def was read.
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
