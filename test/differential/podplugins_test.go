package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	theiradmission "k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/plugin/pkg/admission/admit"
	"k8s.io/kubernetes/plugin/pkg/admission/alwayspullimages"
	"k8s.io/kubernetes/plugin/pkg/admission/antiaffinity"
	"k8s.io/kubernetes/plugin/pkg/admission/deny"
	"k8s.io/kubernetes/plugin/pkg/admission/extendedresourcetoleration"
	"k8s.io/kubernetes/plugin/pkg/admission/network/denyserviceexternalips"
	"k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
	"k8s.io/kubernetes/plugin/pkg/admission/podresize"

	"github.com/coracle-project/coracle/registry/admission"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// registeredPlugin makes a plugin of Kubernetes that has no exported constructor.
func registeredPlugin(t *testing.T, register func(*theiradmission.Plugins), name string, needs ...theiradmission.PluginInitializer) theiradmission.Interface {
	t.Helper()
	plugins := theiradmission.NewPlugins()
	register(plugins)
	p, err := plugins.InitPlugin(name, nil, theiradmission.PluginInitializers(needs))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPodPlugins passes random pods through the plugins that need only the pod.
func TestPodPlugins(t *testing.T) {
	rnd := random("pod plugins")
	for _, p := range []*pluginPair{
		{theirs: antiaffinity.NewInterPodAntiAffinity(), ours: admission.LimitPodHardAntiAffinityTopology{}},
		{theirs: alwayspullimages.NewAlwaysPullImages(), ours: admission.AlwaysPullImages{}},
		{theirs: lateImages{alwayspullimages.NewAlwaysPullImages()}, ours: ourLateImages{}},
		{theirs: registeredPlugin(t, extendedresourcetoleration.Register, "ExtendedResourceToleration"), ours: admission.ExtendedResourceToleration{}},
	} {
		for range times(250) {
			p.compare(t, pluginPodWrite(rnd))
		}
		p.report(t)
	}
}

// lateImages and ourLateImages are AlwaysPullImages without the mutator, as if a later plugin had
// undone the mutation.
type lateImages struct {
	theiradmission.ValidationInterface
}

type ourLateImages struct{}

func (ourLateImages) Name() string { return "AlwaysPullImages" }
func (ourLateImages) Handles(op admission.Operation) bool {
	return admission.AlwaysPullImages{}.Handles(op)
}

func (ourLateImages) Validate(ctx context.Context, a *admission.Attributes) error {
	return admission.AlwaysPullImages{}.Validate(ctx, a)
}

// TestNodePlugins passes changes of pods through the plugins that look at the nodes of pods.
func TestNodePlugins(t *testing.T) {
	rnd := random("node plugins")
	known := informers.NewSharedInformerFactory(nil, 0)
	nodes := map[string]*ourcore.Node{}
	read := func(_ context.Context, name string) (*ourcore.Node, error) {
		if node := nodes[name]; node != nil {
			return node, nil
		}
		return nil, meta.NewNotFound(meta.GroupResource{Resource: "nodes"}, name)
	}
	resize := must1(podresize.NewPlugin())
	resize.SetExternalKubeInformerFactory(known)
	resize.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	declared := must1(nodedeclaredfeatures.NewPlugin())
	declared.SetExternalKubeInformerFactory(known)
	declared.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	// the informer does not run: nodes are put into its store
	resize.SetReadyFunc(func() bool { return true })
	declared.SetReadyFunc(func() bool { return true })
	for _, p := range []*pluginPair{
		{theirs: resize, ours: admission.NewPodResizeValidator(read)},
		{theirs: declared, ours: admission.NewNodeDeclaredFeatureValidator(read)},
	} {
		for i := range times(250) {
			if i%20 == 0 {
				for _, name := range []string{"n1", "n2"} {
					node := pluginNode(rnd, name)
					nodes[name] = toOurs[ourcore.Node](t, node)
					must(known.Core().V1().Nodes().Informer().GetIndexer().Add(node))
				}
			}
			w := pluginPodWrite(rnd)
			if !chance(rnd, 6) {
				w.op, w.sub = theiradmission.Update, oneOf(rnd, "resize", "resize", "")
				w.old = pluginOldPod(rnd, w.obj.(*corev1.Pod))
			}
			p.compare(t, w)
		}
		p.report(t)
	}
}

// TestPlainPlugins compares the plugins for nodes and services, and those that look at nothing.
func TestPlainPlugins(t *testing.T) {
	rnd := random("plain plugins")
	taint := &pluginPair{theirs: nodetaint.NewPlugin(), ours: admission.TaintNodesByCondition{}}
	denied := &pluginPair{theirs: registeredPlugin(t, denyserviceexternalips.Register, "DenyServiceExternalIPs"), ours: admission.DenyServiceExternalIPs{}}
	always, never := &pluginPair{theirs: admit.NewAlwaysAdmit(), ours: admission.AlwaysAdmit{}}, &pluginPair{theirs: deny.NewAlwaysDeny(), ours: admission.AlwaysDeny{}}
	for range times(250) {
		node, service := pluginNodeWrite(rnd), pluginServiceWrite(rnd)
		taint.compare(t, node)
		denied.compare(t, service)
		for _, w := range []*pluginWrite{node, service, pluginPodWrite(rnd)} {
			if chance(rnd, 4) {
				w.op, w.obj = theiradmission.Delete, nil
			}
			always.compare(t, w)
			never.compare(t, w)
		}
	}
	taint.report(t)
	denied.report(t)
	if always.refused+always.changed > 0 || never.refused != never.writes {
		t.Errorf("AlwaysAdmit refused or changed %d of %d, AlwaysDeny refused %d of %d",
			always.refused+always.changed, always.writes, never.refused, never.writes)
	}
}

// corev1Write returns a write of an object of the legacy group without the object.
func corev1Write(rnd *rand.Rand, plural, kind string, decode func(*testing.T, any) meta.Object) *pluginWrite {
	return &pluginWrite{
		op:       oneOf(rnd, theiradmission.Create, theiradmission.Create, theiradmission.Update),
		resource: corev1.SchemeGroupVersion.WithResource(plural), kind: corev1.SchemeGroupVersion.WithKind(kind),
		name: oneOf(rnd, "a", "b", ""), user: "alice", decode: decode, dryRun: chance(rnd, 5),
	}
}

// pluginObjectMeta returns metadata with a name, or with a name that is yet to be generated.
func pluginObjectMeta(rnd *rand.Rand, w *pluginWrite) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: w.namespace, Name: w.name}
	if w.name == "" {
		m.Name, m.GenerateName = oneOf(rnd, "", "c"), oneOf(rnd, "g-", "")
	}
	return m
}

func pluginPodWrite(rnd *rand.Rand) *pluginWrite {
	w := corev1Write(rnd, "pods", "Pod", ourDecoder[ourcore.Pod])
	w.namespace, w.sub = "ns", oneOf(rnd, "", "", "", "", "", "", "status", "ephemeralcontainers")
	pod := pluginPod(rnd)
	pod.ObjectMeta = pluginObjectMeta(rnd, w)
	pod.Generation = 1 + rnd.Int64N(2)
	w.obj = pod
	if w.op == theiradmission.Update {
		w.old = pluginOldPod(rnd, pod)
	}
	return w
}

// pluginOldPod returns a pod as it was before an update that neither added nor removed init
// containers.
func pluginOldPod(rnd *rand.Rand, pod *corev1.Pod) *corev1.Pod {
	old := pod.DeepCopy()
	other := pluginPod(rnd)
	old.Generation = 1
	if chance(rnd, 3) {
		old.Spec.Containers, old.Spec.EphemeralContainers = other.Spec.Containers, other.Spec.EphemeralContainers
	}
	if chance(rnd, 3) {
		old.Spec.Resources = other.Spec.Resources
	}
	for i := range old.Spec.InitContainers {
		if c := &old.Spec.InitContainers[i]; chance(rnd, 3) {
			c.Resources, c.Image = pluginContainer(rnd).Resources, pluginContainer(rnd).Image
		}
	}
	return old
}

func pluginPod(rnd *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		NodeName: oneOf(rnd, "n1", "n1", "n2", "n3", ""), SecurityContext: &corev1.PodSecurityContext{}, // conversion adds it
	}}
	spec := &pod.Spec
	for range rnd.IntN(3) {
		c := pluginContainer(rnd)
		if always := corev1.ContainerRestartPolicyAlways; chance(rnd, 2) {
			c.RestartPolicy = &always
		}
		spec.InitContainers = append(spec.InitContainers, c)
	}
	for range 1 + rnd.IntN(2) {
		spec.Containers = append(spec.Containers, pluginContainer(rnd))
	}
	for range rnd.IntN(2) {
		c := pluginContainer(rnd)
		spec.EphemeralContainers = append(spec.EphemeralContainers, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name, Image: c.Image, ImagePullPolicy: c.ImagePullPolicy},
		})
	}
	if chance(rnd, 3) {
		spec.Resources = &corev1.ResourceRequirements{Requests: pluginAmounts(rnd), Limits: pluginAmounts(rnd)}
	}
	if chance(rnd, 5) {
		spec.Overhead = pluginAmounts(rnd)
	}
	for i := range rnd.IntN(3) {
		v := corev1.Volume{Name: fmt.Sprint("v", i)}
		if chance(rnd, 2) {
			v.Image = &corev1.ImageVolumeSource{Reference: "r", PullPolicy: pluginContainer(rnd).ImagePullPolicy}
		}
		spec.Volumes = append(spec.Volumes, v)
	}
	for range rnd.IntN(3) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: oneOf(rnd, "example.com/gpu", "a.io/b", "c"), Operator: oneOf(rnd, corev1.TolerationOpExists, corev1.TolerationOpExists, corev1.TolerationOpEqual, ""),
			Value: oneOf(rnd, "", "", "", "v"), Effect: oneOf(rnd, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, ""),
		})
		if last := &spec.Tolerations[len(spec.Tolerations)-1]; chance(rnd, 4) {
			last.TolerationSeconds = new(int64)
		}
	}
	if chance(rnd, 2) {
		spec.Affinity = &corev1.Affinity{}
		if chance(rnd, 4) {
			return pod
		}
		spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
		for range rnd.IntN(3) {
			term := corev1.PodAffinityTerm{TopologyKey: oneOf(rnd, corev1.LabelHostname, corev1.LabelHostname, "zone", "")}
			anti := spec.Affinity.PodAntiAffinity
			if chance(rnd, 3) {
				anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution,
					corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: term})
				continue
			}
			anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, term)
		}
	}
	return pod
}

func pluginContainer(rnd *rand.Rand) corev1.Container {
	return corev1.Container{
		Name: "c", Image: oneOf(rnd, "a", "b", "c", ""),
		ImagePullPolicy: oneOf(rnd, corev1.PullAlways, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever, ""),
		Resources:       corev1.ResourceRequirements{Requests: pluginAmounts(rnd), Limits: pluginAmounts(rnd)},
	}
}

// pluginAmounts returns amounts in the form in which they are stored. Kubernetes'
// NodeDeclaredFeatureValidator takes 1000m instead of 1 for a change; ours does not.
func pluginAmounts(rnd *rand.Rand) corev1.ResourceList {
	list := corev1.ResourceList{}
	for range rnd.IntN(3) {
		name := oneOf(rnd, corev1.ResourceCPU, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceMemory, "hugepages-2Mi", "ephemeral-storage",
			"example.com/gpu", "a.io/b", "requests.a.io/b", "kubernetes.io/c", "x/y", "bad name/x", corev1.ResourceName("a.io/"+oneOf(rnd, "", "c", "_")))
		list[name] = resource.MustParse(oneOf(rnd, "0", "1", "2", "500m", "1500m", "1Gi", "1500Mi", "3G", "1234567u"))
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

func pluginNode(rnd *rand.Rand, name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if system := oneOf(rnd, "linux", "linux", "linux", "windows", "", "none"); system != "none" {
		node.Labels = map[string]string{corev1.LabelOSStable: system}
	}
	node.Status.Allocatable = corev1.ResourceList{}
	if !chance(rnd, 10) {
		node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(oneOf(rnd, "1", "2", "4", "3500m", "1234567890n"))
	}
	if !chance(rnd, 10) {
		node.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(oneOf(rnd, "1Gi", "4Gi", "8Gi", "2500Mi"))
	}
	for _, feature := range []string{"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits", "Other"} {
		if chance(rnd, 2) {
			node.Status.DeclaredFeatures = append(node.Status.DeclaredFeatures, feature)
		}
	}
	return node
}

func pluginNodeWrite(rnd *rand.Rand) *pluginWrite {
	w := corev1Write(rnd, "nodes", "Node", ourDecoder[ourcore.Node])
	w.sub = oneOf(rnd, "", "", "", "status")
	node := &corev1.Node{ObjectMeta: pluginObjectMeta(rnd, w)}
	for range rnd.IntN(3) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: oneOf(rnd, corev1.TaintNodeNotReady, corev1.TaintNodeNotReady, "a"), Value: oneOf(rnd, "", "v"),
			Effect: oneOf(rnd, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		})
	}
	w.obj = node
	if w.op == theiradmission.Update {
		w.old = &corev1.Node{ObjectMeta: node.ObjectMeta}
	}
	return w
}

func pluginServiceWrite(rnd *rand.Rand) *pluginWrite {
	w := corev1Write(rnd, "services", "Service", ourDecoder[ourcore.Service])
	w.namespace, w.sub = "ns", oneOf(rnd, "", "", "", "status")
	ips := func(n int) (list []string) {
		for range rnd.IntN(n) {
			list = append(list, oneOf(rnd, "192.0.2.1", "192.0.2.2", "192.0.2.3"))
		}
		return list
	}
	w.obj = &corev1.Service{ObjectMeta: pluginObjectMeta(rnd, w), Spec: corev1.ServiceSpec{ExternalIPs: ips(3)}}
	if w.op == theiradmission.Update {
		w.old = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: corev1.ServiceSpec{ExternalIPs: ips(4)}}
	}
	return w
}
