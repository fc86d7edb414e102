package scheme

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// NotRegisteredError says that a Scheme does not know a kind or a Go type.
type NotRegisteredError struct {
	Scheme string // the name of the Scheme
	// GVK is the unknown kind. If it is empty, Type is the unknown Go type.
	GVK  meta.GroupVersionKind
	Type reflect.Type
}

// Error returns the text of kube-apiserver.
func (e *NotRegisteredError) Error() string {
	switch {
	case e.GVK == meta.GroupVersionKind{}:
		return fmt.Sprintf("no kind is registered for the type %v in scheme %q", e.Type, e.Scheme)
	case e.GVK.Version == InternalVersion:
		return fmt.Sprintf("no kind %q is registered for the internal version of group %q in scheme %q",
			e.GVK.Kind, e.GVK.Group, e.Scheme)
	}
	return fmt.Sprintf("no kind %q is registered for version %q in scheme %q",
		e.GVK.Kind, e.GVK.GroupVersion(), e.Scheme)
}

// IsNotRegistered reports whether err is, or wraps, a *NotRegisteredError.
func IsNotRegistered(err error) bool {
	var e *NotRegisteredError
	return errors.As(err, &e)
}

// ConversionError says that an object of kind From cannot become an object of kind To.
type ConversionError struct {
	From meta.GroupVersionKind
	To   meta.GroupVersionKind // for a hub, the version is InternalVersion
}

// Error returns the text of kube-apiserver.
func (e *ConversionError) Error() string {
	return fmt.Sprintf("converting (%s.%s) to (%s.%s): unknown conversion",
		PackageOf(e.From), e.From.Kind, PackageOf(e.To), e.To.Kind)
}

// PackageOf returns the name of the Go package in which Kubernetes declares a kind, because error
// messages show it: the version or, for a hub, the first label of the group.
func PackageOf(gvk meta.GroupVersionKind) string {
	if gvk.Version != InternalVersion {
		return gvk.Version
	}
	switch gvk.Group {
	case "", "events.k8s.io":
		return "core"
	}
	name, _, _ := strings.Cut(gvk.Group, ".")
	return name
}
