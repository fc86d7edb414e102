package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Operation is what a write does.
type Operation string

// The operations, as the API spells them.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes describe a write to the plugins. They belong to one request.
type Attributes struct {
	Operation Operation
	// Resource and Kind are in the version that the client speaks.
	Resource    meta.GroupVersionResource
	Kind        meta.GroupVersionKind
	Subresource string
	Namespace   string
	Name        string // empty on create with generateName
	// Object is a meta.Object in the hub version; nil on delete. Mutators may set another one. The
	// Object of a connect is what the client asks for, such as PodExecOptions, in the version of
	// Kind; it has no metadata, and is nil if the connect takes no options.
	Object  meta.Typed
	Old     meta.Object   // in the hub version; nil on create and connect; never to be changed
	Options meta.Typed    // CreateOptions, UpdateOptions or DeleteOptions; nil on connect
	DryRun  bool          // plugins must have no side effects
	User    *request.User // nil for the server's own controllers
	// Reinvoked is set when the mutators run a second time.
	Reinvoked bool
	// Type is the kind of Object and Old.
	Type kind.Kind

	// warn and annotate are those of the request; nil if nobody listens.
	warn     func(text string)
	annotate func(key, value string)
	replaced bool // by an object from outside
	final    bool // nothing changes Object any more: the validators run
	// Object and Old in another version, as it was asked for last; kept when final.
	objectView, oldView view
	within              within // the namespace; see Namespaces
	taken               *taken // for the present try; see Settle
}

// view is an object in a version.
type view struct {
	of      meta.Typed
	version string
	obj     meta.Typed
}

// Listen says who is told of warnings and audit annotations; either may be nil.
func (a *Attributes) Listen(warn func(text string), annotate func(key, value string)) {
	a.warn, a.annotate = warn, annotate
}

// Warn adds a warning for the client, which it gets also if the write succeeds.
func (a *Attributes) Warn(text string) {
	if a.warn != nil {
		a.warn(text)
	}
}

// Annotate adds to the audit record of the request. key begins with the plugin's name:
// "name.of.plugin/what".
func (a *Attributes) Annotate(key, value string) {
	if a.annotate != nil {
		a.annotate(key, value)
	}
}

// Meta returns the metadata of Object; nil if there is no object, or it has none.
func (a *Attributes) Meta() *meta.ObjectMeta {
	if obj, ok := a.Object.(meta.Object); ok {
		return obj.GetObjectMeta()
	}
	return nil
}

// ObjectIn returns Object in a version of its kind, nil if there is no object. It is not to be
// changed, and is good until the plugin returns. ctx bounds a conversion that needs another server.
// The object of a connect is in the version of Kind, whatever version is asked for.
func (a *Attributes) ObjectIn(ctx context.Context, version string) (meta.Typed, error) {
	if a.Operation == Connect {
		return a.Object, nil
	}
	return a.in(ctx, &a.objectView, a.Object, version)
}

// OldIn is ObjectIn for Old.
func (a *Attributes) OldIn(ctx context.Context, version string) (meta.Typed, error) {
	return a.in(ctx, &a.oldView, a.Old, version)
}

func (a *Attributes) in(ctx context.Context, kept *view, obj meta.Typed, version string) (meta.Typed, error) {
	if obj == nil {
		return nil, nil
	}
	if a.final && kept.of == obj && kept.version == version {
		return kept.obj, nil
	}
	out, err := a.Type.Convert(ctx, obj, version)
	if err != nil {
		return nil, err
	}
	*kept = view{obj, version, out}
	return out, nil
}

// errNoObject is returned to a plugin that replaces what is not there.
var errNoObject = errors.New("admission: there is no object to replace")

// Replace puts an object from outside of the server, such as a webhook's, in the place of Object.
// It may be of any version of the kind, becomes the write's own, and is completed with defaults.
func (a *Attributes) Replace(ctx context.Context, obj meta.Typed) error {
	if a.Object == nil || a.Operation == Connect {
		return errNoObject
	}
	if err := a.Type.Default(ctx, obj); err != nil {
		return err
	}
	hub, err := kind.ToHub(ctx, a.Type, obj)
	if err != nil {
		return err
	}
	a.Object, a.replaced = hub, true
	return nil
}

// Forbidden is the 403 of a plugin that rejects a write. An object that the request does not name
// goes by its own name or, if that is not made yet, by its generateName.
func (a *Attributes) Forbidden(format string, args ...any) *meta.StatusError {
	name := a.Name
	if m := a.Meta(); name == "" && m != nil {
		name = cmp.Or(m.Name, m.GenerateName)
	}
	if name == "" {
		name = "Unknown"
	}
	return meta.NewForbidden(a.Resource.GroupResource(), name, fmt.Errorf(format, args...))
}
