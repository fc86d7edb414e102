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

// ClaimProtection keeps persistent volume claims that are being deleted as long as pods on nodes
// use them.
type ClaimProtection struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

const claimFinalizer = "kubernetes.io/pvc-protection"

var claimsResource = corev1.GroupVersion.WithResource("persistentvolumeclaims")

// claimView is what controllers need to know of a claim.
type claimView struct {
	protected
	Classes []string // of volume attributes, that it has, had, or is to have
}

// claimsOf returns the Informer of claims, which all controllers of a run share. It knows of those
// about which there is something to do or to say.
func claimsOf(in *controller.Informers) *controller.Informer[claimView] {
	return controller.InformerOf(in, claimsResource, func(c *corev1.PersistentVolumeClaim) *claimView {
		v := &claimView{protected: newProtected(&c.ObjectMeta, claimFinalizer)}
		for _, class := range []*string{c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName} {
			if name := scheme.OrZero(class); name != "" {
				v.Classes = append(v.Classes, name)
			}
		}
		if m := c.Status.ModifyVolumeStatus; m != nil && m.TargetVolumeAttributesClassName != "" {
			v.Classes = append(v.Classes, m.TargetVolumeAttributesClassName)
		}
		if !v.due() && v.Classes == nil {
			return nil
		}
		return v
	})
}

// Run works until ctx ends.
func (c *ClaimProtection) Run(ctx context.Context) {
	claims, pods := claimsOf(c.Informers), pods.Of(c.Informers)
	p := &protection[*corev1.PersistentVolumeClaim]{
		objects: client.For[*corev1.PersistentVolumeClaim](c.Informers.Client(), claimsResource), finalizer: claimFinalizer, used: c.used,
	}
	controller.Loop{
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

// freedClaims are the claims that a pod may have ceased to use.
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

// used asks the informer, which knows most of it, before all pods of the namespace are read to be
// sure.
func (c *ClaimProtection) used(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	used := false
	pods.Of(c.Informers).Each(claim.Namespace, func(_ controller.Name, pod *pods.View) { used = used || uses(pod, claim) })
	if used {
		return true, nil
	}
	inNamespace := client.For[*corev1.Pod](c.Informers.Client(), corev1.GroupVersion.WithResource("pods")).In(claim.Namespace)
	list, err := inNamespace.List(ctx, meta.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(pod *corev1.Pod) bool { return uses(pods.ViewOf(pod), claim) }), nil
}

// uses reports whether a pod is on a node, and a claim is one of its volumes.
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
