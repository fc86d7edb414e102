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

// This file keeps track of the slices of one controller and writes them. EndpointSlices and
// Mirroring have a managedSlices each; the label managed-by of a slice says to which it belongs.
// managedSlices does the work of Kubernetes' EndpointSliceTracker, by which a controller
// distinguishes its own writes from those of other clients.

// sliceView is the part of an endpoint slice that the Informer keeps.
type sliceView struct {
	Service    string // value of the label kubernetes.io/service-name
	Manager    string // value of the label endpointslice.kubernetes.io/managed-by
	Generation int64
}

// endpointSlicesOf returns the Informer of endpoint slices, which two controllers of a run share.
func endpointSlicesOf(in *controller.Informers) *controller.Informer[sliceView] {
	return controller.InformerOf(in, discoveryv1.GroupVersion.WithResource("endpointslices"),
		func(s *discoveryv1.EndpointSlice) *sliceView {
			return &sliceView{
				s.Labels[discoveryv1.LabelServiceName], s.Labels[discoveryv1.LabelManagedBy], s.Generation,
			}
		})
}

// managedSlices knows the names of the endpoint slices of one controller. The names come from the
// Informer and from the controller's own writes, because the Informer may not have seen these yet.
// The slices themselves are read from the server. Its methods are safe for concurrent use, but only
// one worker at a time calls of and write for a service.
type managedSlices struct {
	informer *controller.Informer[sliceView]
	client   *client.Client
	manager  string

	mu sync.Mutex
	// generations has, by service and slice name, the last generation that causes no more work,
	// because this controller wrote it or has already queued its service. It is deletedHere after
	// this controller has deleted the slice.
	generations map[controller.Name]map[string]int64
}

// deletedHere stands for the generation of a slice that this controller has deleted. It is above
// all real generations, so that later events about the slice, such as its deletion, cause no work.
const deletedHere = math.MaxInt64

func newManagedSlices(in *controller.Informers, manager string) *managedSlices {
	return &managedSlices{
		informer: endpointSlicesOf(in), client: in.Client(), manager: manager,
		generations: map[controller.Name]map[string]int64{},
	}
}

// Synced waits until all slices that existed at the start are in generations. The Informer calls
// changed for these slices too, but perhaps later. If a worker took a service before its slices are
// known, it would create them a second time. If ctx ends first, Synced returns the error of ctx. It
// implements controller.Syncer.
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

// source is the Source of services whose slices another client has changed or deleted.
func (m *managedSlices) source() controller.Source { return m.informer.Source(m.changed) }

// changed returns the services that a change of a slice concerns. These are two if another client
// has moved the slice to another service by its label, and none if this controller made the change.
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

// serviceOf returns the service of a slice. ok is false if v is nil or the slice belongs to no
// service or another manager.
func (m *managedSlices) serviceOf(name controller.Name, v *sliceView) (service controller.Name, ok bool) {
	if v == nil || v.Manager != m.manager || v.Service == "" {
		return controller.Name{}, false
	}
	return controller.Name{Namespace: name.Namespace, Name: v.Service}, true
}

// note records a generation of a slice. It reports false if that generation or a later one is
// recorded already.
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

// forget removes a slice from generations and returns its last generation. It also returns
// deletedHere if the slice is not in generations. So a caller that gets deletedHere has nothing to
// do.
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

// of reads the slices of a service from the server, sorted by name. It leaves out slices that are
// being deleted and slices that have been given to another service or manager.
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
		case s.DeletionTimestamp == nil && s.Labels[discoveryv1.LabelManagedBy] == m.manager &&
			s.Labels[discoveryv1.LabelServiceName] == service.Name:
			m.note(service, name, s.Generation)
			list = append(list, s)
		}
	}
	return list, nil
}

// deleteAll deletes the slices of a service. If there are none, it sends no request.
func (m *managedSlices) deleteAll(ctx context.Context, service controller.Name) error {
	list, err := m.of(ctx, service)
	if err != nil {
		return err
	}
	return m.write(ctx, service, sliceChanges{drop: list})
}

// write makes the changes: first creates, then updates, then deletes, so that no endpoint is
// missing in between. It stops at the first error. An update fails with a conflict if another
// client has changed the slice since it was read; a delete has no such precondition. If a create
// fails because the namespace is being deleted, write stops, and returns no error.
func (m *managedSlices) write(ctx context.Context, service controller.Name, c sliceChanges) error {
	for _, s := range c.create {
		made, err := m.slices(service).Create(ctx, s, meta.CreateOptions{})
		if controller.IsNamespaceEnding(err) {
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
			return fmt.Errorf("failed to update %s EndpointSlice for %s/%s: %w",
				s.Name, service.Namespace, service.Name, err)
		}
		m.note(service, made.Name, made.Generation)
	}
	for _, s := range c.drop {
		m.note(service, s.Name, deletedHere)
		if err := m.slices(service).Delete(ctx, s.Name, meta.DeleteOptions{}); err != nil && !meta.IsNotFound(err) {
			m.forget(service, s.Name)
			m.note(service, s.Name, s.Generation)
			return fmt.Errorf("failed to delete %s EndpointSlice for %s/%s: %w",
				s.Name, service.Namespace, service.Name, err)
		}
	}
	return nil
}

func (m *managedSlices) slices(service controller.Name) client.Resource[*discoveryv1.EndpointSlice] {
	return client.For[*discoveryv1.EndpointSlice](m.client, discoveryv1.GroupVersion.WithResource("endpointslices")).
		In(service.Namespace)
}
