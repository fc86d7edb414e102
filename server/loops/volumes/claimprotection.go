package volumes

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/pods"
)

// ClaimProtection keeps the finalizer kubernetes.io/pvc-protection on PersistentVolumeClaims. A
// claim that is being deleted loses the finalizer when no pod that is scheduled to a node uses the
// claim, as in Kubernetes' persistentvolumeclaim-protection-controller.
type ClaimProtection struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

const claimFinalizer = "kubernetes.io/pvc-protection"

var claimsResource = corev1.GroupVersion.WithResource("persistentvolumeclaims")

// claimView is the part of a claim that the loops of this package need.
type claimView struct {
	protected
	// Classes are the VolumeAttributesClasses that the claim asks for
	// (spec.volumeAttributesClassName), has (status.currentVolumeAttributesClassName), or is being
	// changed to (the target in status.modifyVolumeStatus). A class may be in the list twice.
	Classes   []string
	Classless bool // see DefaultClass; unlike Classes, it is about storage classes
}

// claimsOf returns the Informer of claims, which ClaimProtection, ClassProtection and DefaultClass
// share. It keeps nothing of a claim that is not due, has no VolumeAttributesClass and is not
// classless, as most claims of a cluster.
func claimsOf(in *controller.Informers) *controller.Informer[claimView] {
	return controller.InformerOf(in, claimsResource, func(c *corev1.PersistentVolumeClaim) *claimView {
		v := &claimView{protected: newProtected(&c.ObjectMeta, claimFinalizer), Classless: classless(c)}
		for _, class := range []*string{c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName} {
			if name := scheme.OrZero(class); name != "" {
				v.Classes = append(v.Classes, name)
			}
		}
		if m := c.Status.ModifyVolumeStatus; m != nil && m.TargetVolumeAttributesClassName != "" {
			v.Classes = append(v.Classes, m.TargetVolumeAttributesClassName)
		}
		if !v.due() && v.Classes == nil && !v.Classless {
			return nil
		}
		return v
	})
}

// Run keeps the finalizers of claims until ctx ends.
func (c *ClaimProtection) Run(ctx context.Context) {
	claims, pods := claimsOf(c.Informers), pods.PodInformer(c.Informers)
	p := &protection[*corev1.PersistentVolumeClaim]{
		objects:   client.For[*corev1.PersistentVolumeClaim](c.Informers.Client(), claimsResource),
		finalizer: claimFinalizer, used: c.used,
	}
	controller.Loop{
		Name: "pvcprotection",
		Source: controller.Join(
			claims.Source(func(name controller.Name, _, now *claimView) []controller.Name {
				if now == nil || !now.due() {
					return nil
				}
				return []controller.Name{name}
			}),
			pods.Source(freedClaims),
		),
		Reconcile: p.reconcile, After: []controller.Syncer{pods}, Log: c.Log,
	}.Run(ctx)
}

// freedClaims returns the claims that a pod may have ceased to use: all of them when the pod is
// gone, when another pod has its name, and when the pod begins to be shut down, which frees the
// claims that were made for it. The volumes of a pod never change.
func freedClaims(pod controller.Name, before, now *pods.View) []controller.Name {
	if before == nil || now != nil && now.UID == before.UID && now.ShutDown == before.ShutDown {
		return nil
	}
	var claims []controller.Name
	for _, name := range slices.Concat(before.Claims, before.OwnClaims) {
		claims = append(claims, controller.Name{Namespace: pod.Namespace, Name: name})
	}
	return claims
}

// used reports whether a pod uses the claim. It looks among the pods of the Informer first, which
// costs no request. If none of them uses the claim, used lists the pods of the namespace, because
// the Informer may not have seen the newest pod: if the claim lost its finalizer too early, the
// data of that pod would be deleted.
func (c *ClaimProtection) used(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	used := false
	pods.PodInformer(c.Informers).Each(claim.Namespace, func(_ controller.Name, pod *pods.View) {
		used = used || uses(pod, claim)
	})
	if used {
		return true, nil
	}
	inNamespace := client.For[*corev1.Pod](c.Informers.Client(), corev1.GroupVersion.WithResource("pods")).
		In(claim.Namespace)
	list, err := inNamespace.List(ctx, meta.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(pod *corev1.Pod) bool { return uses(pods.ViewOf(pod), claim) }), nil
}

// uses reports whether a pod is scheduled to a node and has the claim as a volume. A pod that waits
// for a node does not count: no kubelet has mounted anything for it. A claim that was made for an
// ephemeral volume is in use only if the pod controls it, and only until the pod is shut down. From
// then on the pod may itself wait for the claim, if it is deleted in the foreground, so the claim
// must not wait for the pod.
func uses(p *pods.View, claim *corev1.PersistentVolumeClaim) bool {
	if p.Node == "" {
		return false
	}
	if slices.Contains(p.Claims, claim.Name) {
		return true
	}
	return !p.ShutDown && slices.Contains(p.OwnClaims, claim.Name) &&
		slices.ContainsFunc(claim.OwnerReferences, func(ref meta.OwnerReference) bool {
			return scheme.OrZero(ref.Controller) && ref.UID == p.UID
		})
}
