package differential

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	ournetworking "github.com/coracle-project/coracle/scheme/api/networkingv1"
	ournode "github.com/coracle-project/coracle/scheme/api/nodev1"
	ourstorage "github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
	ourvolumes "github.com/coracle-project/coracle/server/loops/volumes"
)

// classWorld has the classes that both sides' plugins read.
type classWorld struct {
	t       *testing.T
	rnd     *rand.Rand
	known   informers.SharedInformerFactory
	theirs  map[string]theiradmission.Interface
	storage classList[*ourstorage.StorageClass]
	ingress classList[*ournetworking.IngressClass]
	runtime classList[*ournode.RuntimeClass]
	late    *nodev1.RuntimeClass // is seen only by live look-ups; may be nil
}

// classList is the reader of classes for our plugins. Consistent reads see late, too.
type classList[T meta.Object] struct{ seen, late []T }

func (c *classList[T]) List(_ context.Context, fresh request.Freshness) ([]T, error) {
	if fresh == request.Cached {
		return c.seen, nil
	}
	return slices.Concat(c.seen, c.late), nil
}

func (c *classList[T]) Hidden(context.Context, string) error { return nil }

func newClassWorld(t *testing.T, subject string) *classWorld {
	w := &classWorld{t: t, rnd: random(subject), known: informers.NewSharedInformerFactory(nil, 0), theirs: map[string]theiradmission.Interface{}}
	client := fake.NewSimpleClientset()
	client.PrependReactor("get", "runtimeclasses", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if name := a.(clienttesting.GetAction).GetName(); w.late == nil || w.late.Name != name {
			return true, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), name)
		}
		return true, w.late, nil
	})
	plugins := theiradmission.NewPlugins()
	for _, register := range []func(*theiradmission.Plugins){setdefault.Register, defaultingressclass.Register, runtimeclass.Register, resize.Register} {
		register(plugins)
	}
	give := initializer.New(client, nil, w.known, nil, nil, nil, t.Context().Done(), nil)
	for _, name := range plugins.Registered() {
		w.theirs[name] = must1(plugins.InitPlugin(name, nil, give))
	}
	return w
}

// populate replaces all classes by random ones.
func (w *classWorld) populate() {
	w.storage.seen, w.ingress.seen, w.runtime.seen, w.runtime.late, w.late = nil, nil, nil, nil, nil
	var storage, ingress, runtime []any
	for _, name := range w.someNames() {
		c := &storagev1.StorageClass{ObjectMeta: w.classMeta(name, defaultMark, "storageclass.beta.kubernetes.io/is-default-class"),
			AllowVolumeExpansion: pick(w.rnd, nil, new(true), new(false))}
		storage, w.storage.seen = append(storage, c), append(w.storage.seen, toOurs[ourstorage.StorageClass](w.t, c))
	}
	for _, name := range w.someNames() {
		c := &networkingv1.IngressClass{ObjectMeta: w.classMeta(name, networkingv1.AnnotationIsDefaultIngressClass, "other")}
		ingress, w.ingress.seen = append(ingress, c), append(w.ingress.seen, toOurs[ournetworking.IngressClass](w.t, c))
	}
	for _, name := range w.someNames() {
		c := w.runtimeClass(name)
		runtime, w.runtime.seen = append(runtime, c), append(w.runtime.seen, toOurs[ournode.RuntimeClass](w.t, c))
	}
	if chance(w.rnd, 2) {
		w.late = w.runtimeClass("late")
		w.runtime.late = []*ournode.RuntimeClass{toOurs[ournode.RuntimeClass](w.t, w.late)}
	}
	for _, of := range []struct {
		indexer cache.Indexer
		objects []any
	}{
		{w.known.Storage().V1().StorageClasses().Informer().GetIndexer(), storage},
		{w.known.Networking().V1().IngressClasses().Informer().GetIndexer(), ingress},
		{w.known.Node().V1().RuntimeClasses().Informer().GetIndexer(), runtime},
	} {
		must(of.indexer.Replace(of.objects, ""))
	}
}

const defaultMark = "storageclass.kubernetes.io/is-default-class"

// classNames are the classes that objects name. Not all of them exist.
var classNames = []string{"a", "b", "c", "late", ""}

func (w *classWorld) someNames() (names []string) {
	for _, name := range []string{"a", "b", "c"} {
		if !chance(w.rnd, 3) {
			names = append(names, name)
		}
	}
	w.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// classMeta is the metadata of a class that may be marked as the default, often as old as others.
func (w *classWorld) classMeta(name string, marks ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1_700_000_000+w.rnd.Int64N(3), 0)}
	for _, mark := range marks {
		if chance(w.rnd, 2) {
			metav1.SetMetaDataAnnotation(&m, mark, pick(w.rnd, "true", "true", "false", "True", ""))
		}
	}
	return m
}

func (w *classWorld) runtimeClass(name string) *nodev1.RuntimeClass {
	c := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "h"}
	if chance(w.rnd, 2) {
		c.Overhead = &nodev1.Overhead{PodFixed: w.overhead()}
	}
	if chance(w.rnd, 2) {
		c.Scheduling = &nodev1.Scheduling{NodeSelector: w.labels(), Tolerations: w.tolerations()}
	}
	return c
}

func (w *classWorld) overhead() corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range pickSome(w.rnd, "cpu", "cpu", "memory") {
		list[corev1.ResourceName(name)] = resource.MustParse(pick(w.rnd, "0.25", "250m", "1", "1000m", "0"))
	}
	return pick(w.rnd, list, list, list, nil, corev1.ResourceList{})
}

func (w *classWorld) labels() map[string]string {
	labels := map[string]string{}
	for _, key := range pickSome(w.rnd, "zone", "disk", "arch") {
		labels[key] = pick(w.rnd, "x", "x", "x", "y")
	}
	return pick(w.rnd, labels, labels, labels, nil, map[string]string{})
}

func (w *classWorld) tolerations() (list []corev1.Toleration) {
	for range w.rnd.IntN(4) {
		list = append(list, corev1.Toleration{
			Key:               pick(w.rnd, "", "k", "k", "l"),
			Operator:          pick[corev1.TolerationOperator](w.rnd, "", "Equal", "Equal", "Exists", "Exists", "Gt", "Nonsense"),
			Value:             pick(w.rnd, "", "1", "1", "2"),
			Effect:            pick[corev1.TaintEffect](w.rnd, "", "NoExecute", "NoExecute", "NoSchedule"),
			TolerationSeconds: pick(w.rnd, nil, nil, new(int64(0)), new(int64(60)), new(int64(61))),
		})
	}
	return list
}

// classedWrite is one write, for both sides.
type classedWrite struct {
	operation        admission.Operation
	resource         schema.GroupVersionResource
	sub, name        string
	theirs, theirOld runtime.Object // internal
	ours, ourOld     meta.Object
	empty            func() runtime.Object // makes an object in the version of ours
}

// attributes describe the write with obj to Kubernetes' plugins.
func (c *classedWrite) attributes(obj runtime.Object) theiradmission.Attributes {
	return theiradmission.NewAttributesRecord(obj, c.theirOld, schema.GroupVersionKind{}, "ns", c.name, c.resource, c.sub,
		theiradmission.Operation(c.operation), nil, false, nil)
}

// compare passes a write through the plugin of both sides, and compares the object after mutation
// and the whole status of the refusal.
func (w *classWorld) compare(plugin admission.Plugin, c classedWrite) (refused, changed bool) {
	w.t.Helper()
	theirs := w.theirs[plugin.Name()]
	handles := theirs.Handles(theiradmission.Operation(c.operation))
	if plugin.Handles(c.operation) != handles {
		w.t.Errorf("%s: handles %s: got %t", plugin.Name(), c.operation, !handles)
	}
	if !handles {
		return false, false
	}
	before, original := w.versioned(c), c.theirs.DeepCopyObject()
	got := refusedBy(w.t, w.admit(plugin, &c))
	want := refusedBy(w.t, theirAdmit(theirs, c.attributes(c.theirs)))
	for range 100 { // of several conflicts in a node selector, Kubernetes names any
		if got == want || !strings.Contains(want, "conflict: runtimeClass.scheduling") {
			break
		}
		want = refusedBy(w.t, theirAdmit(theirs, c.attributes(original.DeepCopyObject())))
	}
	if got != want {
		w.t.Errorf("%s %s/%s %s:\n got %s\nwant %s", plugin.Name(), c.resource.Resource, c.sub, before, got, want)
	}
	if want != "" {
		return true, false
	}
	mine, after := w.spelt(c), w.versioned(c)
	if mine != after {
		w.t.Errorf("%s %s/%s %s:\n got %s\nwant %s", plugin.Name(), c.resource.Resource, c.sub, before, mine, after)
	}
	return false, before != after
}

// theirAdmit mutates and validates.
func theirAdmit(p theiradmission.Interface, a theiradmission.Attributes) error {
	if m, ok := p.(theiradmission.MutationInterface); ok {
		if err := m.Admit(context.Background(), a, nil); err != nil {
			return err
		}
	}
	if v, ok := p.(theiradmission.ValidationInterface); ok {
		return v.Validate(context.Background(), a, nil)
	}
	return nil
}

func (w *classWorld) admit(p admission.Plugin, c *classedWrite) error {
	a := &admission.Attributes{
		Operation: c.operation, Resource: meta.GroupVersionResource{Group: c.resource.Group, Version: c.resource.Version, Resource: c.resource.Resource},
		Subresource: c.sub, Namespace: "ns", Name: c.name, Object: c.ours, Old: c.ourOld,
	}
	if err := (admission.Chain{p}).Mutate(w.t.Context(), a); err != nil {
		return err
	}
	return admission.Chain{p}.Validate(w.t.Context(), a)
}

// refusedBy is the status of an error as JSON, "" for nil.
func refusedBy(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var status metav1.Status
	if theirs := apierrors.APIStatus(nil); errors.As(err, &theirs) {
		status = theirs.Status()
	} else if ours := (*meta.StatusError)(nil); errors.As(err, &ours) {
		must(json.Unmarshal(encode(ours.Status), &status))
	} else {
		t.Errorf("an error without a status: %v", err)
	}
	status.TypeMeta = metav1.TypeMeta{}
	return string(encode(status))
}

// versioned is Kubernetes' object in its version.
func (w *classWorld) versioned(c classedWrite) string {
	out := c.empty()
	must(legacyscheme.Scheme.Convert(c.theirs, out, nil))
	return string(encode(out))
}

// spelt is our object as Kubernetes encodes it.
func (w *classWorld) spelt(c classedWrite) string {
	out := c.empty()
	must(json.Unmarshal(encode(c.ours), out))
	return string(encode(out))
}

// tally counts what became of writes. It fails the test if too many or too few were refused or
// changed.
func (w *classWorld) tally(n int, write func() (refused, changed bool), mayRefuse, mayChange bool) {
	w.t.Helper()
	refused, changed := 0, 0
	for i := range n {
		if i%20 == 0 {
			w.populate()
		}
		no, other := write()
		if no {
			refused++
		}
		if other {
			changed++
		}
	}
	w.t.Logf("%d writes, %d refused, %d changed", n, refused, changed)
	if mayRefuse && refused < n/10 || mayChange && changed < n/10 || refused+changed > n*19/20 {
		w.t.Errorf("%d of %d writes were refused, %d changed: they are too random", refused, n, changed)
	}
}

var claimsOfCore = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

// claim is a random claim, which often has no class.
func (w *classWorld) claim() *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: pick(w.rnd, "", "c"), GenerateName: pick(w.rnd, "", "c-")}}
	if chance(w.rnd, 2) {
		c.Spec.StorageClassName = new(pick(w.rnd, "a", "a", "a", "b", "c", ""))
	}
	if chance(w.rnd, 6) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, corev1.BetaStorageClassAnnotation, pick(w.rnd, "a", "a", ""))
	}
	if !chance(w.rnd, 8) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(w.rnd, "1Gi", "1Gi", "1024Mi", "2Gi", "1G", "0"))}
	}
	c.Status.Phase = pick(w.rnd, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimPending, corev1.ClaimLost, "")
	return c
}

func (w *classWorld) internalClaim(c *corev1.PersistentVolumeClaim) runtime.Object {
	out := &core.PersistentVolumeClaim{}
	must(legacyscheme.Scheme.Convert(c.DeepCopy(), out, nil))
	return out
}

// claimWrite is a create of a claim if old is nil, and an update otherwise.
func (w *classWorld) claimWrite(now, old *corev1.PersistentVolumeClaim) classedWrite {
	c := classedWrite{
		operation: admission.Create, resource: claimsOfCore, sub: pick(w.rnd, "", "", "", "", "", "status"), name: now.Name,
		theirs: w.internalClaim(now), ours: toOurs[ourcore.PersistentVolumeClaim](w.t, now),
		empty: func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
	}
	if old != nil {
		c.operation, c.theirOld, c.ourOld = admission.Update, w.internalClaim(old), toOurs[ourcore.PersistentVolumeClaim](w.t, old)
	}
	return c
}

func TestDefaultStorageClass(t *testing.T) {
	w := newClassWorld(t, "default storage class")
	plugin := admission.NewDefaultStorageClass(&w.storage)
	w.tally(times(2000), func() (bool, bool) { return w.compare(plugin, w.claimWrite(w.claim(), nil)) }, false, true)
}

func TestClaimResize(t *testing.T) {
	w := newClassWorld(t, "growing claims")
	plugin := admission.NewPersistentVolumeClaimResize(&w.storage)
	w.tally(times(2000), func() (bool, bool) {
		now, old := w.claim(), w.claim()
		if !chance(w.rnd, 4) {
			old.Annotations, old.Spec.StorageClassName = now.Annotations, now.Spec.StorageClassName
		}
		if chance(w.rnd, 2) {
			old.Spec.Resources.Requests, now.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse("1Gi")}, corev1.ResourceList{"storage": resource.MustParse("2Gi")}
		}
		return w.compare(plugin, w.claimWrite(now, old))
	}, true, false)
}

func TestDefaultIngressClass(t *testing.T) {
	w := newClassWorld(t, "default ingress class")
	plugin := admission.NewDefaultIngressClass(&w.ingress)
	w.tally(times(2000), func() (bool, bool) {
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "i"}}
		if chance(w.rnd, 4) {
			ingress.Spec.IngressClassName = new(pick(w.rnd, classNames...))
		}
		if chance(w.rnd, 6) {
			metav1.SetMetaDataAnnotation(&ingress.ObjectMeta, "kubernetes.io/ingress.class", pick(w.rnd, "a", ""))
		}
		internal := &networking.Ingress{}
		must(legacyscheme.Scheme.Convert(ingress.DeepCopy(), internal, nil))
		return w.compare(plugin, classedWrite{
			operation: admission.Create, resource: networkingv1.SchemeGroupVersion.WithResource("ingresses"), sub: pick(w.rnd, "", "", "", "", "", "status"), name: "i",
			theirs: internal, ours: toOurs[ournetworking.Ingress](t, ingress), empty: func() runtime.Object { return &networkingv1.Ingress{} },
		})
	}, false, true)
}

func TestRuntimeClass(t *testing.T) {
	w := newClassWorld(t, "runtime classes")
	plugin := admission.NewRuntimeClass(&w.runtime)
	w.tally(times(2000), func() (bool, bool) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pick(w.rnd, "", "p"), GenerateName: pick(w.rnd, "", "p-")}}
		if !chance(w.rnd, 5) {
			pod.Spec.RuntimeClassName = new(pick(w.rnd, "a", "a", "b", "b", "c", "late", "late", ""))
		}
		if chance(w.rnd, 3) {
			pod.Spec.Overhead = w.overhead()
		}
		pod.Spec.NodeSelector, pod.Spec.Tolerations = w.labels(), w.tolerations()
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{} // Kubernetes' internal pods always have one
		internal, ours := &core.Pod{}, toOurs[ourcore.Pod](t, pod)
		if pod.Spec.Overhead != nil && ours.Spec.Overhead == nil { // JSON has no empty maps, but clients send them
			ours.Spec.Overhead = ourcore.ResourceList{}
		}
		must(legacyscheme.Scheme.Convert(pod.DeepCopy(), internal, nil))
		return w.compare(plugin, classedWrite{
			operation: pick(w.rnd, admission.Create, admission.Create, admission.Create, admission.Create, admission.Update), name: pod.Name,
			resource: corev1.SchemeGroupVersion.WithResource("pods"), sub: pick(w.rnd, "", "", "", "", "", "", "", "resize"),
			theirs: internal, ours: ours, empty: func() runtime.Object { return &corev1.Pod{} },
		})
	}, true, true)
}

// TestFittingVolume compares which volumes fit a claim without class, and therefore keep it without
// one, with the choice of Kubernetes' volume binder.
func TestFittingVolume(t *testing.T) {
	w := newClassWorld(t, "fitting volumes")
	modes := []corev1.PersistentVolumeAccessMode{"ReadWriteOnce", "ReadOnlyMany"}
	fit, n := 0, times(4000)
	for range n {
		claim := w.claim()
		claim.Name, claim.Namespace, claim.UID, claim.Spec.StorageClassName, claim.Annotations = "c", "ns", "1", nil, nil
		claim.Spec.AccessModes = pick(w.rnd, modes, modes[:1], modes[1:])
		claim.Spec.VolumeMode = pick(w.rnd, nil, nil, new(corev1.PersistentVolumeFilesystem), new(corev1.PersistentVolumeBlock))
		claim.Spec.VolumeAttributesClassName = pick(w.rnd, nil, nil, nil, new(""), new("a"))
		if chance(w.rnd, 3) {
			claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: w.labels()}
		}
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Labels: w.labels()}}
		v.Spec.AccessModes = pick(w.rnd, modes, modes, modes[:1], modes[1:])
		v.Spec.VolumeMode = pick(w.rnd, nil, nil, new(corev1.PersistentVolumeFilesystem), new(corev1.PersistentVolumeBlock))
		v.Spec.VolumeAttributesClassName = pick(w.rnd, nil, nil, nil, new(""), new("a"))
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(w.rnd, "1Gi", "2Gi", "3Gi"))}
		v.Spec.StorageClassName = pick(w.rnd, "", "", "", "a")
		if chance(w.rnd, 8) {
			metav1.SetMetaDataAnnotation(&v.ObjectMeta, corev1.BetaStorageClassAnnotation, pick(w.rnd, "a", ""))
		}
		if chance(w.rnd, 3) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pick(w.rnd, "ns", "ns", "other"), Name: pick(w.rnd, "c", "c", "d"), UID: pick[types.UID](w.rnd, "", "1", "2")}
		}
		if chance(w.rnd, 8) {
			v.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_700_000_000, 0)}
		}
		v.Status.Phase = pick(w.rnd, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumePending, corev1.VolumeReleased, "")
		found := must1(volumehelpers.FindMatchingVolume(claim, []*corev1.PersistentVolume{v}, nil, nil, false, true))
		want := found != nil && volumehelpers.CheckAccessModes(claim, v)
		if got := ourvolumes.Fits(toOurs[ourcore.PersistentVolumeClaim](t, claim), toOurs[ourcore.PersistentVolume](t, v)); got != want {
			t.Errorf("%s\n%s: got %t, want %t", encode(claim), encode(v), got, want)
		}
		if want {
			fit++
		}
	}
	t.Logf("%d of %d volumes fit", fit, n)
	if fit < n/20 || fit > n*19/20 {
		t.Errorf("%d of %d volumes fit: they are too random", fit, n)
	}
}
