package admission

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// AlwaysPullImages is the plugin of that name. It makes nodes pull every image anew, with the
// credentials of the pod. Otherwise a pod could use a private image without having a right to it,
// once another pod has brought the image to the node.
type AlwaysPullImages struct{}

// Name is the plugin's name.
func (AlwaysPullImages) Name() string { return "AlwaysPullImages" }

// Handles is true for creates and updates.
func (AlwaysPullImages) Handles(op Operation) bool { return op == Create || op == Update }

// Mutate sets the pull policy Always in all containers and image volumes of a pod.
func (AlwaysPullImages) Mutate(_ context.Context, a *Attributes) error {
	pod := podWithNewImages(a)
	if pod == nil {
		return nil
	}
	for _, ctr := range containers(&pod.Spec) {
		ctr.ImagePullPolicy = corev1.PullAlways
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			image.PullPolicy = corev1.PullAlways
		}
	}
	return nil
}

// Validate refuses a pod to which a later plugin has given another pull policy. As in
// kube-apiserver, the answer is a 500 that lists the texts of 403s.
func (AlwaysPullImages) Validate(_ context.Context, a *Attributes) error {
	pod := podWithNewImages(a)
	if pod == nil {
		return nil
	}
	var texts []string
	check := func(p *field.Path, policy corev1.PullPolicy) {
		if policy != corev1.PullAlways {
			err := a.Forbidden("%w", field.NotSupported(p, policy, []string{string(corev1.PullAlways)}))
			texts = append(texts, err.Error())
		}
	}
	spec := field.NewPath("spec")
	for at, ctr := range containers(&pod.Spec) {
		check(spec.Child(at.list).Index(at.index).Child("imagePullPolicy"), ctr.ImagePullPolicy)
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			check(spec.Child("volumes").Index(i).Child("image", "pullPolicy"), image.PullPolicy)
		}
	}
	switch len(texts) {
	case 0:
		return nil
	case 1:
		return meta.NewUnexplained(texts[0])
	}
	return meta.NewUnexplained("[" + strings.Join(texts, ", ") + "]")
}

// podWithNewImages returns the pod that a write creates, or updates so that a container has an
// image that no container had before; nil for any other write. Images of volumes do not count.
func podWithNewImages(a *Attributes) *corev1.Pod {
	pod := podOf(a)
	old, ok := a.Old.(*corev1.Pod)
	if pod == nil || !ok || a.Operation != Update {
		return pod
	}
	had := map[string]bool{}
	for _, ctr := range containers(&old.Spec) {
		had[ctr.Image] = true
	}
	for _, ctr := range containers(&pod.Spec) {
		if !had[ctr.Image] {
			return pod
		}
	}
	return nil
}
