// Package networkingv1beta1 declares the versions of networking.k8s.io that may occur in the store
// but are not served: networking.k8s.io/v1beta1, and extensions/v1beta1, whose ingresses and
// network policies have the same keys in the store. The struct tags say only where fields lie. They
// have no schemas and no checks, because objects are converted as soon as they are read.
//
// The kinds themselves are declared in scheme/api/networkingv1.
package networkingv1beta1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Scheme registers the versions, their defaults, and the conversions to networking.k8s.io/v1. It
// needs the kinds of that version.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	add := func(group, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: group, Version: "v1beta1", Kind: kind},
			networkingv1.GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	add("networking.k8s.io", "IPAddress", &networkingv1.IPAddress{})
	add("networking.k8s.io", "Ingress", &Ingress{})
	add("networking.k8s.io", "IngressClass", &ingressClass{})
	add("networking.k8s.io", "ServiceCIDR", &networkingv1.ServiceCIDR{})
	add("extensions", "Ingress", &Ingress{})
	add("extensions", "NetworkPolicy", &networkPolicy{})
	scheme.AddDefaulting(s, func(p *HTTPIngressPath) {
		scheme.SetPointer(&p.PathType, networkingv1.PathTypeImplementationSpecific)
	})
	scheme.AddDefaulting(s, func(p *networkPolicy) {
		networkingv1.DefaultPolicyTypes(&p.Spec.PolicyTypes, len(p.Spec.Egress) > 0)
	})
	scheme.AddConversion(s, func(in *IngressBackend, out *networkingv1.IngressBackend) error {
		out.Service = in.service()
		return scheme.ConvertFields(s, in, out)
	})
})

// ingressClass, unlike that of v1, has no default for the scope of parameters.
type ingressClass struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            ingressClassSpec `json:"spec,omitempty" pb:"2"`
}

type ingressClassSpec struct {
	Controller string           `json:"controller,omitempty" pb:"1"`
	Parameters *classParameters `json:"parameters,omitempty" pb:"2"`
}

type classParameters networkingv1.IngressClassParametersReference
