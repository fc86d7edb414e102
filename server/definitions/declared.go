package definitions

import (
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// declared is which versions the definitions say are served. A definition that lacks its names, and
// so defines nothing yet, counts, too: kube-apiserver registers its versions as well. A definition
// that can no longer be read keeps its versions. The loop writes, anybody reads.
type declared struct {
	mu      sync.Mutex
	byName  map[string]declaredVersions
	changed chan struct{} // closed when something has changed
}

// declaredVersions are those of one definition.
type declaredVersions struct {
	group    string
	versions []string
}

func newDeclared() *declared {
	return &declared{byName: map[string]declaredVersions{}, changed: make(chan struct{})}
}

// learn takes in a definition.
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
	d.tell()
}

// forget takes in that a definition is gone.
func (d *declared) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byName[name]; ok {
		delete(d.byName, name)
		d.tell()
	}
}

func (d *declared) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// all returns the versions.
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

// next returns a channel that is closed with the next change.
func (d *declared) next() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// Versions returns the versions that the definitions say are served, also those of definitions that
// are not served for want of their names.
func (d *Definitions) Versions() map[meta.GroupVersion]bool { return d.declared.all() }

// VersionsChanged returns a channel that is closed when Versions next returns something else.
func (d *Definitions) VersionsChanged() <-chan struct{} { return d.declared.next() }
