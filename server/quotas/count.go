package quotas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/registry/admission/resourcequota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file counts the objects of namespaces at one revision and writes the used amounts into the
// quotas.

// memo has the usage of the objects that the last recount has seen, by namespace.
type memo map[string]measuredNamespace

// measuredNamespace has the measured objects of a namespace. They are valid while the namespace has
// quotas with the same scopes.
type measuredNamespace struct {
	scopes  string
	objects map[object]measured
}

type object struct {
	resource meta.GroupResource
	name     string
}

// measured is the usage of an object at a revision.
type measured struct {
	rev     uint64
	amounts quota.Amounts
	in      []bool // for each quota: whether the object is in its scopes
}

// errUnchanged ends an update that would change nothing.
var errUnchanged = errors.New("nothing has changed")

// recount raises the fence and recounts the quotas of the namespaces. If a namespace fails, the
// others are counted all the same, and the error joins all failures.
func (c *Controller) recount(ctx context.Context, namespaces []string) error {
	if len(namespaces) == 0 {
		return nil
	}
	fence, err := c.books.Raise(ctx, c.Identity)
	if err != nil {
		return err
	}
	at := strconv.FormatUint(fence.Revision, 10)
	var errs []error
	for _, namespace := range namespaces {
		if err := c.recountNamespace(ctx, namespace, fence, at); err != nil {
			errs = append(errs, fmt.Errorf("namespace %s: %w", namespace, err))
			c.due.add(namespace)
		}
	}
	return errors.Join(errs...)
}

// recountNamespace recounts the quotas of one namespace at a revision.
func (c *Controller) recountNamespace(
	ctx context.Context, namespace string, fence resourcequota.Fence, at string,
) error {
	var quotas []*corev1.ResourceQuota
	err := c.eachAt(ctx, meta.GroupResource{Resource: quotaResource.Resource}, namespace, at,
		func(store *registry.Store, enc request.Encoded) error {
			obj, err := store.Decode(ctx, enc)
			if q, ok := obj.(*corev1.ResourceQuota); ok {
				quotas = append(quotas, q)
			}
			return err
		})
	if err != nil {
		return err
	}
	if len(quotas) == 0 {
		delete(c.usage, namespace)
		return nil
	}
	counted, err := c.countAt(ctx, namespace, at, quotas)
	if err != nil {
		return err
	}
	for i, then := range quotas {
		err := c.books.Update(ctx, namespace, then.Name, fence, func(now *corev1.ResourceQuota) error {
			return setUsed(now, then, counted[i])
		})
		if err != nil && err != errUnchanged && !meta.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// setUsed writes the used amounts into the quota now: those in counted, and the charges since then,
// an older state of the quota.
func setUsed(now, then *corev1.ResourceQuota, counted corev1.ResourceList) error {
	if now.UID != then.UID || !equal(now.Spec.Hard, then.Spec.Hard) {
		return errUnchanged // the change of spec makes the namespace due once more
	}
	used := corev1.ResourceList{}
	for name := range then.Spec.Hard {
		amount, ok := counted[name]
		if !ok {
			continue
		}
		have, has := now.Status.Used[name]
		if before, had := then.Status.Used[name]; has && had {
			amount = amount.Add(have.Sub(before))
		}
		used[name] = amount
	}
	if equal(now.Status.Hard, then.Spec.Hard) && equal(now.Status.Used, used) {
		return errUnchanged
	}
	now.Status.Hard, now.Status.Used = maps.Clone(then.Spec.Hard), used
	return nil
}

// equal reports whether two lists have the same quantities.
func equal(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y meta.Quantity) bool { return x.Cmp(y) == 0 })
}

// countAt returns, for each quota, the usage of the objects of a namespace at a revision. A result
// has the names that the quota limits, apart from those that no resource of this server uses.
func (c *Controller) countAt(
	ctx context.Context, namespace, at string, quotas []*corev1.ResourceQuota,
) ([]corev1.ResourceList, error) {
	n := counter{c: c, namespace: namespace, at: at, quotas: quotas, around: c.books.Surroundings(ctx)}
	n.now.objects = map[object]measured{}
	resources := map[meta.GroupResource]bool{}
	for _, q := range quotas {
		n.now.scopes += fmt.Sprintf("%s %v %v\n", q.UID, q.Spec.Scopes, q.Spec.ScopeSelector)
		counted := corev1.ResourceList{}
		for name := range q.Spec.Hard {
			for _, gr := range quota.Sources(name) {
				if c.Stores.Store(gr) != nil {
					resources[gr] = true
					counted[name] = meta.Quantity{}
				}
			}
		}
		n.counted = append(n.counted, counted)
	}
	if n.before = c.usage[namespace]; n.before.scopes != n.now.scopes {
		n.before = measuredNamespace{}
	}
	for gr := range resources {
		if err := n.count(ctx, gr); err != nil {
			return nil, err
		}
	}
	c.usage[namespace] = n.now
	return n.counted, nil
}

// counter counts the objects of a namespace for its quotas.
type counter struct {
	c             *Controller
	namespace, at string
	quotas        []*corev1.ResourceQuota
	around        quota.Surroundings
	counted       []corev1.ResourceList // for each quota
	before, now   measuredNamespace
}

// count counts the objects of one resource. An object whose revision was measured before is not
// decoded.
func (n *counter) count(ctx context.Context, gr meta.GroupResource) error {
	return n.c.eachAt(ctx, gr, n.namespace, n.at, func(store *registry.Store, enc request.Encoded) error {
		_, name := store.NameOf(enc)
		key := object{gr, name}
		m, known := n.before.objects[key]
		if rev := enc.Revision(); !known || m.rev != rev {
			obj, err := store.Decode(ctx, enc)
			if err != nil {
				return err
			}
			if m, err = n.measure(gr, obj); err != nil {
				return err
			}
			m.rev, known = rev, obj.GetObjectMeta().DeletionTimestamp == nil
		}
		if known { // the usage of an object that is being deleted depends on the time
			n.now.objects[key] = m
		}
		for i, in := range m.in {
			if in {
				n.add(n.counted[i], m.amounts)
			}
		}
		return nil
	})
}

// measure returns the usage of an object, and for each quota whether the object is in its scopes.
func (n *counter) measure(gr meta.GroupResource, obj meta.Object) (m measured, err error) {
	m.amounts = quota.Usage(gr, obj, n.around)
	for _, q := range n.quotas {
		in, err := quota.Selects(q, gr, obj)
		if err != nil {
			return m, err
		}
		m.in = append(m.in, in)
	}
	return m, nil
}

// add adds the amounts whose names are in the list.
func (*counter) add(list corev1.ResourceList, amounts quota.Amounts) {
	for _, x := range amounts {
		if have, ok := list[x.Name]; ok {
			list[x.Name] = have.Add(x.Quantity)
		}
	}
}

// eachAt calls f with each object of a resource in a namespace at a revision. A resource in a store
// of its own has other revisions, so eachAt reads its objects as they are now.
func (c *Controller) eachAt(
	ctx context.Context, gr meta.GroupResource, namespace, at string,
	f func(store *registry.Store, enc request.Encoded) error,
) error {
	store := c.Stores.Store(gr)
	if store == nil {
		return nil
	}
	req := request.ListRequest{Namespace: namespace}
	if c.books.Fences(gr) {
		req.ResourceVersion, req.ResourceVersionMatch = at, meta.ResourceVersionMatchExact
	}
	list, err := store.List(ctx, &req)
	if err != nil {
		return err
	}
	for enc := range list.Items {
		if err := f(store, enc); err != nil {
			return err
		}
	}
	return nil
}
