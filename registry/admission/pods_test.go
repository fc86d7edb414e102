package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// message returns what clients see of an error: code, reason and message.
func message(err error) string {
	if err == nil {
		return ""
	}
	s := meta.StatusOf(err)
	return fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message)
}

func TestLimitPodHardAntiAffinityTopology(t *testing.T) {
	pod := func(required ...string) *corev1.Pod {
		anti := &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone"},
		}}}
		for _, key := range required {
			anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{TopologyKey: key})
		}
		return &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: anti}}}
	}
	for _, tt := range []struct {
		name, sub string
		pod       *corev1.Pod
		want      string
	}{
		{"no affinity", "", &corev1.Pod{}, ""},
		{"nodes", "", pod("kubernetes.io/hostname"), ""},
		{"a zone", "", pod("kubernetes.io/hostname", "zone"),
			`403 Forbidden: pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed`},
		{"a subresource", "status", pod("zone"), ""},
	} {
		a := podAttributes(admission.Create, tt.pod, nil)
		a.Subresource = tt.sub
		if got := message(admission.LimitPodHardAntiAffinityTopology{}.Validate(t.Context(), a)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAlwaysPullImages(t *testing.T) {
	var plugin admission.AlwaysPullImages
	pod := func(image string, policy corev1.PullPolicy) *corev1.Pod {
		ephemeral := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "e", ImagePullPolicy: policy}}
		volume := corev1.Volume{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: policy}}}
		return &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Image: "i", ImagePullPolicy: policy}}, Containers: []corev1.Container{{Image: image, ImagePullPolicy: policy}},
			EphemeralContainers: []corev1.EphemeralContainer{ephemeral}, Volumes: []corev1.Volume{{}, volume},
		}}
	}
	const forbidden = `pods "p" is forbidden: `
	const never = `: Unsupported value: "Never": supported values: "Always"`
	const all = "500 : [" + forbidden + "spec.initContainers[0].imagePullPolicy" + never + ", " + forbidden + "spec.containers[0].imagePullPolicy" + never + ", " +
		forbidden + "spec.ephemeralContainers[0].imagePullPolicy" + never + ", " + forbidden + "spec.volumes[1].image.pullPolicy" + never + "]"
	for _, tt := range []struct {
		name     string
		op       admission.Operation
		pod, old *corev1.Pod
		want     string // the error of Validate without Mutate; "": the plugin ignores the write
	}{
		{"create", admission.Create, pod("a", corev1.PullNever), nil, all},
		{"another image", admission.Update, pod("a", corev1.PullNever), pod("b", corev1.PullNever), all},
		{"the same images", admission.Update, pod("a", corev1.PullNever), pod("a", corev1.PullAlways), ""},
	} {
		a := podAttributes(tt.op, tt.pod, tt.old)
		if got := message(plugin.Validate(t.Context(), a)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if err := plugin.Mutate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Validate(t.Context(), a); err != nil {
			t.Errorf("%s: got %v after the mutator", tt.name, err)
		}
		changed := tt.pod.Spec.EphemeralContainers[0].ImagePullPolicy == corev1.PullAlways && tt.pod.Spec.Volumes[1].Image.PullPolicy == corev1.PullAlways
		if changed != (tt.want != "") {
			t.Errorf("%s: changed %t", tt.name, changed)
		}
	}
	one := podAttributes(admission.Create, &corev1.Pod{ObjectMeta: meta.ObjectMeta{GenerateName: "g-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}, nil)
	one.Name = ""
	const want = `500 : pods "g-" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "": supported values: "Always"`
	if got := message(plugin.Validate(t.Context(), one)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExtendedResourceToleration(t *testing.T) {
	asks := func(names ...corev1.ResourceName) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
		for _, name := range names {
			c.Resources.Requests[name] = meta.MustParse("1")
		}
		return c
	}
	seconds := int64(5)
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{asks("z.io/gpu", "cpu", "requests.a.io/b", "kubernetes.io/x")}, InitContainers: []corev1.Container{asks("a.io/gpu")},
		Tolerations: []corev1.Toleration{
			{Key: "z.io/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule, TolerationSeconds: &seconds},
			{Key: "a.io/gpu", Operator: corev1.TolerationOpExists},
		},
	}}
	for range 2 {
		if err := (admission.ExtendedResourceToleration{}).Mutate(t.Context(), podAttributes(admission.Create, pod, nil)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range pod.Spec.Tolerations {
			got = append(got, fmt.Sprint(x.Key, x.Operator, x.Effect, x.TolerationSeconds == nil))
		}
		if got, want := strings.Join(got, " "), "z.io/gpuExistsNoScheduletrue a.io/gpuExiststrue a.io/gpuExistsNoScheduletrue"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// nodes finds nodes by name.
type nodes map[string]*corev1.Node

func (n nodes) read(_ context.Context, name string) (*corev1.Node, error) {
	switch node := n[name]; {
	case name == "broken":
		return nil, meta.NewStoreReadError("broken cannot be read", nil)
	case node == nil:
		return nil, meta.NewNotFound(meta.GroupResource{Resource: "nodes"}, name)
	default:
		return node, nil
	}
}

// sized returns a pod on a node with one container, which requests an amount of CPU and memory. Its
// generation is that after one update of the spec.
func sized(node, cpu, memory string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p", Generation: 2}, Spec: corev1.PodSpec{
		NodeName:   node,
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amounts(cpu, memory)}}},
	}}
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: meta.MustParse(cpu), corev1.ResourceMemory: meta.MustParse(memory)}
}

func TestPodResizeValidator(t *testing.T) {
	plugin := admission.NewPodResizeValidator(nodes{
		"n": {ObjectMeta: meta.ObjectMeta{Name: "n", Labels: map[string]string{"kubernetes.io/os": "linux"}}, Status: corev1.NodeStatus{Allocatable: amounts("2", "1Gi")}},
		"w": {ObjectMeta: meta.ObjectMeta{Name: "w", Labels: map[string]string{"kubernetes.io/os": "windows"}}},
	}.read)
	whole := sized("n", "8", "1Mi")
	whole.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("1", "1Mi")}
	heavy := sized("n", "1500m", "1Mi")
	heavy.Spec.Overhead = amounts("501m", "0")
	const forbidden = `403 Forbidden: pods "p" is forbidden: `
	for _, tt := range []struct {
		name, sub string
		pod       *corev1.Pod
		unchanged bool
		want      string
		cause     meta.CauseType
	}{
		{"it fits", "resize", sized("n", "2", "1Gi"), false, "", ""},
		{"too much", "resize", sized("n", "2001m", "2Gi"), false,
			forbidden + "node didn't have enough allocatable resources: cpu, requested: 2001, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824", "NodeCapacity"},
		{"the pod as a whole fits", "resize", whole, false, "", ""},
		{"too much with overhead", "resize", heavy, false,
			forbidden + "node didn't have enough allocatable resources: cpu, requested: 2001, allocatable: 2000", "NodeCapacity"},
		{"not a resize", "", sized("n", "8", "1Gi"), false, "", ""},
		{"no node", "resize", sized("", "8", "1Gi"), false, "", ""},
		{"nothing changed", "resize", sized("n", "8", "1Gi"), true, "", ""},
		{"another system", "resize", sized("w", "0", "0"), false, forbidden + `pod resize is only supported on linux nodes, node "w" is "windows"`, "UnsupportedPlatform"},
		{"an unknown node", "resize", sized("x", "1", "1Gi"), false, forbidden + `node "x" not found`, ""},
		{"a node that cannot be read", "resize", sized("broken", "1", "1Gi"), false, forbidden + `failed to get node "broken": broken cannot be read`, ""},
	} {
		old := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Generation: 1}}
		if tt.unchanged {
			old.Generation = 2
		}
		a := podAttributes(admission.Update, tt.pod, old)
		a.Subresource = tt.sub
		err := plugin.Validate(t.Context(), a)
		var cause meta.CauseType
		if s := meta.StatusOf(err); err != nil && len(s.Details.Causes) > 0 {
			cause = s.Details.Causes[0].Type
		}
		if got := message(err); got != tt.want || cause != tt.cause {
			t.Errorf("%s: got %s (%s), want %s (%s)", tt.name, got, cause, tt.want, tt.cause)
		}
	}
}

func TestNodeDeclaredFeatureValidator(t *testing.T) {
	const whole, initial = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"
	plugin := admission.NewNodeDeclaredFeatureValidator(nodes{
		"old": {ObjectMeta: meta.ObjectMeta{Name: "old"}},
		"new": {ObjectMeta: meta.ObjectMeta{Name: "new"}, Status: corev1.NodeStatus{DeclaredFeatures: []string{whole, initial}}},
	}.read)
	always := corev1.ContainerRestartPolicyAlways
	pod := func(node, cpu, init, sidecar string) *corev1.Pod {
		p := sized(node, "1", "1")
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts(cpu, "1")}
		p.Spec.InitContainers = []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: amounts(init, "1")}},
			{Resources: corev1.ResourceRequirements{Requests: amounts(sidecar, "1")}, RestartPolicy: &always},
		}
		return p
	}
	const refused = `403 Forbidden: pods "p" is forbidden: pod update requires features %s which are not available on node "old"`
	for _, tt := range []struct {
		name, sub string
		pod       *corev1.Pod
		want      string
	}{
		{"only containers and sidecars", "resize", pod("old", "1", "1", "2"), ""},
		{"the same amount, written otherwise", "resize", pod("old", "1000m", "1", "1"), ""},
		{"the pod as a whole", "resize", pod("old", "2", "1", "1"), fmt.Sprintf(refused, whole)},
		{"both", "", pod("old", "2", "2", "1"), fmt.Sprintf(refused, whole+", "+initial)},
		{"a node that can", "resize", pod("new", "2", "2", "1"), ""},
		{"no node", "resize", pod("", "2", "2", "1"), ""},
		{"the status", "status", pod("old", "2", "2", "1"), ""},
		{"an unknown node", "resize", pod("x", "2", "2", "1"), `403 Forbidden: pods "p" is forbidden: node "x" not found`},
	} {
		old := pod("old", "1", "1", "1")
		old.Generation = 1
		a := podAttributes(admission.Update, tt.pod, old)
		a.Subresource = tt.sub
		if got := message(plugin.Validate(t.Context(), a)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
