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
	"github.com/coracle-project/coracle/server/loops/ownergraph"
)

// This file decides about one object of the garbage collector: it looks up the object's owners, and
// then deletes the object, removes references of it, or removes a finalizer of it.
// garbagePass.reconcile makes one garbageItem for each look. The decisions are those of
// attemptToDeleteItem and processDeletingDependentsItem in Kubernetes' garbagecollector.go.

// garbageItem is one look at one object. It belongs to one worker.
type garbageItem struct {
	*garbagePass
	node    *ownergraph.Node
	view    ownergraph.Outlook // what the graph knows of the object
	at      ObjectRef          // where the object is
	objects client.Resource[*meta.PartialObjectMetadata]
	live    *meta.PartialObjectMetadata // the object as the server returned it last, by a read or by patch
}

// settle takes the step that is due for the object:
//
//   - If nobody has deleted the object and all its owners could be looked up, collect decides.
//   - If the object is being deleted, or an owner cannot be looked up, settle removes references to
//     owners with the finalizer orphan, because these owners wait for that.
//   - If the object waits for its own dependents and no dependent holds it, settle removes the
//     finalizer because of which it waits. If the object is in a circle of waiting objects, settle
//     first makes it stop blocking its owners.
func (i *garbageItem) settle(ctx context.Context) error {
	deleting := i.live.DeletionTimestamp != nil
	if len(i.live.OwnerReferences) > 0 && (!deleting || i.view.Released) {
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
	case i.view.Waits == ownergraph.Nothing:
		// Either the object waits for nothing, or the graph has not seen yet that it waits, and may
		// then lack dependents.
		return nil
	case i.view.HoldsItself:
		return i.unblock(ctx)
	case i.view.Held, i.remotes.hold(i.node):
		return nil
	}
	return i.finalize(ctx, i.view.Waits.Finalizer())
}

// owners are the UIDs of an object's owners, by state. The words solid, dangling and waiting are
// Kubernetes'.
type owners struct {
	solid    []meta.UID // exist, and do not wait
	dangling []meta.UID // do not exist
	waiting  []meta.UID // exist and wait in the foreground
	released []meta.UID // exist and wait with the finalizer orphan
	lost     bool       // some owner cannot be looked up, so the object must not be deleted
}

// classify looks up each owner of the object.
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
		case ownergraph.WaitOf(owner) == ownergraph.Foreground:
			to = &found.waiting
		case ownergraph.WaitOf(owner) == ownergraph.Orphaning:
			to = &found.released
		}
		*to = append(*to, ref.UID)
	}
	return found, nil
}

// errLost says that an owner cannot be looked up at present: its kind is not served, its name is no
// valid name, or its kind is namespaced and the dependent has no namespace. It never reaches a log.
var errLost = errors.New("the owner of a reference cannot be looked up")

// owner returns the owner that a reference names, or nil if no object with the UID of the reference
// exists at that place. It asks the server, unless the graph has seen that the owner is gone. The
// error is errLost if the owner cannot be looked up.
func (i *garbageItem) owner(ctx context.Context, ref *meta.OwnerReference) (*meta.PartialObjectMetadata, error) {
	mapping, ok := i.Resources.Mapping(ref.APIVersion, ref.Kind)
	if !ok || len(names.IsPathSegmentName(ref.Name)) > 0 {
		i.graph.Park(i.node)
		return nil, errLost
	}
	namespace := ""
	if mapping.Namespaced {
		if namespace = i.at.Namespace; namespace == "" {
			i.misplaced(ctx, mapping, ref)
			return nil, errLost
		}
	}
	key := mapping.Key(namespace, ref.Name)
	if i.graph.IsGone(key, string(ref.UID)) {
		return nil, nil
	}
	owner, err := i.garbagePass.objects(mapping.Resource, namespace).Get(ctx, ref.Name, meta.GetOptions{})
	switch {
	case err == nil && owner.UID == ref.UID:
		return owner, nil
	case err != nil && !isAbsent(err):
		return nil, err
	case !mapping.Namespaced || !i.misplaced(ctx, mapping, ref):
		i.graph.Lacks(key, string(ref.UID))
	}
	return nil, nil
}

// collect handles an object that nobody has deleted and whose owners were all looked up. If an
// owner is solid or released, the object stays, and keeps only its references to solid owners.
// Otherwise collect deletes the object. The policy is foreground if an owner waits in the
// foreground and the object has dependents of its own. If not, the object's own finalizers choose
// the policy; if it has none of the collector, the policy is background.
func (i *garbageItem) collect(ctx context.Context, owners owners) error {
	switch {
	case len(owners.solid)+len(owners.released) > 0:
		return i.forget(ctx, slices.Concat(owners.dangling, owners.waiting, owners.released))
	case len(owners.waiting) > 0 && i.view.Owns:
		return i.delete(ctx, meta.DeletePropagationForeground)
	case slices.Contains(i.live.Finalizers, meta.FinalizerOrphanDependents):
		return i.delete(ctx, meta.DeletePropagationOrphan)
	case slices.Contains(i.live.Finalizers, meta.FinalizerDeleteDependents):
		return i.delete(ctx, meta.DeletePropagationForeground)
	}
	return i.delete(ctx, meta.DeletePropagationBackground)
}

// delete deletes the object if it still has the revision that was read. If the object has changed
// since, but its ownerReferences are the same, delete tries once more with the UID as its only
// precondition. Without that, an object whose status changes all the time would never be deleted.
func (i *garbageItem) delete(ctx context.Context, policy meta.DeletionPropagation) error {
	opts := meta.DeleteOptions{PropagationPolicy: &policy,
		Preconditions: &meta.Preconditions{UID: &i.live.UID, ResourceVersion: &i.live.ResourceVersion}}
	err := i.objects.Delete(ctx, i.at.Name, opts)
	if !meta.IsConflict(err) {
		return err
	}
	now, getErr := i.objects.Get(ctx, i.at.Name, meta.GetOptions{})
	if getErr != nil {
		return getErr
	}
	if now.UID != i.live.UID || now.ResourceVersion == i.live.ResourceVersion ||
		!reflect.DeepEqual(now.OwnerReferences, i.live.OwnerReferences) {
		return err
	}
	opts.Preconditions.ResourceVersion = nil
	return i.objects.Delete(ctx, i.at.Name, opts)
}

// forget removes the references to the owners with these UIDs from the object.
func (i *garbageItem) forget(ctx context.Context, uids []meta.UID) error {
	if len(uids) == 0 {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(i.live.OwnerReferences), func(r meta.OwnerReference) bool {
		return slices.Contains(uids, r.UID)
	})
	return i.patch(ctx, map[string]any{"ownerReferences": kept})
}

// unblock sets blockOwnerDeletion to false in all references of the object, which breaks a circle
// of objects that wait for each other in the foreground.
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

// finalize removes a finalizer from the object.
func (i *garbageItem) finalize(ctx context.Context, finalizer string) error {
	if !slices.Contains(i.live.Finalizers, finalizer) {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(i.live.Finalizers), func(f string) bool { return f == finalizer })
	return i.patch(ctx, map[string]any{"finalizers": kept})
}

// patch merges metadata into the object if it still has the UID and the revision of i.live. It adds
// these to metadata. On success it sets i.live to the new state.
func (i *garbageItem) patch(ctx context.Context, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = i.live.UID, i.live.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	live, err := i.objects.Patch(ctx, i.at.Name, client.MergePatch, body, meta.PatchOptions{})
	if err == nil {
		i.live = live
	}
	return err
}

// misplaced reports whether the object that a reference means, by its UID, exists in another
// namespace. Such an object is no owner, because an owner is in the namespace of its dependent or
// has no namespace. misplaced then records Kubernetes' Event OwnerRefInvalidNamespace about the
// dependent.
func (i *garbageItem) misplaced(ctx context.Context, mapping ownergraph.Mapping, ref *meta.OwnerReference) bool {
	elsewhere := i.garbagePass.objects(mapping.Resource, "").
		All(ctx, meta.ListOptions{FieldSelector: "metadata.name=" + ref.Name})
	for other, err := range elsewhere {
		if err == nil && other.UID == ref.UID && other.Namespace != i.at.Namespace {
			i.recorder.Event(ctx, corev1.ObjectReference{
				Kind: i.at.Kind, APIVersion: i.at.Resource.GroupVersion().String(),
				Namespace: i.at.Namespace, Name: i.live.Name, UID: i.live.UID,
			}, corev1.EventTypeWarning, "OwnerRefInvalidNamespace", fmt.Sprintf(
				"ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
				ref.APIVersion, ref.Kind, i.at.Namespace, ref.Name, ref.UID, i.at.Namespace))
			return true
		}
	}
	return false
}
