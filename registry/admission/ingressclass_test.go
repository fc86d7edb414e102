package admission_test

import (
	"context"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ingressClasses lists ingress classes.
type ingressClasses []*networkingv1.IngressClass

func (c ingressClasses) List(context.Context, request.Freshness) ([]*networkingv1.IngressClass, error) {
	return c, nil
}

func TestDefaultIngressClass(t *testing.T) {
	class := func(name, isDefault string) *networkingv1.IngressClass {
		annotations := map[string]string{"ingressclass.kubernetes.io/is-default-class": isDefault}
		return &networkingv1.IngressClass{ObjectMeta: meta.ObjectMeta{Name: name, Annotations: annotations}}
	}
	some := ingressClasses{class("b", "true"), class("a", "True"), class("c", "true")}
	for _, tt := range []struct {
		name, sub   string
		classes     ingressClasses
		class       *string
		annotations map[string]string
		want        *string
	}{
		{"no class", "", some, nil, nil, ptr("b")},
		{"nothing is marked", "", some[1:2], nil, nil, nil},
		{"a class", "", some, ptr("own"), nil, ptr("own")},
		{"an annotation", "", some, nil, map[string]string{"kubernetes.io/ingress.class": ""}, nil},
		{"a subresource", "status", some, nil, nil, nil},
	} {
		ingress := &networkingv1.Ingress{
			ObjectMeta: meta.ObjectMeta{Annotations: tt.annotations}, Spec: networkingv1.IngressSpec{IngressClassName: tt.class},
		}
		a := &admission.Attributes{
			Operation: admission.Create, Resource: networkingv1.GroupVersion.WithResource("ingresses"), Subresource: tt.sub, Object: ingress,
		}
		if err := admission.NewDefaultIngressClass(tt.classes).Mutate(t.Context(), a); err != nil {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if got := ingress.Spec.IngressClassName; (got == nil) != (tt.want == nil) || scheme.OrZero(got) != scheme.OrZero(tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, scheme.OrZero(got), scheme.OrZero(tt.want))
		}
	}
}
