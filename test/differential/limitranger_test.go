package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestLimitRanger has both LimitRanger plugins complete and judge the same random pods and claims
// in namespaces with random limit ranges. It compares the objects afterwards and the refusals.
func TestLimitRanger(t *testing.T) {
	w := newLimitWorld(t)
	n, refused, completed := times(4_000), 0, 0
	for i := range n {
		if i%20 == 0 {
			w.populate(i)
		}
		a, attrs := w.write()
		before := encode(a.Object)
		got, want := w.ours.Mutate(t.Context(), a), w.theirs.Admit(t.Context(), attrs, nil)
		if !reflect.DeepEqual(w.asTree(a.Object), w.asTree(attrs.GetObject())) {
			t.Fatalf("%s made of %s\n got %s\nwant %s", encode(w.ranges), before, encode(a.Object), encode(w.asTree(attrs.GetObject())))
		}
		if string(before) != string(encode(a.Object)) {
			completed++
		}
		if got == nil {
			got = w.ours.Validate(t.Context(), a)
		}
		if want == nil {
			want = w.theirs.Validate(t.Context(), attrs, nil)
		}
		if want != nil {
			refused++
		}
		if said, theirs := w.refusal(got), w.refusal(want); said != theirs {
			t.Errorf("%s %s/%s:\n got %s\nwant %s\nranges %s\nobject %s", a.Operation, a.Resource.Resource, a.Subresource, said, theirs, encode(w.ranges), encode(a.Object))
		}
	}
	t.Logf("%d of %d writes refused, %d objects completed", refused, n, completed)
	if refused < n/10 || refused > n*9/10 || completed < n/10 {
		t.Errorf("%d of %d writes were refused, and %d objects completed: they are too random", refused, n, completed)
	}
}

// limitWorld has a namespace and its limit ranges. populate replaces both.
type limitWorld struct {
	*rand.Rand
	t         *testing.T
	namespace string
	ranges    []*corev1.LimitRange // sorted by name
	own       []*ourcore.LimitRange
	fails     error // the error of reading limit ranges from the store
	late      bool  // the cache does not know them yet
	// ordered is set if no list of the limit ranges has two resources. Otherwise Kubernetes'
	// messages come in the random order of a map.
	ordered bool
	ours    admission.LimitRanger
	theirs  *limitranger.LimitRanger
}

func newLimitWorld(t *testing.T) *limitWorld {
	w := &limitWorld{Rand: random("limit ranger"), t: t}
	w.ours = admission.NewLimitRanger(func(_ context.Context, _ string, fresh request.Freshness) ([]*ourcore.LimitRange, error) {
		if fresh == request.Cached && (w.fails != nil || w.late) {
			return nil, nil
		}
		return w.own, w.fails
	})
	w.theirs = must1(limitranger.NewLimitRanger(nil))
	// Kubernetes' cache lists limit ranges in random order. So it has none here, and the plugin
	// asks the client.
	client := fake.NewSimpleClientset()
	client.PrependReactor("list", "limitranges", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := &corev1.LimitRangeList{}
		for _, r := range w.ranges {
			list.Items = append(list.Items, *r)
		}
		return true, list, w.fails
	})
	w.theirs.SetExternalKubeClientSet(client)
	w.theirs.SetExternalKubeInformerFactory(informers.NewSharedInformerFactory(client, 0))
	must(w.theirs.ValidateInitialization())
	return w
}

// populate makes a new namespace with limit ranges.
func (w *limitWorld) populate(i int) {
	w.namespace, w.ranges, w.own, w.fails, w.ordered = fmt.Sprint("ns", i), nil, nil, nil, true
	if chance(w.Rand, 50) {
		w.fails = errors.New("limit ranges cannot be read")
	}
	w.late = chance(w.Rand, 2)
	width := 1 + w.IntN(3) // resources in a list
	for j := range pick(w.Rand, 0, 1, 1, 1, 1, 2, 3) {
		r := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprint("r", j)}}
		types := []corev1.LimitType{corev1.LimitTypeContainer, corev1.LimitTypePod, corev1.LimitTypePersistentVolumeClaim, "example.com/other"}
		w.Shuffle(len(types), func(a, b int) { types[a], types[b] = types[b], types[a] })
		for _, of := range types[:1+w.IntN(3)] {
			item := corev1.LimitRangeItem{Type: of}
			for _, list := range []*corev1.ResourceList{&item.Min, &item.Max, &item.MaxLimitRequestRatio, &item.Default, &item.DefaultRequest} {
				if chance(w.Rand, 2) {
					*list = w.amounts(width)
				}
			}
			item.Min, item.Max = w.low(item.Min), w.high(item.Max)
			if of != corev1.LimitTypeContainer {
				item.Max = w.highest(item.Max)
			}
			r.Spec.Limits = append(r.Spec.Limits, item)
		}
		legacyscheme.Scheme.Default(r)
		text := encode(r) // JSON keeps the format of an amount only if it needs one
		r = &corev1.LimitRange{}
		must(decode(text, r))
		for _, item := range r.Spec.Limits {
			w.ordered = w.ordered && max(len(item.Min), len(item.Max), len(item.MaxLimitRequestRatio)) <= 1
		}
		w.ranges, w.own = append(w.ranges, r), append(w.own, toOurs[ourcore.LimitRange](w.t, r))
	}
}

// low and high make most bounds so wide that some amounts are inside.
func (w *limitWorld) low(list corev1.ResourceList) corev1.ResourceList {
	for name := range list {
		if !chance(w.Rand, 3) {
			list[name] = resource.MustParse(pick(w.Rand, "1m", "10m", "50m", "0"))
		}
	}
	return list
}

func (w *limitWorld) high(list corev1.ResourceList) corev1.ResourceList {
	for name := range list {
		if !chance(w.Rand, 3) {
			list[name] = resource.MustParse(pick(w.Rand, "1P", "9P", "1E", "100Gi"))
		}
	}
	return list
}

// highest replaces some amounts of list by the highest possible amounts. Limit ranges of containers
// do not get them, because an upper bound becomes the default of a container, and the sum of two
// such defaults exceeds an int64. Kubernetes takes such a sum for another number, mostly 0; Coracle
// takes it for the largest int64.
func (w *limitWorld) highest(list corev1.ResourceList) corev1.ResourceList {
	for name := range list {
		if chance(w.Rand, 5) {
			list[name] = resource.MustParse(pick(w.Rand, "8E", "9223372036854775807", "9223372036854775"))
		}
	}
	return list
}

// amounts makes a list of up to n resources.
func (w *limitWorld) amounts(n int) corev1.ResourceList {
	list := corev1.ResourceList{}
	for range w.IntN(n + 1) {
		name := pick[corev1.ResourceName](w.Rand, "cpu", "cpu", "memory", "memory", "storage", "storage", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "a")
		list[name] = resource.MustParse(pick(w.Rand, "0", "1n", "1m", "100m", "250m", "333m", "500m", "0.5", "1", "1", "1000m", "1.0005", "2", "2", "3", "10", "1e1", "7e2", "1k", "1Ki",
			"64Mi", "100M", "128Mi", "1G", "1Gi", "1.5Gi", "1e9", "5Gi", "9P", "10P", "1Ei", "1E"))
	}
	if len(list) == 0 && chance(w.Rand, 2) {
		return nil
	}
	return list
}

// write makes a random write, for both sides.
func (w *limitWorld) write() (*admission.Attributes, theiradmission.Attributes) {
	of := metav1.ObjectMeta{Namespace: w.namespace, Name: "x"}
	if chance(w.Rand, 5) {
		of.Name, of.GenerateName = "", pick(w.Rand, "x-", "")
	}
	if chance(w.Rand, 4) {
		of.Annotations = map[string]string{pick(w.Rand, "a", "kubernetes.io/limit-ranger"): "b"}
	}
	oldMeta := of
	if chance(w.Rand, 20) {
		oldMeta.DeletionTimestamp = new(metav1.Now())
	}
	a := &admission.Attributes{Operation: pick(w.Rand, admission.Create, admission.Create, admission.Create, admission.Update), Namespace: w.namespace, Name: of.Name}
	if a.Operation == admission.Update {
		a.Subresource = pick(w.Rand, "", "resize", "resize", "status")
	}
	var now, old runtime.Object
	if chance(w.Rand, 4) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: of}
		claim.Spec.Resources = corev1.VolumeResourceRequirements{Requests: w.amounts(4), Limits: w.amounts(4)}
		legacyscheme.Scheme.Default(claim)
		a.Resource, a.Kind = ourcore.GroupVersion.WithResource("persistentvolumeclaims"), ourcore.GroupVersion.WithKind("PersistentVolumeClaim")
		a.Object, now = toOurs[ourcore.PersistentVolumeClaim](w.t, claim), internalized[core.PersistentVolumeClaim](claim)
		before := &corev1.PersistentVolumeClaim{ObjectMeta: oldMeta}
		a.Old, old = toOurs[ourcore.PersistentVolumeClaim](w.t, before), internalized[core.PersistentVolumeClaim](before)
	} else {
		pod := &corev1.Pod{ObjectMeta: of}
		w.fill(&pod.Spec)
		legacyscheme.Scheme.Default(pod)
		a.Resource, a.Kind = ourcore.GroupVersion.WithResource("pods"), ourcore.GroupVersion.WithKind("Pod")
		a.Object, now = toOurs[ourcore.Pod](w.t, pod), internalized[core.Pod](pod)
		before := &corev1.Pod{ObjectMeta: oldMeta}
		a.Old, old = toOurs[ourcore.Pod](w.t, before), internalized[core.Pod](before)
	}
	if a.Operation == admission.Create {
		a.Old, old = nil, nil
	}
	return a, theiradmission.NewAttributesRecord(now, old, corev1.SchemeGroupVersion.WithKind(a.Kind.Kind), w.namespace, a.Name,
		corev1.SchemeGroupVersion.WithResource(a.Resource.Resource), a.Subresource, theiradmission.Operation(a.Operation), nil, false, nil)
}

// internalized converts an object to the internal version, whose type is T.
func internalized[T any, P interface {
	*T
	runtime.Object
}](obj runtime.Object) runtime.Object {
	sent := reflect.New(reflect.TypeOf(obj).Elem()).Interface() // with amounts in the formats that JSON keeps
	must(decode(encode(obj), sent))
	out := P(new(T))
	must(legacyscheme.Scheme.Convert(sent, out, nil))
	return out
}

// fill makes containers, and sometimes resources of the whole pod.
func (w *limitWorld) fill(spec *corev1.PodSpec) {
	container := func(i int, init bool) corev1.Container {
		c := corev1.Container{Name: fmt.Sprint("c", i), Resources: corev1.ResourceRequirements{Requests: w.amounts(3), Limits: w.amounts(3)}}
		if init && chance(w.Rand, 3) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		return c
	}
	for i := range pick(w.Rand, 1, 1, 2, 3) {
		spec.Containers = append(spec.Containers, container(i, false))
	}
	for i := range pick(w.Rand, 0, 0, 1, 2, 3) {
		spec.InitContainers = append(spec.InitContainers, container(i, true))
	}
	if chance(w.Rand, 3) {
		spec.Resources = &corev1.ResourceRequirements{Requests: w.amounts(3), Limits: w.amounts(3)}
	}
	if chance(w.Rand, 5) {
		spec.Overhead = w.amounts(3)
	}
}

// asTree returns an internal object of theirs, or an object of ours, as JSON.
func (w *limitWorld) asTree(obj any) (out map[string]any) {
	switch internal := obj.(type) {
	case *core.Pod:
		pod := &corev1.Pod{}
		must(legacyscheme.Scheme.Convert(internal, pod, nil))
		obj = pod
	case *core.PersistentVolumeClaim:
		claim := &corev1.PersistentVolumeClaim{}
		must(legacyscheme.Scheme.Convert(internal, claim, nil))
		obj = claim
	}
	must(decode(encode(obj), &out))
	delete(out, "status") // the types of both sides leave out different empty fields
	return out
}

// refusal is the code, the reason and the message of an error, and the object in its details.
func (w *limitWorld) refusal(err error) string {
	if err == nil {
		return ""
	}
	var status metav1.Status
	if theirs, is := err.(apierrors.APIStatus); is {
		status = theirs.Status()
	} else {
		must(decode(encode(err.(*meta.StatusError).Status), &status))
	}
	text := status.Message
	if !w.ordered {
		head, body, _ := strings.Cut(text, " is forbidden: ")
		list := strings.Split(strings.ReplaceAll(strings.Trim(body, "[]"), ", but", "; but"), ", ")
		slices.Sort(list)
		text = head + ": " + strings.Join(list, "\n")
	}
	return fmt.Sprintf("%d %s %s %q %s", status.Code, status.Reason, status.Details.Kind, status.Details.Name, text)
}
