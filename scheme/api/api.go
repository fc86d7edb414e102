// Package api lists Kubernetes' own API groups. Each version of a group has a package of its own
// below, with the types of its kinds, their defaults and their conversions.
package api

import (
	"maps"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/appsv1beta1"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/api/eventsv1"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1beta1"
	"github.com/coracle-project/coracle/scheme/api/nodev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/api/policyv1beta1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
)

// Groups register the kinds of each group. Of several versions the hub comes first.
var Groups = map[string]*scheme.Builder{
	"":                             corev1.Scheme,
	"admissionregistration.k8s.io": admissionregistrationv1.Scheme,
	"apiextensions.k8s.io":         apiextensionsv1.Scheme,
	"apiregistration.k8s.io":       apiregistrationv1.Scheme,
	"apps":                         scheme.NewBuilder(appsv1.Scheme.AddToScheme, appsv1beta1.Scheme.AddToScheme),
	"authentication.k8s.io":        authenticationv1.Scheme,
	"authorization.k8s.io":         authorizationv1.Scheme,
	"autoscaling": scheme.NewBuilder(
		autoscalingv2.Scheme.AddToScheme, autoscalingv1.Scheme.AddToScheme),
	"batch":                        batchv1.Scheme,
	"certificates.k8s.io":          certificatesv1.Scheme,
	"coordination.k8s.io":          coordinationv1.Scheme,
	"discovery.k8s.io":             discoveryv1.Scheme,
	"events.k8s.io":                eventsv1.Scheme,
	"flowcontrol.apiserver.k8s.io": flowcontrolv1.Scheme,
	"networking.k8s.io": scheme.NewBuilder(
		networkingv1.Scheme.AddToScheme, networkingv1beta1.Scheme.AddToScheme),
	"node.k8s.io":               nodev1.Scheme,
	"policy":                    scheme.NewBuilder(policyv1.Scheme.AddToScheme, policyv1beta1.Scheme.AddToScheme),
	"rbac.authorization.k8s.io": rbacv1.Scheme,
	"resource.k8s.io":           resourcev1.Scheme,
	"scheduling.k8s.io":         schedulingv1.Scheme,
	"storage.k8s.io":            storagev1.Scheme,
}

// AddToScheme registers the kinds of all groups.
func AddToScheme(s *scheme.Scheme) {
	for _, name := range slices.Sorted(maps.Keys(Groups)) {
		Groups[name].AddToScheme(s)
	}
}
