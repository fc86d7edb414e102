package endpoints

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// sliceView is what controllers need to know of an endpoint slice.
type sliceView struct {
	Service    string
	Manager    string
	Generation int64
}

// endpointSlicesOf returns the Informer of endpoint slices, which all controllers of a run share.
func endpointSlicesOf(in *controller.Informers) *controller.Informer[sliceView] {
	return controller.InformerOf(in, discoveryv1.GroupVersion.WithResource("endpointslices"), func(s *discoveryv1.EndpointSlice) *sliceView {
		return &sliceView{s.Labels[discoveryv1.LabelServiceName], s.Labels[discoveryv1.LabelManagedBy], s.Generation}
	})
}

// managedSlices are the endpoint slices that one controller looks after. It knows their names, by
// what the Informer tells and by what it has written itself, which the Informer may not know yet;
// what they hold it reads. All methods may be called at once.
type managedSlices struct {
	informer *controller.Informer[sliceView]
	client   *client.Client
	manager  string

	mu          sync.Mutex
	generations map[controller.Name]map[string]int64 // by service and name: the generation that is taken care of
}

// deletedHere is the generation of a slice that this controller has deleted: there is nothing to do
// about what is heard of it.
const deletedHere = math.MaxInt64

func newManagedSlices(in *controller.Informers, manager string) *managedSlices {
	return &managedSlices{informer: endpointSlicesOf(in), client: in.Client(), manager: manager, generations: map[controller.Name]map[string]int64{}}
}

// Synced waits until the names of all slices are known that were there at first, whether or not the
// Source has been told of them. The error is that of ctx.
func (m *managedSlices) Synced(ctx context.Context) error {
	if err := m.informer.Synced(ctx); err != nil {
		return err
	}
	for name, v := range m.informer.Snapshot() {
		if service, ok := m.serviceOf(name, v); ok {
			m.note(service, name.Name, 0)
		}
	}
	return nil
}

// source has the services whose slices somebody else has changed.
func (m *managedSlices) source() controller.Source { return m.informer.Source(m.changed) }

func (m *managedSlices) changed(name controller.Name, before, now *sliceView) []controller.Name {
	var list []controller.Name
	was, wasOne := m.serviceOf(name, before)
	is, isOne := m.serviceOf(name, now)
	if wasOne && (!isOne || is != was) {
		if m.forget(was, name.Name) < deletedHere {
			list = append(list, was)
		}
	}
	if isOne && m.note(is, name.Name, now.Generation) {
		list = append(list, is)
	}
	return list
}

// serviceOf is the service of a slice that this controller looks after.
func (m *managedSlices) serviceOf(name controller.Name, v *sliceView) (service controller.Name, ok bool) {
	if v == nil || v.Manager != m.manager || v.Service == "" {
		return controller.Name{}, false
	}
	return controller.Name{Namespace: name.Namespace, Name: v.Service}, true
}

// note takes care of a generation of a slice, and reports whether that is news.
func (m *managedSlices) note(service controller.Name, slice string, generation int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, ok := m.generations[service][slice]; ok && last >= generation {
		return false
	}
	if m.generations[service] == nil {
		m.generations[service] = map[string]int64{}
	}
	m.generations[service][slice] = generation
	return true
}

// forget drops a slice, and returns its last generation, that of deletedHere if there is none.
func (m *managedSlices) forget(service controller.Name, slice string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.generations[service][slice]
	if !ok {
		return deletedHere
	}
	if delete(m.generations[service], slice); len(m.generations[service]) == 0 {
		delete(m.generations, service)
	}
	return last
}

// of reads the slices of a service, sorted by name. Those that are being deleted are left out.
func (m *managedSlices) of(ctx context.Context, service controller.Name) ([]*discoveryv1.EndpointSlice, error) {
	m.mu.Lock()
	names := slices.Sorted(maps.Keys(m.generations[service]))
	m.mu.Unlock()
	var list []*discoveryv1.EndpointSlice
	for _, name := range names {
		s, err := m.slices(service).Get(ctx, name, meta.GetOptions{})
		switch {
		case meta.IsNotFound(err):
			m.forget(service, name)
		case err != nil:
			return nil, err
		case s.DeletionTimestamp == nil && s.Labels[discoveryv1.LabelManagedBy] == m.manager && s.Labels[discoveryv1.LabelServiceName] == service.Name:
			m.note(service, name, s.Generation)
			list = append(list, s)
		}
	}
	return list, nil
}

// deleteAll deletes the slices of a service.
func (m *managedSlices) deleteAll(ctx context.Context, service controller.Name) error {
	list, err := m.of(ctx, service)
	if err != nil {
		return err
	}
	return m.write(ctx, service, sliceChanges{drop: list})
}

// write makes changes: what is new first, so that no endpoint is missing meanwhile. What others
// have changed since it was read is an error.
func (m *managedSlices) write(ctx context.Context, service controller.Name, c sliceChanges) error {
	for _, s := range c.create {
		made, err := m.slices(service).Create(ctx, s, meta.CreateOptions{})
		if controller.NamespaceEnds(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("failed to create EndpointSlice for %s/%s: %w", service.Namespace, service.Name, err)
		}
		m.note(service, made.Name, made.Generation)
	}
	for _, s := range c.update {
		made, err := m.slices(service).Update(ctx, s, meta.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("failed to update %s EndpointSlice for %s/%s: %w", s.Name, service.Namespace, service.Name, err)
		}
		m.note(service, made.Name, made.Generation)
	}
	for _, s := range c.drop {
		m.note(service, s.Name, deletedHere)
		if err := m.slices(service).Delete(ctx, s.Name, meta.DeleteOptions{}); err != nil && !meta.IsNotFound(err) {
			m.forget(service, s.Name)
			m.note(service, s.Name, s.Generation)
			return fmt.Errorf("failed to delete %s EndpointSlice for %s/%s: %w", s.Name, service.Namespace, service.Name, err)
		}
	}
	return nil
}

func (m *managedSlices) slices(service controller.Name) client.Resource[*discoveryv1.EndpointSlice] {
	return client.For[*discoveryv1.EndpointSlice](m.client, discoveryv1.GroupVersion.WithResource("endpointslices")).In(service.Namespace)
}
