package matching

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file finds what a Matcher needs beside the request: the labels of the namespace, and
// equivalent resources.

// World tells a Matcher what the request does not say. One World serves all Matchers of a server.
type World struct {
	// Namespaces finds the labels of the namespace of a request.
	Namespaces *admission.Namespaces
	// Equivalents returns the targets that are equivalent to a resource or subresource, in the
	// order in which rules are tried on them. The resource itself may be among them. All have the
	// plural name of the resource. The result is read-only. A call must be cheap and allocate
	// nothing, because every write makes one. If it is nil, no resource has an equivalent.
	Equivalents Equivalents
}

// Equivalents is the type of World.Equivalents: a function from a resource or subresource to its
// equivalent targets.
type Equivalents func(resource meta.GroupVersionResource, subresource string) []Target

func (w *World) equivalents(a *admission.Attributes) []Target {
	if w.Equivalents == nil {
		return nil
	}
	return w.Equivalents(a.Resource, a.Subresource)
}

// errNoNamespace is the cause of the error for an object that is in no namespace, but whose
// resource is called namespaces.
var errNoNamespace = errors.New("resource name may not be empty")

// namespaceLabels returns the labels of the namespace of a request. If the request writes the
// namespace itself, they are the labels of its object or old object.
func (w *World) namespaceLabels(ctx context.Context, a *admission.Attributes) (meta.Lookup, error) {
	isNamespace := a.Resource.Resource == "namespaces" && a.Namespace == ""
	switch {
	case a.Resource.Resource == "namespaces" && a.Subresource == "" &&
		(a.Operation == admission.Create || a.Operation == admission.Update):
		return labelsOf(a.Object)
	case isNamespace && a.Resource.Group == "" && a.Old != nil:
		return labelsOf(a.Old)
	case a.ReviewedNamespace() == "":
		return nil, meta.NewInternalError(errNoNamespace)
	}
	found, err := w.Namespaces.Named(ctx, a, a.ReviewedNamespace(), request.ReadYourWrites)
	switch {
	case meta.IsNotFound(err):
		return nil, err
	case err != nil:
		return nil, meta.NewInternalError(err)
	}
	return found.Labels, nil
}

// errNoMetadata is the cause of the error for an object without metadata.
var errNoMetadata = errors.New("object does not implement the Object interfaces")

func labelsOf(obj meta.Typed) (meta.Lookup, error) {
	labelled, ok := obj.(meta.Object)
	if !ok {
		return nil, meta.NewInternalError(errNoMetadata)
	}
	return meta.Set(labelled.GetObjectMeta().Labels), nil
}
