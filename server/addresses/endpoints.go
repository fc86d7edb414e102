package addresses

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The resolver by endpoints, which NewResolver returns for --enable-aggregator-routing. It keeps
// the endpoint slices of Services, because the aggregator calls it for each request.

// endpointResolver finds the address of a ready endpoint of a Service. It keeps the slices of each
// Service that it was asked for, and reads only what has changed since the last question.
type endpointResolver struct {
	registry.Stores
	mu   sync.Mutex
	kept map[callout.Service]*serviceEndpoints // by namespace and name, without a port
}

// maxEndpoints bounds the number of Services whose slices are kept. At the bound, the slices of all
// Services are dropped; those that are needed are read again.
const maxEndpoints = 256

// serviceEndpoints are the endpoint slices of one Service. Readers take no lock.
type serviceEndpoints struct {
	namespace, service string
	now                atomic.Pointer[slicesRead]
}

// slicesByName are endpoint slices of one Service, by their names.
type slicesByName map[string]*discoveryv1.EndpointSlice

// slicesRead are the slices of one Service, as of one Position in the history of all slices. It
// does not change.
type slicesRead struct {
	position registry.Position
	slices   slicesByName
}

// resolve returns the address of a ready endpoint, chosen at random. It prefers endpoints of the
// Service's first IP family.
func (r *endpointResolver) resolve(ctx context.Context, to callout.Service) (string, error) {
	svc, number, err := serviceOf(ctx, r.Stores, to)
	if err != nil {
		return "", err
	}
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
	default:
		return "", fmt.Errorf("unsupported service type %q", svc.Spec.Type)
	}
	port, err := findPort(svc, number)
	if err != nil {
		return "", err
	}
	slices, err := r.endpointsOf(svc).read(ctx, r.Store(endpointSlices))
	if err != nil {
		return "", err
	}
	var first, others []string
	for _, slice := range slices {
		if len(svc.Spec.IPFamilies) > 0 && string(slice.AddressType) != string(svc.Spec.IPFamilies[0]) {
			others = appendReady(others, slice, port.Name)
		} else {
			first = appendReady(first, slice, port.Name)
		}
	}
	if len(first) == 0 {
		first = others
	}
	if len(first) == 0 {
		return "", meta.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", svc.Name))
	}
	return first[rand.N(len(first))], nil
}

// endpointsOf returns the kept endpoints of a Service, which are empty at first.
func (r *endpointResolver) endpointsOf(svc *corev1.Service) *serviceEndpoints {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.kept[callout.Service{Namespace: svc.Namespace, Name: svc.Name}]
	if e == nil {
		if len(r.kept) >= maxEndpoints {
			clear(r.kept)
		}
		e = &serviceEndpoints{namespace: strings.Clone(svc.Namespace), service: strings.Clone(svc.Name)}
		r.kept[callout.Service{Namespace: e.namespace, Name: e.service}] = e
	}
	return e
}

// read returns the slices by name, from the cache, with all writes that went through this server.
// The caller must not change them. A slice that cannot be read is left out.
func (e *serviceEndpoints) read(ctx context.Context, store *registry.Store) (slicesByName, error) {
	if store == nil {
		return nil, nil
	}
	was := e.now.Load()
	if was != nil && store.Holds(was.position) {
		return was.slices, nil
	}
	if was == nil {
		was = new(slicesRead)
	}
	changes, whole, position, err := store.ChangesSince(ctx, was.position, 0)
	if err != nil {
		return nil, err
	}
	next := &slicesRead{position: position, slices: slicesByName{}}
	if !whole {
		maps.Copy(next.slices, was.slices)
	}
	for _, ch := range changes {
		if ch.Namespace != e.namespace {
			continue
		}
		delete(next.slices, ch.Name)
		if ch.Encoded == nil {
			continue
		}
		obj, err := store.Decode(ctx, ch.Encoded)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if ok && err == nil && slice.Labels[discoveryv1.LabelServiceName] == e.service {
			next.slices[ch.Name] = slice
		}
	}
	// If several reads end at once, any of their results will do: the next read adds what it lacks.
	e.now.Store(next)
	return next.slices, nil
}

// appendReady appends the addresses, with the port of the given name, of the endpoints in a slice
// that are ready. As in the EndpointSlice API, an unknown readiness counts as ready.
func appendReady(to []string, slice *discoveryv1.EndpointSlice, port string) []string {
	for i := range slice.Ports {
		p := &slice.Ports[i]
		if p.Name == nil || *p.Name != port || p.Port == nil {
			continue
		}
		for j := range slice.Endpoints {
			ep := &slice.Endpoints[j]
			if len(ep.Addresses) > 0 && (ep.Conditions.Ready == nil || *ep.Conditions.Ready) {
				to = append(to, net.JoinHostPort(ep.Addresses[0], strconv.Itoa(int(*p.Port))))
			}
		}
	}
	return to
}
