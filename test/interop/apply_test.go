package interop

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applynetworkingv1 "k8s.io/client-go/applyconfigurations/networking/v1"
	applyrbacv1 "k8s.io/client-go/applyconfigurations/rbac/v1"
)

// TestApplyConfigurations applies objects of ten kinds as controllers do with client-go, and
// extracts the applied fields again.
func TestApplyConfigurations(t *testing.T) {
	t.Parallel()
	c := newServer(t, "--controllers=", "--disable-admission-plugins=ServiceAccount").protobuf(t) // nothing else may own fields
	ns := namespace(t, c)
	labels := map[string]string{"app": "web"}
	selector := applymetav1.LabelSelector().WithMatchLabels(labels)
	template := func(image string) *applycorev1.PodTemplateSpecApplyConfiguration {
		return applycorev1.PodTemplateSpec().WithLabels(labels).WithSpec(podSpec(image))
	}
	const image = `.spec.template.spec.containers[name="app"].image`
	for name, play := range map[string]func(*testing.T){
		"configmap": func(t *testing.T) {
			conf := func(v string) *applycorev1.ConfigMapApplyConfiguration {
				return applycorev1.ConfigMap("web", ns).WithLabels(labels).WithData(map[string]string{"k": v, "both": "1"})
			}
			playApply(t, c.CoreV1().ConfigMaps(ns), conf("1"), conf("2"), ".data.k", applycorev1.ExtractConfigMap)
		},
		"secret": func(t *testing.T) {
			conf := func(v string) *applycorev1.SecretApplyConfiguration {
				return applycorev1.Secret("web", ns).WithFinalizers("example.com/hold").WithType("Opaque").
					WithData(map[string][]byte{"k": []byte(v)})
			}
			playApply(t, c.CoreV1().Secrets(ns), conf("1"), conf("2"), ".data.k", applycorev1.ExtractSecret)
		},
		"service": func(t *testing.T) {
			conf := func(to int) *applycorev1.ServiceApplyConfiguration {
				return applycorev1.Service("web", ns).WithSpec(applycorev1.ServiceSpec().WithSelector(labels).WithPorts(
					port("http", corev1.ProtocolTCP, intstr.FromInt(to)), port("dns", corev1.ProtocolUDP, intstr.FromString("dns"))))
			}
			services := c.CoreV1().Services(ns)
			playApply(t, services, conf(8080), conf(9090), `.spec.ports[port=80,protocol="TCP"].targetPort`, applycorev1.ExtractService)
			playApplyStatus(t, services, applycorev1.Service("web", ns).WithStatus(applycorev1.ServiceStatus().
				WithConditions(condition("Ready"))), applycorev1.ExtractServiceStatus)
		},
		"pod": func(t *testing.T) {
			conf := func(image string) *applycorev1.PodApplyConfiguration {
				return applycorev1.Pod("web", ns).WithLabels(labels).WithSpec(podSpec(image))
			}
			playApply(t, c.CoreV1().Pods(ns), conf("a:1"), conf("a:2"), `.spec.containers[name="app"].image`, applycorev1.ExtractPod)
			ready := applycorev1.PodCondition().WithType(corev1.PodReady).WithStatus(corev1.ConditionTrue)
			playApplyStatus(t, c.CoreV1().Pods(ns), applycorev1.Pod("web", ns).WithStatus(applycorev1.PodStatus().
				WithPhase(corev1.PodRunning).WithConditions(ready)), applycorev1.ExtractPodStatus)
		},
		"deployment": func(t *testing.T) {
			conf := func(n int32) *applyappsv1.DeploymentApplyConfiguration {
				return applyappsv1.Deployment("web", ns).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(n).
					WithSelector(selector).WithTemplate(template("a:1")))
			}
			playApply(t, c.AppsV1().Deployments(ns), conf(1), conf(2), ".spec.replicas", applyappsv1.ExtractDeployment)
			none := applyappsv1.DeploymentCondition().WithType("Available").WithStatus(corev1.ConditionFalse).WithReason("None")
			playApplyStatus(t, c.AppsV1().Deployments(ns), applyappsv1.Deployment("web", ns).WithStatus(applyappsv1.DeploymentStatus().
				WithObservedGeneration(1).WithReplicas(2).WithConditions(none)), applyappsv1.ExtractDeploymentStatus)
		},
		"statefulset": func(t *testing.T) {
			conf := func(image string) *applyappsv1.StatefulSetApplyConfiguration {
				return applyappsv1.StatefulSet("web", ns).WithSpec(applyappsv1.StatefulSetSpec().WithServiceName("web").
					WithSelector(selector).WithTemplate(template(image)))
			}
			playApply(t, c.AppsV1().StatefulSets(ns), conf("a:1"), conf("a:2"), image, applyappsv1.ExtractStatefulSet)
			playApplyStatus(t, c.AppsV1().StatefulSets(ns), applyappsv1.StatefulSet("web", ns).WithStatus(
				applyappsv1.StatefulSetStatus().WithReplicas(1).WithCurrentRevision("web-1")), applyappsv1.ExtractStatefulSetStatus)
		},
		"daemonset": func(t *testing.T) {
			conf := func(image string) *applyappsv1.DaemonSetApplyConfiguration {
				return applyappsv1.DaemonSet("web", ns).WithSpec(applyappsv1.DaemonSetSpec().WithSelector(selector).
					WithTemplate(template(image)))
			}
			playApply(t, c.AppsV1().DaemonSets(ns), conf("a:1"), conf("a:2"), image, applyappsv1.ExtractDaemonSet)
			playApplyStatus(t, c.AppsV1().DaemonSets(ns), applyappsv1.DaemonSet("web", ns).WithStatus(
				applyappsv1.DaemonSetStatus().WithDesiredNumberScheduled(3).WithNumberReady(2)), applyappsv1.ExtractDaemonSetStatus)
		},
		"job": func(t *testing.T) {
			conf := func(n int32) *applybatchv1.JobApplyConfiguration {
				return applybatchv1.Job("web", ns).WithSpec(applybatchv1.JobSpec().WithParallelism(n).WithTemplate(
					applycorev1.PodTemplateSpec().WithSpec(podSpec("a:1").WithRestartPolicy(corev1.RestartPolicyNever))))
			}
			playApply(t, c.BatchV1().Jobs(ns), conf(1), conf(2), ".spec.parallelism", applybatchv1.ExtractJob)
			playApplyStatus(t, c.BatchV1().Jobs(ns), applybatchv1.Job("web", ns).WithStatus(applybatchv1.JobStatus().
				WithActive(1).WithReady(1)), applybatchv1.ExtractJobStatus)
		},
		"ingress": func(t *testing.T) {
			conf := func(host string) *applynetworkingv1.IngressApplyConfiguration {
				return applynetworkingv1.Ingress("web", ns).WithSpec(applynetworkingv1.IngressSpec().WithIngressClassName("none").
					WithRules(applynetworkingv1.IngressRule().WithHost(host)))
			}
			ingresses := c.NetworkingV1().Ingresses(ns)
			playApply(t, ingresses, conf("a.example.com"), conf("b.example.com"), ".spec.rules", applynetworkingv1.ExtractIngress)
			balancer := applynetworkingv1.IngressLoadBalancerStatus().
				WithIngress(applynetworkingv1.IngressLoadBalancerIngress().WithIP("192.0.2.1"))
			playApplyStatus(t, ingresses, applynetworkingv1.Ingress("web", ns).WithStatus(applynetworkingv1.IngressStatus().
				WithLoadBalancer(balancer)), applynetworkingv1.ExtractIngressStatus)
		},
		"role": func(t *testing.T) {
			conf := func(verbs ...string) *applyrbacv1.RoleApplyConfiguration {
				return applyrbacv1.Role("web", ns).WithAnnotations(map[string]string{"a": "b"}).WithRules(
					applyrbacv1.PolicyRule().WithAPIGroups("").WithResources("pods").WithVerbs(verbs...))
			}
			playApply(t, c.RbacV1().Roles(ns), conf("get"), conf("get", "list"), ".rules", applyrbacv1.ExtractRole)
		},
	} {
		t.Run(name, play)
	}
}

func podSpec(image string) *applycorev1.PodSpecApplyConfiguration {
	return applycorev1.PodSpec().
		WithContainers(applycorev1.Container().WithName("app").WithImage(image).
			WithEnv(applycorev1.EnvVar().WithName("A").WithValue("1")).
			WithPorts(applycorev1.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP)).
			WithVolumeMounts(applycorev1.VolumeMount().WithName("tmp").WithMountPath("/tmp"))).
		WithVolumes(applycorev1.Volume().WithName("tmp").WithEmptyDir(applycorev1.EmptyDirVolumeSource()))
}

func port(name string, protocol corev1.Protocol, to intstr.IntOrString) *applycorev1.ServicePortApplyConfiguration {
	return applycorev1.ServicePort().WithName(name).WithPort(80).WithProtocol(protocol).WithTargetPort(to)
}

func condition(name string) *applymetav1.ConditionApplyConfiguration {
	return applymetav1.Condition().WithType(name).WithStatus(metav1.ConditionTrue).WithReason("Tested").WithMessage("all is well").
		WithObservedGeneration(1).WithLastTransitionTime(metav1.Unix(1893553445, 0))
}

type applyClient[C any, T kindObject] interface {
	Apply(ctx context.Context, conf C, opts metav1.ApplyOptions) (T, error)
}

type applyStatusClient[C any, T kindObject] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	ApplyStatus(ctx context.Context, conf C, opts metav1.ApplyOptions) (T, error)
}

// extractor is a function of client-go that extracts from an object the fields that a manager has
// applied.
type extractor[C any, T kindObject] func(from T, manager string) (C, error)

// playApply has two managers apply configurations of one object, which disagree about field.
func playApply[C any, T kindObject](t *testing.T, c applyClient[C, T], mine, theirs C, field string, extract extractor[C, T]) {
	t.Helper()
	ctx := t.Context()
	made, err := c.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "me"})
	if err != nil {
		t.Fatalf("the first Apply: %v", err)
	}
	wantApplied(t, made, "me", mine, extract)
	again, err := c.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "me"})
	if err != nil || again.GetResourceVersion() != made.GetResourceVersion() {
		t.Errorf("the same Apply again: got revision %s, %v; want %s", again.GetResourceVersion(), err, made.GetResourceVersion())
	}
	_, err = c.Apply(ctx, theirs, metav1.ApplyOptions{FieldManager: "they"})
	wantApplyConflict(t, err, "me", field)
	dry := metav1.ApplyOptions{FieldManager: "they", Force: true, DryRun: []string{metav1.DryRunAll}}
	if shown, err := c.Apply(ctx, theirs, dry); err != nil {
		t.Errorf("a dry Apply: %v", err)
	} else {
		wantApplied(t, shown, "they", theirs, extract)
	}
	taken, err := c.Apply(ctx, theirs, metav1.ApplyOptions{FieldManager: "they", Force: true})
	if err != nil {
		t.Fatalf("Apply by force: %v", err)
	}
	wantApplied(t, taken, "they", theirs, extract)
	_, err = c.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "me"})
	wantApplyConflict(t, err, "they", field)
	shared, err := c.Apply(ctx, theirs, metav1.ApplyOptions{FieldManager: "me"})
	if err != nil {
		t.Fatalf("Apply of what they want: %v", err)
	}
	wantApplied(t, shared, "me", theirs, extract)
	wantApplied(t, shared, "they", theirs, extract)
}

// playApplyStatus applies the status of the object that playApply has made.
func playApplyStatus[C interface{ GetName() *string }, T kindObject](
	t *testing.T, c applyStatusClient[C, T], conf C, extract extractor[C, T],
) {
	t.Helper()
	opts := metav1.ApplyOptions{FieldManager: "observer"}
	before, err := c.Get(t.Context(), *conf.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told, err := c.ApplyStatus(t.Context(), conf, opts)
	if err != nil {
		t.Fatalf("ApplyStatus: %v", err)
	}
	wantApplied(t, told, "observer", conf, extract)
	if got, want := len(told.GetManagedFields()), len(before.GetManagedFields())+1; got != want {
		t.Errorf("ApplyStatus left %d owners, want %d: %v", got, want, told.GetManagedFields())
	}
	if again, err := c.ApplyStatus(t.Context(), conf, opts); err != nil || again.GetResourceVersion() != told.GetResourceVersion() {
		t.Errorf("the same ApplyStatus again: got revision %s, %v; want %s", again.GetResourceVersion(), err, told.GetResourceVersion())
	}
}

// wantApplied wants client-go to extract the configuration that a manager has applied.
func wantApplied[C any, T kindObject](t *testing.T, from T, manager string, want C, extract extractor[C, T]) {
	t.Helper()
	found, err := extract(from, manager)
	if err != nil {
		t.Errorf("what %s has applied: %v", manager, err)
		return
	}
	got, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(applied) {
		t.Errorf("what %s has applied: got\n%s, want\n%s", manager, got, applied)
	}
}

// wantApplyConflict wants an apply to be refused because of one field that another manager owns.
func wantApplyConflict(t *testing.T, err error, with, field string) {
	t.Helper()
	cause, ok := apierrors.StatusCause(err, metav1.CauseTypeFieldManagerConflict)
	if !apierrors.IsConflict(err) || !ok {
		t.Errorf("got %v, want a conflict of managers", err)
		return
	}
	if want := `conflict with "` + with + `"`; cause.Message != want || cause.Field != field {
		t.Errorf("got %s at %s, want %s at %s", cause.Message, cause.Field, want, field)
	}
	want := "Apply failed with 1 conflict: " + cause.Message + ": " + field
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
