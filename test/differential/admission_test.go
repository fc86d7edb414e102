package differential

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	schedulinghelpers "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	controlplaneadmission "k8s.io/kubernetes/pkg/controlplane/apiserver/admission"
	kubeadmission "k8s.io/kubernetes/pkg/kubeapiserver/admission"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"

	"github.com/coracle-project/coracle/server/plugins"
)

// byDefault chooses the admission plugins that are on by default.
func byDefault(p plugins.Entry) bool { return p.Default }

// judgedAlone are plugins that tests of all kinds leave out, because they look for objects that
// only one side has: accounts, nodes, which tests store, policies and webhooks. They have tests of
// their own.
var judgedAlone = []string{
	accountPlugin, "NodeDeclaredFeatureValidator", "PodResizeValidator",
	"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
}

// judgedTogether chooses the plugins by default that are not judged alone.
func judgedTogether(p plugins.Entry) bool { return p.Default && !slices.Contains(judgedAlone, p.Name) }

// busy chooses the plugins that must act on some request of TestVerdicts. The two plugins for pods
// that are resized on their nodes have tests of their own.
func busy(p plugins.Entry) bool {
	return p.Default && p.Idle == "" && p.Name != "PodResizeValidator" && p.Name != "NodeDeclaredFeatureValidator"
}

// pluginNames returns the names of the plugins that are chosen.
func pluginNames(choose func(plugins.Entry) bool) (names []string) {
	for _, p := range plugins.Table() {
		if choose(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// TestPluginTable holds Coracle's table of admission plugins against Kubernetes'.
func TestPluginTable(t *testing.T) {
	all := pluginNames(func(plugins.Entry) bool { return true })
	if !slices.Equal(all, kubeoptions.AllOrderedPlugins) {
		t.Errorf("got %q\nwant %q", all, kubeoptions.AllOrderedPlugins)
	}
	off := kubeoptions.DefaultOffAdmissionPlugins()
	for _, p := range plugins.Table() {
		if p.Default == off.Has(p.Name) {
			t.Errorf("%s: by default %t, want %t", p.Name, p.Default, !off.Has(p.Name))
		}
	}
}

// theirAdmission makes a chain of Kubernetes' plugins as kube-apiserver does. Their informers have
// the objects of world.
func theirAdmission(t *testing.T, choose func(plugins.Entry) bool, world []runtime.Object, may authorizer.Authorizer,
	decorate admission.Decorator) admission.Interface {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	client := described{fake.NewSimpleClientset(world...)}
	known := informers.NewSharedInformerFactory(client, 0)
	config := controlplaneadmission.Config{LoopbackClientConfig: &rest.Config{}, ExternalInformers: known}
	more := must1(config.New(&http.Transport{}, nil, webhook.NewDefaultServiceResolver(), tracing.NewNoopTracerProvider()))
	generic := initializer.New(client, dynamicfake.NewSimpleDynamicClient(legacyscheme.Scheme), known, may, utilfeature.DefaultFeatureGate,
		compatibility.DefaultBuildEffectiveVersion(), ctx.Done(), testrestmapper.TestOnlyStaticRESTMapper(legacyscheme.Scheme))
	all := append(admission.PluginInitializers{generic, kubeadmission.NewPluginInitializer()}, more...)
	options := kubeoptions.NewAdmissionOptions()
	configs := must1(admission.ReadAdmissionConfiguration(pluginNames(choose), "", nil))
	chain := must1(options.GenericAdmission.Plugins.NewFromPlugins(pluginNames(choose), configs, all, decorate))
	known.Start(ctx.Done())
	for kind, synced := range known.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("Kubernetes' informer of %s has not synced", kind)
		}
	}
	return chain
}

// described is a client of a server that describes the kinds of v1. A fake.Clientset alone panics
// when a plugin asks for OpenAPI.
type described struct{ *fake.Clientset }

func (d described) Discovery() discovery.DiscoveryInterface {
	return describedKinds{d.Clientset.Discovery()}
}

type describedKinds struct{ discovery.DiscoveryInterface }

func (describedKinds) OpenAPIV3() openapi.Client { return describedKinds{} }

// Paths implements openapi.Client.
func (describedKinds) Paths() (map[string]openapi.GroupVersion, error) {
	return map[string]openapi.GroupVersion{"api/v1": describedKinds{}}, nil
}

// Schema implements openapi.GroupVersion.
func (describedKinds) Schema(string) ([]byte, error) {
	return json.Marshal(map[string]any{"components": map[string]any{"schemas": theirDocuments()}})
}

// ServerRelativeURL implements openapi.GroupVersion.
func (describedKinds) ServerRelativeURL() string { return "/openapi/v3/api/v1" }

// isolated is the runtime class that an example of a pod names. Both sides have it.
var isolated = &nodev1.RuntimeClass{
	TypeMeta: metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"}, ObjectMeta: metav1.ObjectMeta{Name: "isolated"}, Handler: "runsc",
	Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}},
}

// basicWorld are objects of every cluster that admission looks for, a runtime class, and a node
// with labels.
func basicWorld() []runtime.Object {
	list := []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: zonedNode, Labels: zonedLabels}}}
	list = append(list, isolated.DeepCopy())
	for _, class := range schedulinghelpers.SystemPriorityClasses() {
		legacyscheme.Scheme.Default(class) // as if it had been created
		list = append(list, class)
	}
	for _, name := range []string{where, "kube-system", "kube-public", "kube-node-lease"} {
		list = append(list, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}})
	}
	return list
}

// deeds are what admission plugins did about one request.
type deeds struct {
	refused string   // the name of the plugin that refused it
	changed []string // the names of the plugins that changed its object
}

type deedsKey struct{}

// witness notes in the deeds of a request's context what plugins do.
var witness = admission.DecoratorFunc(func(plugin admission.Interface, name string) admission.Interface { return witnessed{plugin, name} })

type witnessed struct {
	admission.Interface
	name string
}

func (w witnessed) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	m, is := w.Interface.(admission.MutationInterface)
	if !is {
		return nil
	}
	var before runtime.Object
	if obj := a.GetObject(); obj != nil {
		before = obj.DeepCopyObject()
	}
	err := m.Admit(ctx, a, o)
	w.note(ctx, err)
	if seen, is := ctx.Value(deedsKey{}).(*deeds); is && err == nil && before != nil && !apiequality.Semantic.DeepEqual(before, a.GetObject()) {
		seen.changed = append(seen.changed, w.name)
	}
	return err
}

func (w witnessed) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	v, is := w.Interface.(admission.ValidationInterface)
	if !is {
		return nil
	}
	err := v.Validate(ctx, a, o)
	w.note(ctx, err)
	return err
}

func (w witnessed) note(ctx context.Context, err error) {
	if seen, is := ctx.Value(deedsKey{}).(*deeds); is && err != nil {
		seen.refused = w.name
	}
}
