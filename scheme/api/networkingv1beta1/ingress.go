package networkingv1beta1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Ingress has other names than v1 for its backends.
type Ingress struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            IngressSpec                `json:"spec,omitempty" pb:"2"`
	Status          networkingv1.IngressStatus `json:"status,omitempty" pb:"3"`
}

// IngressSpec is what an ingress asks for.
type IngressSpec struct {
	IngressClassName *string                   `json:"ingressClassName,omitempty" pb:"4"`
	DefaultBackend   *IngressBackend           `json:"backend,omitempty" pb:"1"`
	TLS              []networkingv1.IngressTLS `json:"tls,omitempty" pb:"2"`
	Rules            []IngressRule             `json:"rules,omitempty" pb:"3"`
}

// IngressRule has the paths of a host.
type IngressRule struct {
	Host             string `json:"host,omitempty" pb:"1"`
	IngressRuleValue `json:",inline" pb:"2"`
}

// IngressRuleValue has the paths.
type IngressRuleValue struct {
	HTTP *HTTPIngressRuleValue `json:"http,omitempty" pb:"1"`
}

// HTTPIngressRuleValue has the paths of HTTP.
type HTTPIngressRuleValue struct {
	Paths []HTTPIngressPath `json:"paths" pb:"1"`
}

// HTTPIngressPath leads requests with a path to a backend.
type HTTPIngressPath struct {
	Path     string                 `json:"path,omitempty" pb:"1"`
	PathType *networkingv1.PathType `json:"pathType,omitempty" pb:"3"`
	Backend  IngressBackend         `json:"backend" pb:"2"`
}

// IngressBackend is where requests go: a port of a service, or another object.
type IngressBackend struct {
	ServiceName string                            `json:"serviceName,omitempty" pb:"1"`
	ServicePort meta.IntOrString                  `json:"servicePort,omitempty" pb:"2"`
	Resource    *corev1.TypedLocalObjectReference `json:"resource,omitempty" pb:"3"`
}

// service returns the service of a backend as v1 has it, nil if the backend names none.
func (b *IngressBackend) service() *networkingv1.IngressServiceBackend {
	if b.ServiceName == "" && b.ServicePort == (meta.IntOrString{}) {
		return nil
	}
	return &networkingv1.IngressServiceBackend{
		Name: b.ServiceName,
		Port: networkingv1.ServiceBackendPort{Name: b.ServicePort.StrVal, Number: b.ServicePort.IntVal},
	}
}
