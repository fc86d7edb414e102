package podguard_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podguard"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// world has namespaces and the pods of one namespace. A namespace enforces the level that its name
// says. world notes each call of the plugin's counters.
type world struct {
	pods    []*corev1.Pod
	each    func() // called before each pod that is listed; may be nil
	listErr error
	counted []string
}

func (w *world) Evaluated(e podguard.Evaluation) {
	w.counted = append(w.counted, fmt.Sprintf("%s %s:%s %s %s %s", e.Decision, e.Level, e.Version, e.Mode, e.Operation, e.Resource))
}
func (w *world) Exempted(r podguard.Request) {
	w.counted = append(w.counted, fmt.Sprintf("exempt %s %s", r.Operation, r.Resource))
}
func (w *world) Failed(fatal bool, r podguard.Request) {
	w.counted = append(w.counted, fmt.Sprintf("failed %t %s %s", fatal, r.Operation, r.Resource))
}

func (w *world) namespace(_ context.Context, name string, _ request.Freshness) (admission.Namespace, error) {
	labels := meta.Set{}
	switch name {
	case "gone":
		return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
	case "noted":
		labels["pod-security.kubernetes.io/audit"] = "baseline"
	case "warned":
		labels["pod-security.kubernetes.io/warn"], labels["pod-security.kubernetes.io/warn-version"] = "baseline", "v1.99"
	default:
		labels["pod-security.kubernetes.io/enforce"] = name
	}
	return admission.Namespace{Labels: labels}, nil
}

func (w *world) list(context.Context, string) (int, iter.Seq2[*corev1.Pod, error], error) {
	return len(w.pods), func(yield func(*corev1.Pod, error) bool) {
		for _, pod := range w.pods {
			if w.each != nil {
				w.each()
			}
			if !yield(pod, nil) {
				return
			}
		}
	}, w.listErr
}

func (w *world) plugin(t *testing.T, configuration string) *podguard.Plugin {
	t.Helper()
	p, err := podguard.New([]byte(configuration), admission.NewNamespaces(w.namespace), w.list, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const exemptions = `apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
exemptions: {usernames: [bob], namespaces: [free], runtimeClasses: [kata]}
`

// hostile returns a pod that violates baseline.
func hostile(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PodSpec{HostPID: true, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// tame returns a pod that meets baseline.
func tame(name string) *corev1.Pod {
	pod := hostile(name)
	pod.Spec.HostPID = false
	return pod
}

// tried is the result of a write.
type tried struct {
	err         string
	warnings    []string
	annotations map[string]string
}

func try(t *testing.T, p *podguard.Plugin, a *admission.Attributes) (got tried) {
	got.annotations = map[string]string{}
	a.Listen(func(text string) { got.warnings = append(got.warnings, text) }, func(key, value string) {
		short, ok := strings.CutPrefix(key, "pod-security.kubernetes.io/")
		if !ok {
			t.Errorf("annotation %s", key)
		}
		got.annotations[short] = value
	})
	if err := p.Validate(t.Context(), a); err != nil {
		got.err = err.Error()
	}
	return got
}

func podWrite(namespace string, pod, old *corev1.Pod) *admission.Attributes {
	a := &admission.Attributes{
		Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("pods"), Namespace: namespace, Name: pod.Name, Object: pod,
		User: &request.User{Name: "alice"},
	}
	if old != nil {
		a.Operation, a.Old = admission.Update, old
	}
	return a
}

// TestPods writes pods, and checks the verdict, warnings, audit annotations and counts.
func TestPods(t *testing.T) {
	const violation = `PodSecurity "baseline:latest": host namespaces (hostPID=true)`
	other := hostile("p")
	other.Spec.Containers[0].Image = "other"
	debugged := hostile("p")
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e"}}}
	kata := hostile("p")
	kata.Spec.RuntimeClassName = new("kata")
	refused := tried{err: `pods "p" is forbidden: violates ` + violation, annotations: map[string]string{"enforce-policy": "baseline:latest"}}
	for _, tt := range []struct {
		name    string
		a       *admission.Attributes
		change  func(a *admission.Attributes)
		want    tried
		counted string
	}{
		{"allowed", podWrite("baseline", tame("p"), nil), nil, tried{annotations: map[string]string{"enforce-policy": "baseline:latest"}}, "allow baseline:latest enforce create pod"},
		{"refused", podWrite("baseline", hostile("p"), nil), nil, refused, "deny baseline:latest enforce create pod"},
		{"generated name", podWrite("baseline", hostile(""), nil), nil,
			tried{err: `pods is forbidden: violates ` + violation, annotations: map[string]string{"enforce-policy": "baseline:latest"}}, "deny baseline:latest enforce create pod"},
		{"privileged", podWrite("privileged", hostile("p"), nil), nil, tried{annotations: map[string]string{"enforce-policy": "privileged:latest"}}, "allow privileged:latest enforce create pod"},
		{"audit", podWrite("noted", hostile("p"), nil), nil,
			tried{annotations: map[string]string{"enforce-policy": "privileged:latest", "audit-violations": "would violate " + violation}},
			"allow privileged:latest enforce create pod, deny baseline:latest audit create pod"},
		{"warn", podWrite("warned", hostile("p"), nil), nil,
			tried{warnings: []string{strings.Replace("would violate "+violation, "latest", "v1.99", 1)}, annotations: map[string]string{"enforce-policy": "privileged:latest"}},
			"allow privileged:latest enforce create pod, deny baseline:future warn create pod"},
		{"wrong label", podWrite("Baseline", tame("p"), nil), nil,
			tried{err: `pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ` +
				`unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ` +
				`seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`,
				annotations: map[string]string{"enforce-policy": "restricted:latest",
					"error": `Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "Baseline": must be one of privileged, baseline, restricted`}},
			"failed false create pod, deny restricted:latest enforce create pod"},
		{"no namespace", podWrite("gone", tame("p"), nil), nil,
			tried{err: `Internal error occurred: failed to lookup namespace "gone"`,
				annotations: map[string]string{"error": `Internal error occurred: failed to lookup namespace "gone": namespaces "gone" not found`}}, "failed true create pod"},
		{"exempt namespace", podWrite("free", hostile("p"), nil), nil, tried{annotations: map[string]string{"exempt": "namespace"}}, "exempt create pod"},
		{"exempt user", podWrite("baseline", hostile("p"), nil), func(a *admission.Attributes) { a.User = &request.User{Name: "bob"} },
			tried{annotations: map[string]string{"exempt": "user"}}, "exempt create pod"},
		{"the server itself", podWrite("baseline", hostile("p"), nil), func(a *admission.Attributes) { a.User = nil }, refused, "deny baseline:latest enforce create pod"},
		{"exempt runtime class", podWrite("baseline", kata, nil), nil, tried{annotations: map[string]string{"exempt": "runtimeClass"}}, "exempt create pod"},
		{"update of a label", podWrite("baseline", hostile("p"), hostile("p")), nil, tried{}, ""},
		{"update of an image", podWrite("baseline", hostile("p"), other), nil, refused, "deny baseline:latest enforce update pod"},
		{"ephemeral container", podWrite("baseline", debugged, hostile("p")), func(a *admission.Attributes) { a.Subresource = "ephemeralcontainers" },
			refused, "deny baseline:latest enforce update pod"},
		{"the same ephemeral container", podWrite("baseline", debugged, debugged), func(a *admission.Attributes) { a.Subresource = "ephemeralcontainers" }, tried{}, ""},
		{"one ephemeral container less", podWrite("baseline", hostile("p"), debugged), nil, tried{}, ""},
		{"status", podWrite("baseline", hostile("p"), other), func(a *admission.Attributes) { a.Subresource = "status" }, tried{}, ""},
		{"another resource", podWrite("baseline", hostile("p"), nil), func(a *admission.Attributes) { a.Object = &corev1.ConfigMap{} }, tried{}, ""},
	} {
		w := &world{}
		if tt.change != nil {
			tt.change(tt.a)
		}
		got := try(t, w.plugin(t, exemptions), tt.a)
		if got.err != tt.want.err || !slices.Equal(got.warnings, tt.want.warnings) || !maps.Equal(got.annotations, tt.want.annotations) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
		if counted := strings.Join(w.counted, ", "); counted != tt.counted {
			t.Errorf("%s: counted %s, want %s", tt.name, counted, tt.counted)
		}
	}
}

// TestWorkloads writes workloads: a template that violates a level leads to warnings and
// annotations, but not to a refusal.
func TestWorkloads(t *testing.T) {
	const violation = `would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)`
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: hostile("").Spec}}}
	for _, tt := range []struct {
		namespace, subresource string
		obj                    meta.Object
		want                   tried
	}{
		{"baseline", "", deployment, tried{warnings: []string{violation}}},
		{"baseline", "status", deployment, tried{}},
		{"baseline", "", &corev1.ReplicationController{}, tried{}},
		{"noted", "", deployment, tried{annotations: map[string]string{"audit-violations": violation}}},
		{"privileged", "", deployment, tried{}},
		{"free", "", deployment, tried{annotations: map[string]string{"exempt": "namespace"}}},
		{"gone", "", deployment, tried{annotations: map[string]string{"error": `failed to lookup namespace "gone": namespaces "gone" not found`}}},
	} {
		a := &admission.Attributes{
			Operation: admission.Create, Resource: appsv1.GroupVersion.WithResource("deployments"), Namespace: tt.namespace, Name: "d", Object: tt.obj, Subresource: tt.subresource,
		}
		got := try(t, (&world{}).plugin(t, exemptions), a)
		if got.err != tt.want.err || !slices.Equal(got.warnings, tt.want.warnings) || !maps.Equal(got.annotations, tt.want.annotations) {
			t.Errorf("%s %T:\n got %q\nwant %q", tt.namespace, tt.obj, got, tt.want)
		}
	}
}

func namespaceWrite(name string, labels, old map[string]string) *admission.Attributes {
	a := &admission.Attributes{
		Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("namespaces"), Kind: corev1.GroupVersion.WithKind("Namespace"), Name: name,
		Object: &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name, Labels: prefixed(labels)}},
	}
	if old != nil {
		a.Operation, a.Old = admission.Update, &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name, Labels: prefixed(old)}}
	}
	return a
}

func prefixed(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		out["pod-security.kubernetes.io/"+key] = value
	}
	return out
}

// TestNamespaces writes labels of namespaces.
func TestNamespaces(t *testing.T) {
	type labels = map[string]string
	owned := func(pod *corev1.Pod, uid string) *corev1.Pod {
		pod.OwnerReferences = []meta.OwnerReference{{UID: meta.UID(uid), Controller: new(true)}}
		return pod
	}
	port := tame("q")
	port.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	kata := hostile("k")
	kata.Spec.RuntimeClassName = new("kata")
	pods := []*corev1.Pod{owned(hostile("b"), "1"), kata, owned(hostile("a"), "1"), port, tame("t"), owned(hostile("c"), "2")}
	const (
		invalid = `Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "none": must be one of privileged, baseline, restricted`
		head    = `existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"`
	)
	found := []string{head, "a (and 2 other pods): host namespaces", "q: hostPort"}
	for _, tt := range []struct {
		name string
		a    *admission.Attributes
		err  string
		want []string
	}{
		{"create", namespaceWrite("n", labels{"enforce": "baseline"}, nil), "", nil},
		{"create wrongly", namespaceWrite("n", labels{"enforce": "none"}, nil), invalid, nil},
		{"update wrongly", namespaceWrite("n", labels{"enforce": "none"}, labels{"enforce": "baseline"}), invalid, nil},
		{"still wrong", namespaceWrite("n", labels{"enforce": "none", "audit": "baseline"}, labels{"enforce": "none"}), "", nil},
		{"stricter", namespaceWrite("n", labels{"enforce": "baseline"}, labels{"enforce": "privileged"}), "", found},
		{"another version", namespaceWrite("n", labels{"enforce": "baseline"}, labels{"enforce": "restricted", "enforce-version": "v1.30"}), "", found},
		{"laxer", namespaceWrite("n", labels{"enforce": "baseline"}, labels{"enforce": "restricted"}), "", nil},
		{"the same", namespaceWrite("n", labels{"enforce": "baseline", "warn": "restricted"}, labels{"enforce": "baseline"}), "", nil},
		{"to privileged", namespaceWrite("n", labels{"enforce": "privileged", "enforce-version": "v1.3"}, labels{"enforce": "baseline"}), "", nil},
		{"exempt", namespaceWrite("free", labels{"enforce": "baseline", "audit": "privileged", "warn-version": "v1.2"}, labels{}), "",
			[]string{`namespace "free" is exempt from Pod Security, and the policy (enforce=baseline:latest, warn=baseline:v1.2) will be ignored`}},
		{"create exempt", namespaceWrite("free", labels{"enforce": "baseline"}, nil), "",
			[]string{`namespace "free" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored`}},
		{"create exempt without labels", namespaceWrite("free", nil, nil), "", nil},
	} {
		got := try(t, (&world{pods: pods}).plugin(t, exemptions), tt.a)
		if got.err != tt.err || !slices.Equal(got.warnings, tt.want) {
			t.Errorf("%s:\n got %q %q\nwant %q %q", tt.name, got.err, got.warnings, tt.err, tt.want)
		}
	}
	stricter := func() *admission.Attributes {
		return namespaceWrite("n", labels{"enforce": "baseline"}, labels{})
	}
	broken := &world{listErr: errors.New("no store")}
	if got := try(t, broken.plugin(t, ""), stricter()); got.err != "" || !slices.Equal(got.warnings, []string{"failed to list pods while checking new PodSecurity enforce level"}) {
		t.Errorf("pods that cannot be listed: got %q", got)
	}
	a := stricter()
	a.Subresource = "status"
	if got := try(t, (&world{pods: pods}).plugin(t, ""), a); got.err != "" || got.warnings != nil {
		t.Errorf("status: got %q", got)
	}
}

// TestManyPods sets a stricter level on a namespace with more pods than the plugin evaluates.
// Further pods of a controller of which a pod has been evaluated come last.
func TestManyPods(t *testing.T) {
	const head = `existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"`
	w := &world{}
	for i := range 10 {
		pod := hostile(fmt.Sprintf("owned%d", i))
		pod.OwnerReferences = []meta.OwnerReference{{UID: "u", Controller: new(true)}}
		w.pods = append(w.pods, pod)
	}
	for i := range 2995 {
		w.pods = append(w.pods, tame(fmt.Sprintf("tame%d", i)))
	}
	got := try(t, w.plugin(t, ""), namespaceWrite("n", map[string]string{"enforce": "baseline"}, map[string]string{}))
	want := []string{"new PodSecurity enforce level only checked against the first 3000 of 3005 existing pods", head, "owned0 (and 4 other pods): host namespaces"}
	if !slices.Equal(got.warnings, want) {
		t.Errorf("got %q, want %q", got.warnings, want)
	}
}

// TestSlowPods lists pods that take longer than the plugin's limit of one second, or longer than
// the request has left.
func TestSlowPods(t *testing.T) {
	const head = `existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"`
	for limit, want := range map[time.Duration]string{time.Minute: "9 of 20", time.Second: "4 of 20"} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{each: func() { time.Sleep(101 * time.Millisecond) }}
			for i := range 20 {
				w.pods = append(w.pods, hostile(fmt.Sprintf("p%02d", i)))
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			a := namespaceWrite("n", map[string]string{"enforce": "baseline"}, map[string]string{})
			var got []string
			a.Listen(func(text string) { got = append(got, text) }, nil)
			if err := w.plugin(t, "").Validate(ctx, a); err != nil {
				t.Error(err)
			}
			if len(got) != 3 || got[0] != "new PodSecurity enforce level only checked against the first "+want+" existing pods" || got[1] != head {
				t.Errorf("in %s: got %q, want %s", limit, got, want)
			}
		})
	}
}

// TestConfiguration reads configurations, right and wrong ones.
func TestConfiguration(t *testing.T) {
	const head = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"
	for text, want := range map[string]string{
		"": "", head: "", head + "defaults: {}\nexemptions: {}\n": "",
		strings.Replace(head, "/v1", "/v1beta1", 1):                                  "",
		strings.Replace(head, "/v1", "/v1alpha1", 1):                                 "",
		head + "defaults: {enforce: baseline, enforce-version: v1.7, warn: \"\"}\n":  "",
		head + "defaults: {enforce: none}\n":                                         `defaults.enforce: Invalid value: "none": must be one of privileged, baseline, restricted`,
		head + "defaults: {audit-version: \"1.7\"}\n":                                `defaults.audit-version: Invalid value: "1.7": must be "latest" or "v1.x"`,
		head + "exemptions: {usernames: [\"\"], namespaces: [a, a]}\n":               `[exemptions.namespaces[1]: Duplicate value: "a", exemptions.usernames[0]: Invalid value: "": username must not be empty]`,
		head + "exemptions: {runtimeClasses: [a.b, b, b]}\n":                         `exemptions.runtimeClasses[2]: Duplicate value: "b"`,
		head + "exemption: {}\n":                                                     `strict decoding error: unknown field "exemption"`,
		head + "defaults: {enforceVersion: v1.7}\n":                                  `strict decoding error: unknown field "defaults.enforceVersion"`,
		strings.Replace(head, "/v1", "/v2", 1):                                       `no kind "PodSecurityConfiguration" is registered for version "pod-security.admission.config.k8s.io/v2": want PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1`,
		"apiVersion: pod-security.admission.config.k8s.io/v1\nkind: Configuration\n": `no kind "Configuration" is registered for version "pod-security.admission.config.k8s.io/v1": want PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1`,
	} {
		w := &world{}
		_, err := podguard.New([]byte(text), admission.NewNamespaces(w.namespace), w.list, w)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestCost: pods of a namespace without labels cost no allocation; nor do objects that are not
// pods.
func TestCost(t *testing.T) {
	w := &world{}
	p, err := podguard.New(nil, admission.NewNamespaces(func(context.Context, string, request.Freshness) (admission.Namespace, error) {
		return admission.Namespace{Labels: meta.Set(nil)}, nil
	}), w.list, silent{})
	if err != nil {
		t.Fatal(err)
	}
	other := podWrite("n", tame("p"), nil)
	other.Object = &corev1.ConfigMap{}
	for _, a := range []*admission.Attributes{podWrite("n", tame("p"), nil), other} {
		a.Listen(nil, func(string, string) {})
		if n := testing.AllocsPerRun(100, func() { _ = p.Validate(t.Context(), a) }); n > 0 {
			t.Errorf("%T: %v allocations", a.Object, n)
		}
	}
}

// silent is a set of counters that counts nothing.
type silent struct{}

func (silent) Evaluated(podguard.Evaluation) {}
func (silent) Exempted(podguard.Request)     {}
func (silent) Failed(bool, podguard.Request) {}
