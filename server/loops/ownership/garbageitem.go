package ownership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/client"
)

// garbageItem is one look at one object.
type garbageItem struct {
	*garbagePass
	node    *node
	view    outlook
	place   Place
	objects client.Resource[*meta.PartialObjectMetadata]
	live    *meta.PartialObjectMetadata // as it is now
}

// settle does what is to be done.
func (i *garbageItem) settle(ctx context.Context) error {
	deleting := i.live.DeletionTimestamp != nil
	if len(i.live.OwnerReferences) > 0 && (!deleting || i.view.released) {
		owners, err := i.classify(ctx)
		if err != nil {
			return err
		}
		if !deleting && !owners.lost {
			return i.collect(ctx, owners)
		}
		if err := i.forget(ctx, owners.released); err != nil {
			return err
		}
	}
	switch {
	case i.view.waits == nothing:
		return nil // the graph has not seen it wait yet: there may be some who depend on it that it has not seen either
	case i.view.holdsItself:
		return i.unblock(ctx)
	case i.view.held, i.remotes.hold(i.node):
		return nil
	}
	return i.finalize(ctx, i.view.waits.finalizer())
}

// owners are the uids of an object's owners, by what they are.
type owners struct {
	solid    []meta.UID
	dangling []meta.UID // not there
	waiting  []meta.UID // for their dependents to go
	released []meta.UID // they wait for their dependents to forget them
	lost     bool       // there are others, which nobody can look for: the object stays
}

// classify looks for the owners of the object.
func (i *garbageItem) classify(ctx context.Context) (owners, error) {
	var found owners
	for _, ref := range i.live.OwnerReferences {
		owner, err := i.owner(ctx, &ref)
		to := &found.solid
		switch {
		case err == errLost:
			found.lost = true
			continue
		case err != nil:
			return owners{}, err
		case owner == nil:
			to = &found.dangling
		case isWaiting(owner) == foreground:
			to = &found.waiting
		case isWaiting(owner) == orphaning:
			to = &found.released
		}
		*to = append(*to, ref.UID)
	}
	return found, nil
}

// errLost says that an owner cannot be looked for as things are: no resource has such a kind, or no
// object such a name, or it would be in a namespace and the object is not.
var errLost = errors.New("a reference leads nowhere")

// owner returns the owner that a reference means, nil if it does not exist.
func (i *garbageItem) owner(ctx context.Context, ref *meta.OwnerReference) (*meta.PartialObjectMetadata, error) {
	home, ok := i.Resources.Home(ref.APIVersion, ref.Kind)
	if !ok || len(names.IsPathSegmentName(ref.Name)) > 0 {
		i.graph.park(i.node)
		return nil, errLost
	}
	namespace := ""
	if home.Namespaced {
		if namespace = i.place.Namespace; namespace == "" {
			i.misplaced(ctx, home, ref)
			return nil, errLost
		}
	}
	key := home.key(namespace, ref.Name)
	if i.graph.isGone(key, string(ref.UID)) {
		return nil, nil
	}
	owner, err := i.garbagePass.objects(home.Resource, namespace).Get(ctx, ref.Name, meta.GetOptions{})
	switch {
	case err == nil && owner.UID == ref.UID:
		return owner, nil
	case err != nil && !isAbsent(err):
		return nil, err
	case !home.Namespaced || !i.misplaced(ctx, home, ref):
		i.graph.lacks(key, string(ref.UID))
	}
	return nil, nil
}

// collect deletes an object without owners, or takes those off that are none any more.
func (i *garbageItem) collect(ctx context.Context, owners owners) error {
	switch {
	case len(owners.solid)+len(owners.released) > 0:
		return i.forget(ctx, slices.Concat(owners.dangling, owners.waiting, owners.released))
	case len(owners.waiting) > 0 && i.view.owns:
		return i.delete(ctx, meta.DeletePropagationForeground)
	case slices.Contains(i.live.Finalizers, meta.FinalizerOrphanDependents):
		return i.delete(ctx, meta.DeletePropagationOrphan)
	case slices.Contains(i.live.Finalizers, meta.FinalizerDeleteDependents):
		return i.delete(ctx, meta.DeletePropagationForeground)
	}
	return i.delete(ctx, meta.DeletePropagationBackground)
}

// delete deletes the object as it was looked at. If it has changed, but not its owners, its
// revision does not count: else one that changes all the time would never go.
func (i *garbageItem) delete(ctx context.Context, policy meta.DeletionPropagation) error {
	opts := meta.DeleteOptions{PropagationPolicy: &policy,
		Preconditions: &meta.Preconditions{UID: &i.live.UID, ResourceVersion: &i.live.ResourceVersion}}
	err := i.objects.Delete(ctx, i.place.Name, opts)
	if !meta.IsConflict(err) {
		return err
	}
	now, getErr := i.objects.Get(ctx, i.place.Name, meta.GetOptions{})
	if getErr != nil {
		return getErr
	}
	if now.UID != i.live.UID || now.ResourceVersion == i.live.ResourceVersion || !reflect.DeepEqual(now.OwnerReferences, i.live.OwnerReferences) {
		return err
	}
	opts.Preconditions.ResourceVersion = nil
	return i.objects.Delete(ctx, i.place.Name, opts)
}

// forget takes references off the object.
func (i *garbageItem) forget(ctx context.Context, uids []meta.UID) error {
	if len(uids) == 0 {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(i.live.OwnerReferences), func(r meta.OwnerReference) bool { return slices.Contains(uids, r.UID) })
	return i.patch(ctx, map[string]any{"ownerReferences": kept})
}

// unblock has the object's references not block the deletion of its owners.
func (i *garbageItem) unblock(ctx context.Context) error {
	refs, blocks, no := slices.Clone(i.live.OwnerReferences), false, false
	for at := range refs {
		if b := refs[at].BlockOwnerDeletion; b != nil && *b {
			blocks, refs[at].BlockOwnerDeletion = true, &no
		}
	}
	if !blocks {
		return nil
	}
	return i.patch(ctx, map[string]any{"ownerReferences": refs})
}

// finalize takes a finalizer off the object.
func (i *garbageItem) finalize(ctx context.Context, finalizer string) error {
	if !slices.Contains(i.live.Finalizers, finalizer) {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(i.live.Finalizers), func(f string) bool { return f == finalizer })
	return i.patch(ctx, map[string]any{"finalizers": kept})
}

// patch changes the metadata of the object as it was looked at.
func (i *garbageItem) patch(ctx context.Context, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = i.live.UID, i.live.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	live, err := i.objects.Patch(ctx, i.place.Name, client.MergePatch, body, meta.PatchOptions{})
	if err == nil {
		i.live = live
	}
	return err
}

// misplaced reports whether the owner that a reference means is in another namespace, where it is
// nobody's owner here, and records an event then.
func (i *garbageItem) misplaced(ctx context.Context, home Home, ref *meta.OwnerReference) bool {
	elsewhere := i.garbagePass.objects(home.Resource, "").All(ctx, meta.ListOptions{FieldSelector: "metadata.name=" + ref.Name})
	for other, err := range elsewhere {
		if err == nil && other.UID == ref.UID && other.Namespace != i.place.Namespace {
			i.recorder.Event(ctx, corev1.ObjectReference{
				Kind: i.place.Kind, APIVersion: i.place.Resource.GroupVersion().String(),
				Namespace: i.place.Namespace, Name: i.live.Name, UID: i.live.UID,
			}, corev1.EventTypeWarning, "OwnerRefInvalidNamespace", fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
				ref.APIVersion, ref.Kind, i.place.Namespace, ref.Name, ref.UID, i.place.Namespace))
			return true
		}
	}
	return false
}
