// Package declared holds the versions that definitions (CustomResourceDefinitions) mark as served,
// and tells when they change.
//
// It includes definitions that lack their names and so define nothing yet, because kube-apiserver
// registers APIServices for their versions, too. A definition that can no longer be read keeps its
// versions.
//
// The loop of package definitions writes Versions, and any goroutine reads it.
//
// Not here: which versions are served at the moment (server/definitions).
package declared

import (
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Versions holds the declared versions. New makes it.
type Versions struct {
	mu      sync.Mutex
	byName  map[string]served // by the name of the definition
	changed chan struct{}     // closed and replaced at each change of byName
}

// served are the served versions of one definition, in the order of its spec.
type served struct {
	group    string
	versions []string
}

// New returns Versions without a definition.
func New() *Versions {
	return &Versions{byName: map[string]served{}, changed: make(chan struct{})}
}

// Learn replaces the versions of def with those that its spec has.
func (d *Versions) Learn(def *apiextensionsv1.CustomResourceDefinition) {
	v := served{group: def.Spec.Group}
	for i := range def.Spec.Versions {
		if def.Spec.Versions[i].Served {
			v.versions = append(v.versions, def.Spec.Versions[i].Name)
		}
	}
	d.set(def.Name, v)
}

func (d *Versions) set(name string, v served) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was, ok := d.byName[name]; ok && was.group == v.group && slices.Equal(was.versions, v.versions) {
		return
	}
	d.byName[name] = v
	d.wakeWaiters()
}

// Forget removes the versions of a definition that is gone.
func (d *Versions) Forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byName[name]; ok {
		delete(d.byName, name)
		d.wakeWaiters()
	}
}

// wakeWaiters wakes everybody who waits for a change. The caller holds mu.
func (d *Versions) wakeWaiters() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// All returns the served versions of all definitions. The map belongs to the caller.
func (d *Versions) All() map[meta.GroupVersion]bool {
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

// Next returns a channel that is closed at the next change. To miss no change, a caller takes the
// channel before it calls All.
func (d *Versions) Next() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}
