package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestDisruptionStatus has both disruption controllers compute the status of budgets of all sorts,
// over the same pods with owners of all sorts. Each budget has a namespace of its own.
func TestDisruptionStatus(t *testing.T) {
	m := &mutator{rand: random("disruption")}
	var scenes []scene
	for i := range times(150) {
		scenes = append(scenes, newScene(m, fmt.Sprintf("n%d", i)))
	}
	theirs, ours := theirStatus(t, scenes), ourStatus(t, scenes)
	reasons := map[string]int{}
	for i, s := range scenes {
		var problem string
		difference("status", any(theirs[i]), any(ours[i]), func(path string, a, b any) {
			problem += fmt.Sprintf("%s:\n  theirs %s\n  ours   %s\n", path, encode(a), encode(b))
		})
		if problem != "" {
			t.Errorf("%s\n%s", problem, indent(tree(s.objects)))
		}
		reasons[reasonOf(theirs[i])]++
	}
	t.Logf("reasons: %v", reasons)
	for _, reason := range []string{"SufficientPods", "InsufficientPods", "SyncFailed"} {
		if reasons[reason] == 0 && count >= 1 {
			t.Errorf("no budget has the reason %s: the test tries too little", reason)
		}
	}
}

// scene holds the objects of a namespace: a budget, pods, and the owners of the pods.
type scene struct {
	namespace string
	objects   []runtime.Object // in external versions
}

func newScene(m *mutator, namespace string) scene {
	s := scene{namespace: namespace}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Generation: 1, CreationTimestamp: metav1.NewTime(past)}
	}
	s.objects = append(s.objects, countingBudget(m, meta("budget")))
	replicas := func() *int32 { n := int32(m.rand.IntN(8)); return &n }
	owned := func(o metav1.ObjectMeta, ref metav1.OwnerReference) metav1.ObjectMeta {
		o.OwnerReferences = []metav1.OwnerReference{ref}
		return o
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta("deployment"), Spec: appsv1.DeploymentSpec{Replicas: replicas()}}
	ofDeployment := ref(appsv1.SchemeGroupVersion.WithKind("Deployment"), deployment)
	lost := ofDeployment
	lost.UID = "lost"
	s.objects = append(s.objects, deployment,
		&appsv1.ReplicaSet{ObjectMeta: owned(meta("first"), ofDeployment), Spec: appsv1.ReplicaSetSpec{Replicas: replicas()}},
		&appsv1.ReplicaSet{ObjectMeta: owned(meta("second"), ofDeployment), Spec: appsv1.ReplicaSetSpec{Replicas: replicas()}},
		&appsv1.ReplicaSet{ObjectMeta: owned(meta("orphaned"), lost), Spec: appsv1.ReplicaSetSpec{Replicas: replicas()}},
		&appsv1.ReplicaSet{ObjectMeta: meta("lone"), Spec: appsv1.ReplicaSetSpec{Replicas: replicas()}},
		&appsv1.StatefulSet{ObjectMeta: meta("set"), Spec: appsv1.StatefulSetSpec{Replicas: replicas()}},
		&corev1.ReplicationController{ObjectMeta: meta("controller"), Spec: corev1.ReplicationControllerSpec{Replicas: replicas()}},
	)
	owners := someOwners(m, s.objects[1:])
	for i := range m.rand.IntN(9) {
		s.objects = append(s.objects, countedPod(m, meta(fmt.Sprintf("pod-%d", i)), one(m, owners...)))
	}
	return s
}

// someOwners are one or two owners of a pod. Some of them cannot manage pods; nil is no owner.
func someOwners(m *mutator, objects []runtime.Object) []*metav1.OwnerReference {
	var all []*metav1.OwnerReference
	for _, obj := range objects {
		kinds, _, err := clientscheme.Scheme.ObjectKinds(obj)
		if err != nil {
			panic(err)
		}
		if kinds[0].Kind != "Deployment" {
			r := ref(kinds[0], obj.(metav1.Object))
			all = append(all, &r)
		}
	}
	owners := []*metav1.OwnerReference{one(m, all...), one(m, all...)}
	yes := true
	switch m.rand.IntN(10) {
	case 0:
		owners[0] = nil
	case 1:
		owners[0] = &metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Unknown", Name: "u", UID: "u", Controller: &yes}
	case 2:
		owners = []*metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u", Controller: &yes}}
	case 3:
		other := *owners[0]
		other.UID = "other"
		owners = []*metav1.OwnerReference{&other}
	case 4:
		other := *owners[0]
		other.Name = "absent"
		owners = []*metav1.OwnerReference{&other}
	case 5:
		owners = []*metav1.OwnerReference{{APIVersion: "a/b/c", Kind: "ReplicaSet", Name: "n", UID: "u", Controller: &yes}}
	case 6:
		other := *owners[0]
		other.Controller = nil
		owners[0] = &other
	}
	return owners
}

func ref(kind schema.GroupVersionKind, obj metav1.Object) metav1.OwnerReference {
	return *metav1.NewControllerRef(obj, kind)
}

var past = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func countingBudget(m *mutator, meta metav1.ObjectMeta) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta}
	b.Generation = one(m, int64(1), 5)
	limit := one(m, intstr.FromInt32(int32(m.rand.IntN(5))), intstr.FromString(fmt.Sprintf("%d%%", one(m, 0, 1, 33, 50, 67, 99, 100))))
	if m.rand.IntN(2) == 0 {
		b.Spec.MinAvailable = &limit
	} else if m.rand.IntN(20) > 0 {
		b.Spec.MaxUnavailable = &limit
	}
	switch m.rand.IntN(8) {
	case 0:
		b.Spec.Selector = &metav1.LabelSelector{}
	case 1:
		b.Spec.Selector = nil
	default:
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	}
	if m.rand.IntN(2) == 0 {
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 3, DisruptedPods: map[string]metav1.Time{
			"pod-0": metav1.NewTime(past), "pod-1": metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second)), "gone": metav1.NewTime(time.Now()),
		}}
	}
	return b
}

func countedPod(m *mutator, meta metav1.ObjectMeta, owner *metav1.OwnerReference) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	p.Labels = map[string]string{"app": one(m, "a", "a", "a", "a", "b")}
	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if m.rand.IntN(8) == 0 {
		then, seconds := metav1.NewTime(past), int64(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = &then, &seconds, []string{"example.com/f"}
	}
	p.Status.Phase = one(m, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded)
	if m.rand.IntN(5) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: one(m, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}}
	}
	return p
}

// theirStatus is the status that Kubernetes' controller writes into the budgets.
func theirStatus(t *testing.T, scenes []scene) []map[string]any {
	var all []runtime.Object
	scales := map[string]*autoscalingv1.Scale{}
	for _, s := range scenes {
		for _, obj := range s.objects {
			all = append(all, obj.DeepCopyObject())
			if o, size := obj.(metav1.Object), sizeOf(obj); size != nil {
				scales[s.namespace+"/"+o.GetName()] = &autoscalingv1.Scale{
					ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: o.GetName(), UID: o.GetUID()}, Spec: autoscalingv1.ScaleSpec{Replicas: *size},
				}
			}
		}
	}
	c := fake.NewSimpleClientset(all...)
	c.Resources = []*metav1.APIResourceList{{GroupVersion: "v1"}, {GroupVersion: "apps/v1"}}
	for i, names := range [][]string{{"replicationcontrollers"}, {"replicasets", "statefulsets", "deployments"}} {
		for _, name := range names {
			c.Resources[i].APIResources = append(c.Resources[i].APIResources,
				metav1.APIResource{Name: name + "/scale", Group: "autoscaling", Version: "v1", Kind: "Scale"})
		}
	}
	scaler := &scalefake.FakeScaleClient{}
	scaler.AddReactor("get", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name := a.(clienttesting.GetAction).GetName()
		if s := scales[a.GetNamespace()+"/"+name]; s != nil {
			return true, s, nil
		}
		return true, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), name)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := informers.NewSharedInformerFactory(c, 0)
	apps, core := f.Apps().V1(), f.Core().V1()
	controller := disruption.NewDisruptionController(ctx, core.Pods(), f.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), c, knownKinds(), scaler, c.Discovery())
	f.Start(ctx.Done())
	ended := make(chan struct{})
	go func() { defer close(ended); controller.Run(ctx) }()
	defer func() { cancel(); <-ended; f.Shutdown() }()
	return settled(t, scenes, func(namespace string) map[string]any {
		b, err := c.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "budget", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return tree(b).(map[string]any)
	})
}

// knownKinds maps the kinds that may own pods.
func knownKinds() apimeta.RESTMapper {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ReplicaSet", "StatefulSet", "Deployment"} {
		mapper.Add(appsv1.SchemeGroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ReplicationController"), apimeta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), apimeta.RESTScopeRoot)
	return mapper
}

func sizeOf(obj runtime.Object) *int32 {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return o.Spec.Replicas
	case *appsv1.StatefulSet:
		return o.Spec.Replicas
	case *corev1.ReplicationController:
		return o.Spec.Replicas
	}
	return nil
}

// ourStatus is the status that Coracle's controller writes into the budgets.
func ourStatus(t *testing.T, scenes []scene) []map[string]any {
	store := memory.New(memory.Config{})
	for _, s := range scenes {
		for _, obj := range append(s.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}) {
			kinds, _, err := clientscheme.Scheme.ObjectKinds(obj)
			if err != nil {
				t.Fatal(err)
			}
			obj.GetObjectKind().SetGroupVersionKind(kinds[0])
			data, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			m := obj.(metav1.Object)
			key := place(strings.ToLower(kinds[0].Kind)+"s", m.GetNamespace(), m.GetName())
			if _, err := store.Put(t.Context(), key, data, storage.Pre{}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{"disruption"}})
	o := &ours{handler: s.Server.Handler(), store: store, scheme: s.Server.Scheme}
	return settled(t, scenes, func(namespace string) map[string]any {
		a := ask(o, http.MethodGet, "/apis/policy/v1/namespaces/"+namespace+"/poddisruptionbudgets/budget", nil)
		if a.Code != http.StatusOK {
			t.Fatal(indent(a.Body))
		}
		return a.Body
	})
}

// anyPod finds the pod that a message names. Each side names the first wrong pod, in an order of
// its own.
var anyPod = regexp.MustCompile(`for pod \\"pod-[0-9]\\"`)

// settled waits until the status of every budget says whether it allows disruptions, and returns
// the statuses.
func settled(t *testing.T, scenes []scene, get func(namespace string) map[string]any) []map[string]any {
	t.Helper()
	var list []map[string]any
	deadline := time.Now().Add(time.Minute)
	for _, s := range scenes {
		for {
			b := withoutTimes(get(s.namespace))
			if err := decode(anyPod.ReplaceAll(encode(b), []byte(`for pod \"POD\"`)), &b); err != nil {
				t.Fatal(err)
			}
			status, _ := b["status"].(map[string]any)
			if reasonOf(status) != "" {
				list = append(list, status)
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the budget of %s is not counted: %s", s.namespace, indent(b))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return list
}

// reasonOf is the reason in the condition of a budget; "" if there is no condition.
func reasonOf(status map[string]any) string {
	conditions, _ := status["conditions"].([]any)
	if len(conditions) == 0 {
		return ""
	}
	reason, _ := conditions[0].(map[string]any)["reason"].(string)
	return reason
}
