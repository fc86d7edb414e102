package pods

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// scale adds up how many pods the controllers of some pods should have, and reports whether there
// are pods without a controller, for which nobody can tell. It is an error if the controller of a
// pod is not to be found, or has no scale.
func (d *Disruption) scale(ctx context.Context, pods []countedPod) (sum int32, unmanaged bool, err error) {
	asked, counted := map[meta.UID]bool{}, map[meta.UID]bool{}
	for _, pod := range pods {
		ref := pod.Controller
		if ref == nil {
			unmanaged = true
			continue
		}
		if asked[ref.UID] {
			continue
		}
		asked[ref.UID] = true
		found, err := d.scaleOf(ctx, pod.Namespace, ref)
		if err != nil {
			return 0, false, err
		}
		if found == nil {
			return 0, false, fmt.Errorf("found no controllers for pod %q", pod.Name.Name)
		}
		if !counted[found.UID] {
			counted[found.UID] = true
			sum += found.Spec.Replicas
		}
	}
	return sum, unmanaged, nil
}

// scaleOf returns the scale of what a reference means, that of the deployment for the replica set
// of one; nil if it is not there.
func (d *Disruption) scaleOf(ctx context.Context, namespace string, ref *meta.OwnerReference) (*autoscalingv1.Scale, error) {
	gv, ok := meta.ParseGroupVersion(ref.APIVersion)
	if !ok {
		return nil, fmt.Errorf("unexpected GroupVersion string: %v", ref.APIVersion)
	}
	gvk := gv.WithKind(ref.Kind)
	if isApps(gvk, "ReplicaSet") {
		owner, err := d.deploymentOf(ctx, namespace, ref)
		if err != nil {
			return nil, err
		}
		if owner != nil {
			if found, err := d.read(ctx, appsv1.GroupVersion.WithResource("deployments"), namespace, owner); found != nil || err != nil {
				return found, err
			}
		}
		if gv.Group == "extensions" { // as the group was called that replica sets come from
			gvk = appsv1.GroupVersion.WithKind(ref.Kind)
		}
	}
	resource, scales, ok := d.Resource(gvk)
	switch {
	case !ok:
		return nil, fmt.Errorf("no matches for kind %q in version %q", gvk.Kind, gvk.GroupVersion())
	case !scales:
		return nil, fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())
	}
	return d.read(ctx, resource, namespace, ref)
}

// isApps reports whether a kind is one of apps, by its name now or in the group that it was in
// before.
func isApps(gvk meta.GroupVersionKind, kind string) bool {
	return gvk.Kind == kind && (gvk.Group == "apps" || gvk.Group == "extensions")
}

// deploymentOf returns the deployment that manages a replica set, nil if none does.
func (d *Disruption) deploymentOf(ctx context.Context, namespace string, ref *meta.OwnerReference) (*meta.OwnerReference, error) {
	sets := client.For[*meta.PartialObjectMetadata](d.Client, appsv1.GroupVersion.WithResource("replicasets")).In(namespace)
	set, err := sets.Get(ctx, ref.Name, meta.GetOptions{})
	if meta.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || set.UID != ref.UID {
		return nil, err
	}
	for i := range set.OwnerReferences {
		owner := &set.OwnerReferences[i]
		if gv, ok := meta.ParseGroupVersion(owner.APIVersion); ok && scheme.OrZero(owner.Controller) &&
			isApps(gv.WithKind(owner.Kind), "Deployment") {
			return owner, nil
		}
	}
	return nil, nil
}

// read returns the scale of an object, nil if it is not there, or another of its name is.
func (d *Disruption) read(ctx context.Context, resource meta.GroupVersionResource, namespace string, ref *meta.OwnerReference) (*autoscalingv1.Scale, error) {
	scale, err := client.For[*autoscalingv1.Scale](d.Client, resource).In(namespace).Sub("scale").Get(ctx, ref.Name, meta.GetOptions{})
	if meta.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || scale.UID != ref.UID {
		return nil, err
	}
	return scale, nil
}
