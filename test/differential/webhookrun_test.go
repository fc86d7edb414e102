package differential

import (
	"context"
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	"github.com/coracle-project/coracle/router/request"
	ourv1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file passes a write of TestWebhooks through both plugins.

// hookResolver resolves every service to one address.
type hookResolver struct{ address string }

// ResolveEndpoint implements webhook.ServiceResolver.
func (r hookResolver) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: r.address}, nil
}

// hookNotes are attributes that keep the accepted annotations.
type hookNotes struct {
	theiradmission.Attributes
	notes map[string]string
}

func (n *hookNotes) AddAnnotation(key, value string) error {
	return n.AddAnnotationWithLevel(key, value, audit.LevelMetadata)
}

func (n *hookNotes) AddAnnotationWithLevel(key, value string, level audit.Level) error {
	err := n.Attributes.AddAnnotationWithLevel(key, value, level)
	if err == nil {
		n.notes[key] = string(level) + " " + value
	}
	return err
}

// hookWarnings collects warnings.
type hookWarnings struct{ list *[]string }

// AddWarning implements warning.Recorder.
func (w hookWarnings) AddWarning(_, text string) { *w.list = append(*w.list, text) }

// theirs passes the write through Kubernetes' plugin.
func (r *hookRun) theirs(t *testing.T) (told hookTold) {
	t.Helper()
	var stored []runtime.Object
	for _, c := range r.mutating {
		stored = append(stored, c)
	}
	for _, c := range r.validating {
		stored = append(stored, c)
	}
	client := fake.NewSimpleClientset(stored...)
	factory := informers.NewSharedInformerFactory(client, 0)
	resolver := hookResolver{r.server.Listener.Addr().String()}
	var plugin theiradmission.Interface
	if r.validates {
		p := must1(validating.NewValidatingAdmissionWebhook(nil))
		p.SetExternalKubeClientSet(client)
		p.SetExternalKubeInformerFactory(factory)
		p.SetServiceResolver(resolver)
		must(p.ValidateInitialization())
		plugin = p
	} else {
		p := must1(mutating.NewMutatingWebhook(nil))
		p.SetExternalKubeClientSet(client)
		p.SetExternalKubeInformerFactory(factory)
		p.SetServiceResolver(resolver)
		must(p.ValidateInitialization())
		plugin = p
	}
	// The plugin looks only every 100 ms whether it is ready. It is as soon as the informers have
	// synced.
	plugin.(interface {
		SetReadyFunc(theiradmission.ReadyFunc)
	}).SetReadyFunc(func() bool { return true })
	running, stop := context.WithCancel(t.Context())
	factory.StartWithContext(running)
	factory.WaitForCacheSyncWithContext(running)
	defer factory.Shutdown()
	defer stop()
	hub := func(obj map[string]any) runtime.Object {
		if obj == nil {
			return nil
		}
		return internal(t, obj)
	}
	gvk := r.resource.gv().WithKind(r.resource.kind)
	record := theiradmission.NewAttributesRecord(hub(r.obj), hub(r.old), gvk, r.namespace(), "a", r.resource.gv().WithResource(r.resource.plural), "",
		r.op, r.options, r.dryRun, &user.DefaultInfo{Name: "alice", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"x": {"1"}}})
	told.notes = map[string]string{}
	a := &hookNotes{record, told.notes}
	ctx := warning.WithWarningRecorder(t.Context(), hookWarnings{&told.warnings})
	err := r.runTheirs(ctx, plugin, a, &told)
	told.calls = r.taken()
	if err != nil {
		told.err = r.status(responsewriters.ErrorToAPIStatus(err))
	} else if r.obj != nil {
		told.object = string(encode(versioned(t, a.GetObject(), gvk)))
		told.changed = told.object != string(encode(versioned(t, hub(r.obj), gvk)))
	}
	return told
}

func (r *hookRun) runTheirs(ctx context.Context, plugin theiradmission.Interface, a theiradmission.Attributes, told *hookTold) error {
	o := hookObjects()
	if v, ok := plugin.(theiradmission.ValidationInterface); ok && r.validates {
		return v.Validate(ctx, a, o)
	}
	m := plugin.(theiradmission.MutationInterface)
	if err := m.Admit(ctx, a, o); err != nil {
		return err
	}
	if !a.GetReinvocationContext().ShouldReinvoke() {
		return nil
	}
	told.again = true
	a.GetReinvocationContext().SetIsReinvoke()
	if r.late && a.GetObject() != nil {
		late(a.GetObject().(metav1.Object))
	}
	return m.Admit(ctx, a, o)
}

// late is the change of another plugin before the second run.
func late(obj interface{ SetGenerateName(string) }) { obj.SetGenerateName("late") }

// hookObjects describes hookResources to Kubernetes.
func hookObjects() theiradmission.ObjectInterfaces {
	registry := runtime.NewEquivalentResourceRegistryWithIdentity(storageOf)
	for _, r := range hookResources {
		for _, gv := range append([]schema.GroupVersion{r.gv()}, r.others...) {
			registry.RegisterKindFor(gv.WithResource(r.plural), "", gv.WithKind(r.kind))
		}
	}
	s := legacyscheme.Scheme
	return &theiradmission.RuntimeObjectInterfaces{
		ObjectCreater: s, ObjectTyper: s, ObjectDefaulter: s, ObjectConvertor: runtime.UnsafeObjectConvertor(s),
		EquivalentResourceMapper: registry,
	}
}

func (r *hookRun) namespace() string {
	if r.resource.group == "admissionregistration.k8s.io" {
		return ""
	}
	return "team"
}

// ours passes the write through our plugin.
func (r *hookRun) ours(t *testing.T) (told hookTold) {
	t.Helper()
	typ := r.kinds.Kind(meta.GroupKind{Group: r.resource.group, Kind: r.resource.kind})
	gvk := meta.GroupVersionKind(r.resource.gv().WithKind(r.resource.kind))
	hub := func(obj map[string]any) meta.Object {
		decoded := must1(typ.Decode(codec.DecodeRequest{Data: encode(obj)}))
		must(typ.Default(t.Context(), decoded.Object))
		return must1(kind.ToHub(t.Context(), typ, decoded.Object))
	}
	told.notes = map[string]string{}
	a := &admission.Attributes{
		Operation: admission.Operation(r.op), Resource: gvk.GroupVersion().WithResource(r.resource.plural), Kind: gvk, Type: typ,
		Namespace: r.namespace(), Name: "a", DryRun: r.dryRun,
		User: &request.User{Name: "alice", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"x": {"1"}}},
	}
	if r.obj != nil {
		a.Object = hub(r.obj)
	}
	if r.old != nil {
		a.Old = hub(r.old)
	}
	switch o := r.options.(type) {
	case *metav1.CreateOptions:
		a.Options = &meta.CreateOptions{FieldManager: o.FieldManager}
	case *metav1.UpdateOptions:
		a.Options = &meta.UpdateOptions{}
	case *metav1.DeleteOptions:
		a.Options = &meta.DeleteOptions{}
	}
	note := func(level string) func(key, value string) {
		return func(key, value string) {
			if told.notes[key] == "" {
				told.notes[key] = level + " " + value
			}
		}
	}
	a.Listen(func(text string) { told.warnings = append(told.warnings, text) }, note("Metadata"))
	a.ListenRequest(note("Request"))
	err := r.runOurs(t, a, &told)
	told.calls = r.taken()
	if err != nil {
		told.err = r.status(meta.StatusOf(err))
	} else if r.obj != nil {
		before, after := hookText(t, typ, hub(r.obj), gvk.Version), hookText(t, typ, a.Object, gvk.Version)
		told.object, told.changed = after, after != before
	}
	return told
}

// hookText is the JSON of an object in a version.
func hookText(t *testing.T, typ kind.Kind, obj meta.Typed, version string) string {
	t.Helper()
	return string(encode(tree(must1(typ.Convert(t.Context(), obj, version)))))
}

func (r *hookRun) runOurs(t *testing.T, a *admission.Attributes, told *hookTold) error {
	t.Helper()
	means := webhooks.Means{World: &matching.World{Equivalents: r.equivalents}}
	compiler := webhooks.NewCompiler(r.pool)
	if r.validates {
		var all []*ourv1.ValidatingWebhookConfiguration
		for _, name := range []string{"a", "b", "c"} {
			for _, c := range r.validating {
				if c.Name == name {
					all = append(all, hookConfiguration[ourv1.ValidatingWebhookConfiguration](c))
				}
			}
		}
		hooks := compiler.Validating(all)
		defer compiler.Validating(nil)
		return admission.Chain{webhooks.NewValidating(func(context.Context) (*webhooks.Hooks, error) { return hooks, nil }, means)}.Validate(t.Context(), a)
	}
	var all []*ourv1.MutatingWebhookConfiguration
	for _, name := range []string{"a", "b", "c"} {
		for _, c := range r.mutating {
			if c.Name == name {
				all = append(all, hookConfiguration[ourv1.MutatingWebhookConfiguration](c))
			}
		}
	}
	hooks := compiler.Mutating(all)
	defer compiler.Mutating(nil)
	plugin := webhooks.NewMutating(func(context.Context) (*webhooks.Hooks, error) { return hooks, nil }, means)
	return admission.Chain{latePlugin{r, told}, plugin}.Mutate(t.Context(), a)
}

// latePlugin changes the object before the second run.
type latePlugin struct {
	run  *hookRun
	told *hookTold
}

func (latePlugin) Name() string                     { return "late" }
func (latePlugin) Handles(admission.Operation) bool { return true }
func (p latePlugin) Mutate(_ context.Context, a *admission.Attributes) error {
	if a.Reinvoked {
		p.told.again = true
		if m := a.Meta(); m != nil && p.run.late {
			m.GenerateName = "late"
		}
	}
	return nil
}

// hookConfiguration converts their configuration to ours.
func hookConfiguration[T any](theirs any) *T {
	ours := new(T)
	must(decode(encode(theirs), ours))
	return ours
}

// equivalents returns the equivalents among hookResources, as our server does.
func (w *hookWorld) equivalents(of meta.GroupVersionResource, _ string) (list []matching.Target) {
	for _, r := range hookResources {
		if r.plural != of.Resource {
			continue
		}
		for _, gv := range append([]schema.GroupVersion{r.gv()}, r.others...) {
			list = append(list, matching.Target{
				Resource: meta.GroupVersionResource(gv.WithResource(r.plural)), Kind: meta.GroupVersionKind(gv.WithKind(r.kind)),
				Type: w.kinds.Kind(meta.GroupKind{Group: gv.Group, Kind: r.kind}),
			})
		}
	}
	return list
}
