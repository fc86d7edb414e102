package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DefaultIngressClass is the plugin of that name. A new ingress that names no class gets the
// default class, if there is one. An ingress may name its class in an old annotation, too.
type DefaultIngressClass struct {
	classes IngressClasses
}

// IngressClasses reads the IngressClasses of the cluster. A registry.ListMemo implements it.
type IngressClasses interface {
	// List returns all classes that can be read. They must not be changed. The error is a
	// *meta.StatusError.
	List(ctx context.Context, fresh request.Freshness) ([]*networkingv1.IngressClass, error)
}

// NewDefaultIngressClass returns the plugin.
func NewDefaultIngressClass(classes IngressClasses) DefaultIngressClass {
	return DefaultIngressClass{classes}
}

// Name is the plugin's name.
func (DefaultIngressClass) Name() string { return "DefaultIngressClass" }

// Handles is true for creates.
func (DefaultIngressClass) Handles(op Operation) bool { return op == Create }

// Mutate sets the class of an ingress without one. It reads from the cache: NamespaceLifecycle has
// just read the ingress's namespace consistently, so the cache is at most as old as that read.
func (p DefaultIngressClass) Mutate(ctx context.Context, a *Attributes) error {
	ingress, ok := a.Object.(*networkingv1.Ingress)
	if !ok || a.Subresource != "" || ingress.Spec.IngressClassName != nil {
		return nil
	}
	if _, named := ingress.Annotations[networkingv1.IngressClassAnnotation]; named {
		return nil
	}
	classes, err := p.classes.List(ctx, request.Cached)
	if err != nil {
		return err
	}
	if class := meta.DefaultClass(classes); class != nil {
		name := class.Name
		ingress.Spec.IngressClassName = &name
	}
	return nil
}
