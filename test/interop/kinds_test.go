package interop

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestProtobufKinds takes a kind of every group version through typed clients that speak protobuf.
// The server must return every field of the example.
func TestProtobufKinds(t *testing.T) {
	t.Parallel()
	c := newServer(t, "--controllers=", "--disable-admission-plugins=ServiceAccount", "--enable-priority-and-fairness=false").protobuf(t) // so that nothing else writes a status
	ns := namespace(t, c)
	for name, play := range map[string]func(*testing.T){
		"core": func(t *testing.T) {
			playKind(t, c.CoreV1().ReplicationControllers(ns), example[*corev1.ReplicationController](t, "replicationcontrollers"))
		},
		"admissionregistration": func(t *testing.T) {
			playKind(t, c.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
				example[*admissionregistrationv1.ValidatingAdmissionPolicy](t, "validatingadmissionpolicies.admissionregistration.k8s.io"))
		},
		"apps": func(t *testing.T) {
			playKind(t, c.AppsV1().DaemonSets(ns), example[*appsv1.DaemonSet](t, "daemonsets.apps"))
		},
		"autoscaling": func(t *testing.T) {
			playKind(t, c.AutoscalingV2().HorizontalPodAutoscalers(ns),
				example[*autoscalingv2.HorizontalPodAutoscaler](t, "horizontalpodautoscalers.autoscaling"))
		},
		"autoscaling of old": func(t *testing.T) {
			playKind(t, c.AutoscalingV1().HorizontalPodAutoscalers(ns), &autoscalingv1.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Name: "old"},
				Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
					MinReplicas:    new(int32(2)), MaxReplicas: 5, TargetCPUUtilizationPercentage: new(int32(70)),
				},
				Status: autoscalingv1.HorizontalPodAutoscalerStatus{CurrentReplicas: 2, DesiredReplicas: 3, CurrentCPUUtilizationPercentage: new(int32(90))},
			})
		},
		"batch": func(t *testing.T) {
			playKind(t, c.BatchV1().CronJobs(ns), example[*batchv1.CronJob](t, "cronjobs.batch"))
		},
		"certificates": func(t *testing.T) {
			csr := example[*certificatesv1.CertificateSigningRequest](t, "certificatesigningrequests.certificates.k8s.io")
			csr.Spec.Username, csr.Spec.Groups = "kubernetes-admin", []string{"system:masters", "system:authenticated"} // the server sets the requesting user
			playKind(t, c.CertificatesV1().CertificateSigningRequests(), csr)
		},
		"coordination": func(t *testing.T) {
			playKind(t, c.CoordinationV1().Leases(ns), example[*coordinationv1.Lease](t, "leases.coordination.k8s.io"))
		},
		"discovery": func(t *testing.T) {
			playKind(t, c.DiscoveryV1().EndpointSlices(ns), example[*discoveryv1.EndpointSlice](t, "endpointslices.discovery.k8s.io"))
		},
		"events": func(t *testing.T) {
			playKind(t, c.EventsV1().Events(ns), &eventsv1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "happened"}, EventTime: metav1.NewMicroTime(time.UnixMicro(1893553445678900)), Type: "Normal", Reason: "Tried", Action: "Try",
				ReportingController: "example.com/tester", ReportingInstance: "tester-0", Note: "it went well",
				Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "web", APIVersion: "v1"},
			})
		},
		"flowcontrol": func(t *testing.T) {
			playKind(t, c.FlowcontrolV1().FlowSchemas(), example[*flowcontrolv1.FlowSchema](t, "flowschemas.flowcontrol.apiserver.k8s.io"))
		},
		"networking": func(t *testing.T) {
			playKind(t, c.NetworkingV1().Ingresses(ns), example[*networkingv1.Ingress](t, "ingresses.networking.k8s.io"))
		},
		"node": func(t *testing.T) {
			playKind(t, c.NodeV1().RuntimeClasses(), example[*nodev1.RuntimeClass](t, "runtimeclasses.node.k8s.io"))
		},
		"policy": func(t *testing.T) {
			playKind(t, c.PolicyV1().PodDisruptionBudgets(ns), example[*policyv1.PodDisruptionBudget](t, "poddisruptionbudgets.policy"))
		},
		"rbac": func(t *testing.T) {
			playKind(t, c.RbacV1().Roles(ns), example[*rbacv1.Role](t, "roles.rbac.authorization.k8s.io"))
		},
		"resource": func(t *testing.T) {
			playKind(t, c.ResourceV1().ResourceClaims(ns), example[*resourcev1.ResourceClaim](t, "resourceclaims.resource.k8s.io"))
		},
		"scheduling": func(t *testing.T) {
			playKind(t, c.SchedulingV1().PriorityClasses(), example[*schedulingv1.PriorityClass](t, "priorityclasses.scheduling.k8s.io"))
		},
		"storage": func(t *testing.T) {
			playKind(t, c.StorageV1().CSIDrivers(), example[*storagev1.CSIDriver](t, "csidrivers.storage.k8s.io"))
		},
	} {
		t.Run(name, play)
	}
}

// example reads an example.
func example[T kindObject](t *testing.T, resource string) T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(examples, resource+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := obj.(T)
	made.SetNamespace("")
	made.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // typed clients leave it out
	return made
}

type kindObject interface {
	metav1.Object
	runtime.Object
}

type kindClient[T kindObject, L runtime.Object] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

type statusClient[T kindObject] interface {
	UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
}

// playKind creates want, writes its status, reads, changes and deletes it, and watches all of that.
func playKind[T kindObject, L runtime.Object](t *testing.T, c kindClient[T, L], want T) {
	ctx, name := t.Context(), want.GetName()
	mine := metav1.ListOptions{FieldSelector: "metadata.name=" + name}
	list, err := c.List(ctx, mine)
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	start, err := meta.ListAccessor(list)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(ctx, metav1.ListOptions{FieldSelector: mine.FieldSelector, ResourceVersion: start.GetResourceVersion()})
	if err != nil {
		t.Fatalf("Watch: %v", err)
	}
	defer w.Stop()
	got, err := c.Create(ctx, want.DeepCopyObject().(T), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	events := []watch.EventType{watch.Added, watch.Modified, watch.Deleted}
	if reflect.ValueOf(want).Elem().FieldByName("Status").IsValid() {
		reported := want.DeepCopyObject().(T)
		reported.SetResourceVersion(got.GetResourceVersion())
		if _, err = c.(statusClient[T]).UpdateStatus(ctx, reported, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("UpdateStatus: %v", err)
		}
		events = slices.Insert(events, 1, watch.Modified)
	}
	if got, err = c.Get(ctx, name, metav1.GetOptions{}); err != nil {
		t.Fatalf("Get: %v", err)
	}
	wantAll(t, got, want)
	got.SetLabels(map[string]string{"seen": "yes"})
	want.SetLabels(got.GetLabels())
	if _, err = c.Update(ctx, got, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("Update: %v", err)
	}
	if list, err = c.List(ctx, mine); err != nil || meta.LenList(list) != 1 {
		t.Fatalf("List: got %d, %v; want 1", meta.LenList(list), err)
	}
	if err := c.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if _, err := c.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get: got %v, want NotFound", err)
	}
	for _, want := range events {
		if e := next(t, w); e.Type != want {
			t.Fatalf("watch: got %s of %v, want %s", e.Type, e.Object, want)
		} else if e.Type == watch.Deleted {
			got = e.Object.(T)
		}
	}
	wantAll(t, got, want)
}

// wantAll wants got to have all fields of want. got may have more, which the server has set.
func wantAll[T kindObject](t *testing.T, got, want T) {
	t.Helper()
	want.SetCreationTimestamp(got.GetCreationTimestamp()) // DeepDerivative ignores zero fields of want, but not times and numbers
	want.SetGeneration(got.GetGeneration())
	if !equality.Semantic.DeepDerivative(want, got) {
		t.Errorf("what differs from the example:\n%s", diff.Diff(want, got))
	}
}
