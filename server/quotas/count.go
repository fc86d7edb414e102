package quotas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/registry/admission/resourcequota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file counts the objects of namespaces at one revision and writes the used amounts into the
// quotas. Controller.count (quotas.go) calls Recount with the namespaces that are due.

// memo has the usage of the objects that the last recount has seen, by namespace.
type memo map[string]*measuredNamespace

// size returns how many objects and how many usages m has.
func (m memo) size() (objects, usages int) {
	for _, namespace := range m {
		for _, of := range namespace.objects {
			objects += len(of)
		}
		usages += len(namespace.usages)
	}
	return objects, usages
}

// measuredNamespace has the usage of those objects of a namespace that had to be decoded. Objects
// with the same usage share it: of an object, its name, its revision and a pointer are kept.
type measuredNamespace struct {
	// basis is what the measurements depend on beside the objects: the scopes of the quotas, and
	// the names that they limit.
	basis   string
	objects map[meta.GroupResource]map[string]measured // by name
	usages  map[string]*usage                          // by their texts
	pass    uint64                                     // counts the recounts of the namespace
}

// measured is an object at a revision.
type measured struct {
	rev   uint64
	usage *usage
	pass  uint64 // the last that saw the object
}

// usage has the amounts that an object uses, for those names that a quota limits.
type usage struct {
	amounts quota.Amounts
	in      []bool // for each quota: whether the objects are in its scopes
	objects uint64 // how many objects of the present recount use it
}

// errUnchanged ends an update that would change nothing.
var errUnchanged = errors.New("nothing has changed")

// Recount raises the fence and recounts the quotas of the namespaces. If one namespace fails,
// Recount goes on with the others. The error joins all failures. Recount is what Run does for
// namespaces that are due. Nobody may call it while Run runs, or twice at once.
func (c *Controller) Recount(ctx context.Context, namespaces ...string) error {
	if len(namespaces) == 0 {
		return nil
	}
	if c.books == nil {
		c.books, c.usage = resourcequota.NewBooks(c.Stores), memo{}
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
	if line := c.Log.Check(zap.DebugLevel, "quotas were recounted"); line != nil {
		objects, usages := c.usage.size()
		line.Write(zap.Int("namespaces", len(namespaces)), zap.Int("remembered objects", objects), zap.Int("remembered usages", usages))
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
		if settled(then, counted[i]) {
			continue // charges since then are in the quota already
		}
		err := c.books.Update(ctx, namespace, then.Name, fence, func(now *corev1.ResourceQuota) error {
			return setUsed(now, then, counted[i])
		})
		if err != nil && err != errUnchanged && !meta.IsNotFound(err) {
			return err
		}
		if !equal(then.Status.Hard, then.Spec.Hard) {
			c.due.addLater(namespace) // writes that are under way were not charged for the new limits
		}
	}
	return nil
}

// settled reports whether the status of a quota, as it was at the revision of the count, has the
// counted amounts.
func settled(then *corev1.ResourceQuota, counted corev1.ResourceList) bool {
	return equal(then.Status.Hard, then.Spec.Hard) && equal(then.Status.Used, usedNow(then, then, counted))
}

// usedNow returns the used amounts of the quota now: the counted amounts, and the charges since the
// state then of the quota.
func usedNow(now, then *corev1.ResourceQuota, counted corev1.ResourceList) corev1.ResourceList {
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
	return used
}

// setUsed writes the limits and the used amounts into the status of now.
func setUsed(now, then *corev1.ResourceQuota, counted corev1.ResourceList) error {
	if now.UID != then.UID || !equal(now.Spec.Hard, then.Spec.Hard) {
		return errUnchanged // the change of spec makes the namespace due once more
	}
	used := usedNow(now, then, counted)
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
	resources := map[meta.GroupResource]bool{}
	basis := ""
	for _, q := range quotas {
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
		basis += fmt.Sprintf("%s %v %v %v\n",
			q.UID, q.Spec.Scopes, q.Spec.ScopeSelector, slices.Sorted(maps.Keys(counted)))
	}
	if n.memo = c.usage[namespace]; n.memo == nil || n.memo.basis != basis {
		n.memo = &measuredNamespace{
			basis: basis, objects: map[meta.GroupResource]map[string]measured{}, usages: map[string]*usage{},
		}
		c.usage[namespace] = n.memo
	}
	n.memo.pass++
	for _, u := range n.memo.usages {
		u.objects = 0 // the last recount may have failed
	}
	for gr := range resources {
		if err := n.count(ctx, gr); err != nil {
			return nil, err
		}
	}
	n.sum()
	return n.counted, nil
}

// counter counts the objects of a namespace for its quotas.
type counter struct {
	c             *Controller
	namespace, at string
	quotas        []*corev1.ResourceQuota
	around        quota.Surroundings
	counted       []corev1.ResourceList // for each quota
	memo          *measuredNamespace
}

// count counts the objects of one resource. An object whose revision was measured before is not
// decoded.
func (n *counter) count(ctx context.Context, gr meta.GroupResource) error {
	if quota.CountsOnly(gr) {
		return n.countNumber(ctx, gr)
	}
	last := n.memo.objects[gr]
	if last == nil {
		last = map[string]measured{}
		n.memo.objects[gr] = last
	}
	kept := 0
	err := n.c.eachAt(ctx, gr, n.namespace, n.at, func(store *registry.Store, enc request.Encoded) error {
		_, name := store.NameOf(enc)
		m, lasts := last[name]
		if rev := enc.Revision(); !lasts || m.rev != rev {
			obj, err := store.Decode(ctx, enc)
			if err != nil {
				return err
			}
			if m.usage, err = n.measure(gr, obj); err != nil {
				return err
			}
			// What an object uses that is being deleted depends on the time.
			m.rev, lasts = rev, quota.Standalone(gr) && obj.GetObjectMeta().DeletionTimestamp == nil
		}
		m.usage.objects++
		if lasts {
			m.pass = n.memo.pass
			last[name] = m
			kept++
		}
		return nil
	})
	if err == nil && len(last) > kept {
		maps.DeleteFunc(last, func(_ string, m measured) bool { return m.pass != n.memo.pass })
	}
	return err
}

// countNumber counts the objects of a resource of which only the number counts. It decodes none, so
// objects that cannot be read count as well.
func (n *counter) countNumber(ctx context.Context, gr meta.GroupResource) error {
	list, _, err := n.c.listAt(meta.WithUnread(ctx), gr, n.namespace, n.at)
	if err != nil || list == nil || list.Len == 0 {
		return err
	}
	u, err := n.measure(gr, nil)
	if err == nil {
		u.objects += uint64(list.Len)
	}
	return err
}

// measure returns the usage of an object, and for each quota whether the object is in its scopes.
func (n *counter) measure(gr meta.GroupResource, obj meta.Object) (*usage, error) {
	u := &usage{in: make([]bool, len(n.quotas))}
	for _, x := range quota.Usage(gr, obj, n.around) {
		limits := func(counted corev1.ResourceList) bool {
			_, ok := counted[x.Name]
			return ok
		}
		if slices.ContainsFunc(n.counted, limits) {
			u.amounts = append(u.amounts, x)
		}
	}
	for i, q := range n.quotas {
		var err error
		if u.in[i], err = quota.Selects(q, gr, obj); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(u.amounts, func(a, b quota.Amount) int { return cmp.Compare(a.Name, b.Name) })
	text := u.appendText(make([]byte, 0, 200))
	if same := n.memo.usages[string(text)]; same != nil {
		return same, nil
	}
	n.memo.usages[string(text)] = u
	return u, nil
}

// appendText appends the text of a usage, which equal usages share.
func (u *usage) appendText(b []byte) []byte {
	for _, x := range u.amounts {
		b = append(append(append(append(b, x.Name...), '='), x.Quantity.String()...), ' ')
	}
	for _, in := range u.in {
		b = strconv.AppendBool(b, in)
	}
	return b
}

// sum adds up the usages, each as often as there are objects, and drops those that no object has.
// The order is fixed, because the first quantity decides in which format the sum is written.
func (n *counter) sum() {
	for _, text := range slices.Sorted(maps.Keys(n.memo.usages)) {
		u := n.memo.usages[text]
		if u.objects == 0 {
			delete(n.memo.usages, text)
			continue
		}
		for _, x := range u.amounts {
			total := times(x.Quantity, u.objects)
			for i, counted := range n.counted {
				if have, ok := counted[x.Name]; ok && u.in[i] {
					counted[x.Name] = have.Add(total)
				}
			}
		}
	}
}

// times returns n times q. It doubles q again and again, because Quantities can be added but not
// multiplied.
func times(q meta.Quantity, n uint64) (total meta.Quantity) {
	for ; ; q = q.Add(q) {
		if n&1 == 1 {
			total = total.Add(q)
		}
		if n >>= 1; n == 0 {
			return total
		}
	}
}

// eachAt calls f with each object of a resource in a namespace at a revision. A resource in a store
// of its own has other revisions, so eachAt reads its objects as they are now.
func (c *Controller) eachAt(
	ctx context.Context, gr meta.GroupResource, namespace, at string,
	f func(store *registry.Store, enc request.Encoded) error,
) error {
	list, store, err := c.listAt(ctx, gr, namespace, at)
	if err != nil || list == nil {
		return err
	}
	for enc := range list.Items {
		if err := f(store, enc); err != nil {
			return err
		}
	}
	return nil
}

// listAt lists the objects that a namespace has of a resource at a revision; the list is nil if the
// server does not have the resource. A resource in a store of its own has other revisions: its
// objects are those of this moment.
func (c *Controller) listAt(
	ctx context.Context, gr meta.GroupResource, namespace, at string,
) (*request.List, *registry.Store, error) {
	store := c.Stores.Store(gr)
	if store == nil {
		return nil, nil, nil
	}
	req := request.ListRequest{Namespace: namespace}
	if c.books.Fences(gr) {
		req.ResourceVersion, req.ResourceVersionMatch = at, meta.ResourceVersionMatchExact
	}
	list, err := store.List(ctx, &req)
	return list, store, err
}
