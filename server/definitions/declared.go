package definitions

import (
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// declared holds the versions that definitions mark as served. It includes definitions that lack
// their names and so define nothing yet, because kube-apiserver registers APIServices for their
// versions, too. A definition that can no longer be read keeps its versions. The loop writes
// declared, and any goroutine reads it.
type declared struct {
	mu      sync.Mutex
	byName  map[string]declaredVersions
	changed chan struct{} // closed and replaced at each change of byName
}

// declaredVersions are the served versions of one definition, in the order of its spec.
type declaredVersions struct {
	group    string
	versions []string
}

func newDeclared() *declared {
	return &declared{byName: map[string]declaredVersions{}, changed: make(chan struct{})}
}

// learn replaces the versions of def with those that its spec has.
func (d *declared) learn(def *apiextensionsv1.CustomResourceDefinition) {
	v := declaredVersions{group: def.Spec.Group}
	for i := range def.Spec.Versions {
		if def.Spec.Versions[i].Served {
			v.versions = append(v.versions, def.Spec.Versions[i].Name)
		}
	}
	d.set(def.Name, v)
}

func (d *declared) set(name string, v declaredVersions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, ok := d.byName[name]; ok && was.group == v.group && slices.Equal(was.versions, v.versions) {
		return
	}
	d.byName[name] = v
	d.wakeWaiters()
}

// forget removes the versions of a definition that is gone.
func (d *declared) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byName[name]; ok {
		delete(d.byName, name)
		d.wakeWaiters()
	}
}

// wakeWaiters wakes everybody who waits for a change. The caller holds mu.
func (d *declared) wakeWaiters() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// all returns the served versions of all definitions. The map belongs to the caller.
func (d *declared) all() map[meta.GroupVersion]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[meta.GroupVersion]bool{}
	for _, v := range d.byName {
		for _, version := range v.versions {
			all[meta.GroupVersion{Group: v.group, Version: version}] = true
		}
	}
	return all
}

// next returns a channel that is closed at the next change. To miss no change, a caller takes the
// channel before it calls all.
func (d *declared) next() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Versions returns the versions that definitions mark as served, including definitions that are not
// served because they lack their names. The map belongs to the caller.
func (d *Definitions) Versions() map[meta.GroupVersion]bool { return d.declared.all() }

// VersionsChanged returns a channel that is closed when the result of Versions next changes. To
// miss no change, a caller takes the channel before it calls Versions.
func (d *Definitions) VersionsChanged() <-chan struct{} { return d.declared.next() }
