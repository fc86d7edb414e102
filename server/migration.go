package server

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

// Migration stores all objects of a resource of a server again, so that all are in the version that is stored now. Then the definition
// of a custom resource says so, and versions that nothing is stored in any more can be taken out of it.
//
// Each object is patched with nothing. The server writes nothing if there is nothing to store anew, so a migration can be run again at
// any time. One that was cut short goes on from the last object that it told of. Other servers of the same store need not be asked:
// they follow the definition at about the same time, and have a while for that.
//
// An object that cannot be read is left as it is, and the others are stored again. The definition
// does not change then, because nobody knows in which version the object is stored.
type Migration struct {
	// Kubeconfig is the file that says where the server is.
	Kubeconfig string
	// Resource is a plural name and a group, such as widgets.example.com, or deployments.apps, or configmaps.
	Resource string
	// After is an object, as Progress.Last has it; those up to it are left alone.
	After string
	// Progress is told after each page of objects.
	Progress func(Progress)
	// Unreadable is told of each object that cannot be read, with its name as Progress.Last has it, and
	// the reason.
	Unreadable func(name, why string)
}

// Progress is how far a Migration has come.
type Progress struct {
	Objects int // looked at
	Stored  int // of these, again
	// Unreadable is how many objects cannot be read. They are not among Objects.
	Unreadable int
	Last       string // namespace and name of the last, with a slash between them, or just the name
}

// Migrated is what came of a Migration.
type Migrated struct {
	Progress
	// StoredVersions are those that the definition has now; none of a resource without one, or with
	// objects that cannot be read.
	StoredVersions []string
}

// migrators is how many objects are patched at a time.
const migrators = 8

// Run migrates. It is an error if the definition changes meanwhile.
func (m Migration) Run(ctx context.Context) (Migrated, error) {
	c, closeClient, err := m.client()
	if err != nil {
		return Migrated{}, err
	}
	defer closeClient()
	definitions := apiextensionsv1.GroupVersion.WithResource("customresourcedefinitions")
	r := &migration{Migration: m, client: c, definitions: client.For[*apiextensionsv1.CustomResourceDefinition](c, definitions)}
	return r.run(ctx)
}

// client returns a client for the server, and what closes it.
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
	c, err := client.New(client.Config{URL: target.URL, Transport: way, Codecs: codec.NewFactory(s), UserAgent: "coracle-migrate"})
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

// definition is that of the resource, nil if the server has it by itself, or not at all.
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

func (m *migration) noResource() error {
	return fmt.Errorf("the server has no resource %s: give its plural name and its group, such as deployments.apps", m.Resource)
}

// version is one in which the objects can be addressed: the one they are stored in, if it is served.
func (m *migration) version(ctx context.Context, group string, def *apiextensionsv1.CustomResourceDefinition) (string, error) {
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

// lookAgain is how long after a look whether the server has seen a change of the definition it is asked again.
const lookAgain = 50 * time.Millisecond

// longestLag is how long that is done.
const longestLag = 30 * time.Second

// othersFollow is how long other servers of the same store have to follow the definition after the one that is asked: many times what
// they take. One that did not would store an object in the old version when the migration has gone past it.
const othersFollow = time.Second

// waitUntilStored returns when objects are stored in the version that the definition says, which servers follow with a delay.
func (m *migration) waitUntilStored(ctx context.Context, gvr meta.GroupVersionResource, def *apiextensionsv1.CustomResourceDefinition) error {
	looking, cancel := context.WithTimeout(ctx, longestLag)
	defer cancel()
	want := "" // discovery says nothing of a version that is not served
	if stored := storageVersion(def); slices.ContainsFunc(def.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored && v.Served }) {
		want = router.StorageHash(meta.GroupVersionKind{Group: gvr.Group, Version: stored, Kind: def.Status.AcceptedNames.Kind})
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

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storageVersion is the version in which the objects of a definition are stored.
func storageVersion(def *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range def.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return "" // which no definition has
}

// pageSize is how many objects are listed at a time.
const pageSize = 500

// objects stores all objects again, page by page. A page with an object that cannot be read is
// listed in smaller pages, until that object is alone on one.
func (m *migration) objects(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata]) error {
	opts, searching := meta.ListOptions{Limit: pageSize}, false
	for {
		page, err := all.List(ctx, opts)
		switch {
		case meta.IsResourceExpired(err) && meta.StatusOf(err).Continue != "": // the state that was listed is gone; the present one does as well
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

// skip tells of the one object that a list could not read, and returns where the list goes on after it.
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

func (m *migration) unreadable(name, why string) {
	m.done.Unreadable++
	if m.Unreadable != nil {
		m.Unreadable(name, why)
	}
}

// place is how Progress names an object; objects are listed in the order of their places.
func place(o *meta.PartialObjectMetadata) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// page stores the objects of a page again. All of those that Progress has told of are.
func (m *migration) page(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata], items []*meta.PartialObjectMetadata) error {
	items = slices.DeleteFunc(items, func(o *meta.PartialObjectMetadata) bool { return place(o) <= m.After })
	var wg sync.WaitGroup
	var mu sync.Mutex // of stored, unread and failed, and of what is told
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

// storeAgain reports whether the server has stored an object anew since it was listed. It says nothing of the state in which it was
// listed: what somebody else has made of it meanwhile may be in the old version, too.
func storeAgain(ctx context.Context, all client.Resource[*meta.PartialObjectMetadata], o *meta.PartialObjectMetadata) (bool, error) {
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

// errDefinitionChanged ends a migration of which nobody knows what it has come to.
var errDefinitionChanged = errors.New("the definition has changed meanwhile: migrate again")

// shrink has the definition say that nothing is stored in other versions, unless it has changed since def was read.
func (m *migration) shrink(ctx context.Context, def *apiextensionsv1.CustomResourceDefinition) ([]string, error) {
	versions := []string{storageVersion(def)}
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
