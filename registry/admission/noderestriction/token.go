package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
)

// This file has the rule for service account tokens. A kubelet requests them for the projected
// volumes of its pods, and for CSI drivers that ask for the tokens of the pods that they serve.
// Mutate (plugin.go) calls token for every write of a service account; driver.go finds the driver
// of a volume.

// token lets a kubelet request service account tokens only if they are bound to a pod on its node,
// by name and UID. The UID tells the pod from a later one of the same name. That the pod uses this
// service account is checked where the token is issued.
func (w *nodeWrite) token() error {
	if w.Operation != admission.Create || w.Subresource != "token" {
		return nil
	}
	asked, ok := w.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return w.Forbidden("unexpected type %T", w.Object)
	}
	ref := asked.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return w.Forbidden("node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return w.Forbidden("node requested token with a pod binding without a uid")
	}
	pod, err := w.r.objects.Pod(w.ctx, w.Namespace, ref.Name)
	if err != nil {
		return w.unfound(err)
	}
	if ref.UID != pod.UID {
		return w.Forbidden(
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated",
			ref.UID,
		)
	}
	if pod.Spec.NodeName != w.node {
		return w.Forbidden("node requested token bound to a pod scheduled on a different node")
	}
	return w.audience(asked.Spec.Audiences, pod)
}

// audience checks the audience of a token (KEP-4412): a volume of the pod must request tokens for
// it, or the kubelet must be authorized for it explicitly.
func (w *nodeWrite) audience(audiences []string, pod *corev1.Pod) error {
	audience := ""
	switch len(audiences) {
	case 0:
	case 1:
		audience = audiences[0]
	default:
		return w.Forbidden("node may only request 0 or 1 audiences")
	}
	named, err := w.r.names(w.ctx, pod, audience)
	if err != nil {
		return w.Forbidden("error validating audience %q: %w", audience, err)
	}
	if named {
		return nil
	}
	decision, _, err := w.r.may.Authorize(w.ctx, &request.Attributes{
		User: w.User, Verb: "request-serviceaccounts-token-audience", IsResource: true,
		Version: "v1", Namespace: w.Namespace, Resource: audience, Name: w.Name,
	})
	switch {
	case decision == request.Allow:
		return nil
	case err != nil:
		return w.Forbidden(
			"audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %w",
			audience, w.User.Name, err,
		)
	}
	return w.Forbidden(
		"audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience",
		audience, w.User.Name,
	)
}

// names reports whether a volume of a pod requests tokens for an audience: a projected volume, or a
// CSI volume whose driver requests them. If no volume does, the error joins the failures to find
// the drivers of volumes.
func (r *Plugin) names(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		name, err := r.driver(ctx, pod, v)
		if err == nil && name != "" {
			var driver *storagev1.CSIDriver
			if driver, err = r.objects.Driver(ctx, name); err == nil && slices.ContainsFunc(driver.Spec.TokenRequests,
				func(t storagev1.TokenRequest) bool { return t.Audience == audience }) {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, together(errs)
}

// together joins errors to one with the text of Kubernetes' aggregates: "[a, b]", without repeated
// texts.
func together(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	texts := make([]string, 0, len(errs))
	for _, err := range errs {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 {
		return errors.New(texts[0])
	}
	return fmt.Errorf("[%s]", strings.Join(texts, ", "))
}
