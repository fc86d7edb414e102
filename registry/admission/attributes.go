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

// This file has Attributes, which the registry makes for each write and passes to every plugin, and
// its methods: the object in another version, warnings, audit annotations, the 403 of a plugin.

// Operation is what a request does to its object.
type Operation string

// The operations, as the API spells them.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes describe a write to the plugins. They belong to one write, and one goroutine uses
// them.
type Attributes struct {
	Operation Operation
	// Resource and Kind are in the version that the client uses.
	Resource    meta.GroupVersionResource
	Kind        meta.GroupVersionKind
	Subresource string
	Namespace   string
	Name        string // empty on create with generateName, and for the objects of a deleted collection
	// Object is a meta.Object in the hub; nil on delete. A mutator may set another object. On
	// connect, Object holds the client's options, such as PodExecOptions, in the version of Kind:
	// they have no metadata, and are nil if the connect takes no options.
	Object  meta.Typed
	Old     meta.Object   // in the hub; nil on create and connect; must not be changed
	Options meta.Typed    // CreateOptions, UpdateOptions or DeleteOptions; nil on connect
	DryRun  bool          // plugins must not do anything that other requests can see
	User    *request.User // nil for the server's own controllers
	// Reinvoked is set when the mutators run a second time.
	Reinvoked bool
	// Type is the kind of Object and Old.
	Type kind.Kind

	// warn and the annotate functions are those of the request; if one is nil, its texts are
	// dropped.
	warn                      func(text string)
	annotate, annotateRequest func(key, value string)
	again                     bool           // a mutator has asked for a second run of all
	kept                      map[string]any // by plugin; see Keep
	final                     bool           // the validators run, so Object does not change
	// The last results of ObjectIn and OldIn, which are reused only if final is set.
	objectView, oldView view
	within              within       // the namespace as it was looked up; see Namespaces
	taken               *taken       // the settle functions of the present try; see Settle
	fence               *fence       // of the present try; nil: none; see Fence
	teller              *storyteller // nil: nobody wants the story; see Tell
}

// view is an object in a version of a kind.
type view struct {
	of      meta.Typed
	typ     kind.Kind
	version string
	obj     meta.Typed
}

// Listen sets the functions that receive warnings and audit annotations; either may be nil.
func (a *Attributes) Listen(warn func(text string), annotate func(key, value string)) {
	a.warn, a.annotate = warn, annotate
}

// Warn sends the client a warning, whether or not the write succeeds.
func (a *Attributes) Warn(text string) {
	if a.teller != nil {
		a.teller.warned(text)
	}
	if a.warn != nil {
		a.warn(text)
	}
}

// Annotate adds an annotation to the audit record of the request. key begins with the plugin's
// name: "name.of.plugin/what".
func (a *Attributes) Annotate(key, value string) {
	if a.teller != nil {
		a.teller.annotated(key, value)
	}
	if a.annotate != nil {
		a.annotate(key, value)
	}
}

// ListenRequest sets the function that receives the annotations of AnnotateRequest; it may be nil.
func (a *Attributes) ListenRequest(annotate func(key, value string)) { a.annotateRequest = annotate }

// AnnotateRequest adds an annotation that shows a part of the object to the audit record of the
// request, if that record has the body of the request (level Request and above).
func (a *Attributes) AnnotateRequest(key, value string) {
	if a.teller != nil {
		a.teller.annotated(key, value)
	}
	if a.annotateRequest != nil {
		a.annotateRequest(key, value)
	}
}

// Meta returns the metadata of Object; nil if there is no object, or if it has no metadata.
func (a *Attributes) Meta() *meta.ObjectMeta {
	if obj, ok := a.Object.(meta.Object); ok {
		return obj.GetObjectMeta()
	}
	return nil
}

// ObjectIn returns Object in a version of its kind, nil if there is no object. The result must not
// be changed, and is valid until the plugin returns. ctx bounds a conversion that a webhook does.
// The object of a connect is in the version of Kind, whatever version is asked for.
func (a *Attributes) ObjectIn(ctx context.Context, version string) (meta.Typed, error) {
	return a.ObjectAs(ctx, a.Type, version)
}

// ObjectAs returns Object in a version of typ, under the rules of ObjectIn. typ is Type or the kind
// of an equivalent resource in another group: a kind with the same hub.
func (a *Attributes) ObjectAs(ctx context.Context, typ kind.Kind, version string) (meta.Typed, error) {
	if a.Operation == Connect {
		return a.Object, nil
	}
	return a.as(ctx, &a.objectView, a.Object, typ, version)
}

// OldIn returns Old in a version of its kind, nil if there is no old object. The result must not be
// changed, and is valid until the plugin returns.
func (a *Attributes) OldIn(ctx context.Context, version string) (meta.Typed, error) {
	return a.OldAs(ctx, a.Type, version)
}

// OldAs returns Old in a version of typ, under the rules of OldIn. typ is Type or another kind with
// the same hub.
func (a *Attributes) OldAs(ctx context.Context, typ kind.Kind, version string) (meta.Typed, error) {
	return a.as(ctx, &a.oldView, a.Old, typ, version)
}

func (a *Attributes) as(
	ctx context.Context, kept *view, obj meta.Typed, typ kind.Kind, version string,
) (meta.Typed, error) {
	if obj == nil {
		return nil, nil
	}
	if a.final && kept.of == obj && kept.typ == typ && kept.version == version {
		return kept.obj, nil
	}
	out, err := typ.Convert(ctx, obj, version)
	if err != nil {
		return nil, err
	}
	*kept = view{obj, typ, version, out}
	return out, nil
}

// errNoObject is the error of Replace for a delete or connect.
var errNoObject = errors.New("admission: there is no object to replace")

// Replace replaces Object by an object from outside the server, such as the answer of a webhook.
// obj may be in any version of the kind, or of a kind with the same hub. Replace takes ownership of
// obj and completes it with defaults. The mutators then run once more.
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
	a.Object = hub
	a.Reinvoke()
	return nil
}

// Reinvoke makes all mutators run once more, with Reinvoked set, after they have all run. A mutator
// calls it when it has changed Object in a way that plugins before it may react to. In the second
// run it does nothing.
func (a *Attributes) Reinvoke() { a.again = true }

// Keep keeps a value of a plugin from the first run of the mutators to the second. The next try of
// the write begins without it.
func (a *Attributes) Keep(plugin string, value any) {
	if a.kept == nil {
		a.kept = map[string]any{}
	}
	a.kept[plugin] = value
}

// Kept returns the value that a plugin has kept with Keep in this try, nil if there is none.
func (a *Attributes) Kept(plugin string) any { return a.kept[plugin] }

// Forbidden returns the 403 of a plugin that refuses a write. It names the object by the name in
// the request, else by the object's own name or generateName, as kube-apiserver does.
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
