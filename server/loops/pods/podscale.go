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

// scale returns the number of pods that the controllers of pods want: the sum of spec.replicas of
// their scales, each controller counted once. unmanaged says that some pod has no controller; such
// a pod adds nothing to the sum. It is an error if the controller of a pod does not exist or has no
// scale subresource. Error texts are Kubernetes', because the budget's status shows them.
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

// scaleOf returns the scale of the controller that ref names, or nil if that controller does not
// exist. For a replica set of a deployment it returns the scale of the deployment. During a rollout
// a deployment has several replica sets, and the sum of their replicas differs from the number that
// the deployment should have.
func (d *Disruption) scaleOf(
	ctx context.Context, namespace string, ref *meta.OwnerReference,
) (*autoscalingv1.Scale, error) {
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
			if found, err := d.read(
				ctx, appsv1.GroupVersion.WithResource("deployments"), namespace, owner,
			); found != nil || err != nil {
				return found, err
			}
		}
		if gv.Group == "extensions" { // the former group of replica sets, which is not served
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

// isApps reports whether gvk is a kind of the group apps, or of extensions, its former group.
// References of old objects still name the former group.
func isApps(gvk meta.GroupVersionKind, kind string) bool {
	return gvk.Kind == kind && (gvk.Group == "apps" || gvk.Group == "extensions")
}

// deploymentOf returns the reference from the replica set that ref names to the deployment that
// controls it. It returns nil if no deployment does, or if no replica set with the name and UID of
// ref exists.
func (d *Disruption) deploymentOf(
	ctx context.Context, namespace string, ref *meta.OwnerReference,
) (*meta.OwnerReference, error) {
	sets := client.For[*meta.PartialObjectMetadata](d.Client, appsv1.GroupVersion.WithResource("replicasets")).
		In(namespace)
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

// read returns the scale of the object that ref names. It returns nil if the object does not exist
// or has another UID than ref.
func (d *Disruption) read(
	ctx context.Context, resource meta.GroupVersionResource, namespace string, ref *meta.OwnerReference,
) (*autoscalingv1.Scale, error) {
	scale, err := client.For[*autoscalingv1.Scale](d.Client, resource).In(namespace).Sub("scale").
		Get(ctx, ref.Name, meta.GetOptions{})
	if meta.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || scale.UID != ref.UID {
		return nil, err
	}
	return scale, nil
}
