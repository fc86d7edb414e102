package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/coracle-project/coracle/registry/admission"
	ourapps "github.com/coracle-project/coracle/scheme/api/appsv1"
	ourbatch "github.com/coracle-project/coracle/scheme/api/batchv1"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	ourpolicy "github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// securedWrite is a write that both sides judge.
type securedWrite struct {
	op                           admission.Operation
	gvr                          schema.GroupVersionResource
	gvk                          schema.GroupVersionKind
	namespace, name, subresource string
	obj, old                     runtime.Object
	ours                         func(t *testing.T, obj runtime.Object) meta.Object
	counted                      bool // the plugin counts writes of the resource
}

// securedKind is a kind of objects that the plugin sees.
type securedKind struct {
	gvr  schema.GroupVersionResource
	kind string
	make func(m metav1.ObjectMeta, pod *corev1.Pod) runtime.Object
	ours func(t *testing.T, obj runtime.Object) meta.Object
}

func asOurs[T any, P interface {
	*T
	meta.Object
}](t *testing.T, obj runtime.Object) meta.Object {
	return toOurs[T, P](t, obj)
}

func templateOf(pod *corev1.Pod) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
}

var (
	securedPods      = securedKind{corev1.SchemeGroupVersion.WithResource("pods"), "Pod", nil, asOurs[ourcore.Pod]}
	securedEvictions = securedKind{corev1.SchemeGroupVersion.WithResource("pods"), "Eviction", nil, asOurs[ourpolicy.Eviction]}
	securedLabels    = securedKind{corev1.SchemeGroupVersion.WithResource("namespaces"), "Namespace", nil, asOurs[ourcore.Namespace]}
	securedOthers    = securedKind{corev1.SchemeGroupVersion.WithResource("configmaps"), "ConfigMap", nil, asOurs[ourcore.ConfigMap]}
)

var workloads = []securedKind{
	{corev1.SchemeGroupVersion.WithResource("podtemplates"), "PodTemplate", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &corev1.PodTemplate{ObjectMeta: m, Template: templateOf(p)}
	}, asOurs[ourcore.PodTemplate]},
	{corev1.SchemeGroupVersion.WithResource("replicationcontrollers"), "ReplicationController", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &corev1.ReplicationController{ObjectMeta: m, Spec: corev1.ReplicationControllerSpec{Template: new(templateOf(p))}}
	}, asOurs[ourcore.ReplicationController]},
	{corev1.SchemeGroupVersion.WithResource("replicationcontrollers"), "ReplicationController", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &corev1.ReplicationController{ObjectMeta: m}
	}, asOurs[ourcore.ReplicationController]},
	{appsv1.SchemeGroupVersion.WithResource("replicasets"), "ReplicaSet", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Template: templateOf(p)}}
	}, asOurs[ourapps.ReplicaSet]},
	{appsv1.SchemeGroupVersion.WithResource("deployments"), "Deployment", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Template: templateOf(p)}}
	}, asOurs[ourapps.Deployment]},
	{appsv1.SchemeGroupVersion.WithResource("statefulsets"), "StatefulSet", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Template: templateOf(p)}}
	}, asOurs[ourapps.StatefulSet]},
	{appsv1.SchemeGroupVersion.WithResource("daemonsets"), "DaemonSet", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Template: templateOf(p)}}
	}, asOurs[ourapps.DaemonSet]},
	{batchv1.SchemeGroupVersion.WithResource("jobs"), "Job", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: templateOf(p)}}
	}, asOurs[ourbatch.Job]},
	{batchv1.SchemeGroupVersion.WithResource("cronjobs"), "CronJob", func(m metav1.ObjectMeta, p *corev1.Pod) runtime.Object {
		return &batchv1.CronJob{ObjectMeta: m, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: templateOf(p)}}}}
	}, asOurs[ourbatch.CronJob]},
}

// write makes a random write.
func (g *podSecurityGame) write() securedWrite {
	w := securedWrite{op: oneOf(g.rnd, admission.Create, admission.Create, admission.Update), namespace: oneOf(g.rnd, securedNamespaces...), name: "x", counted: true}
	if chance(g.rnd, 3) {
		w.namespace = "a"
	}
	var k securedKind
	switch g.rnd.IntN(10) {
	case 0:
		k = workloads[g.rnd.IntN(len(workloads))]
		w.subresource = oneOf(g.rnd, "", "", "status", "scale")
		g.workload(&w, k)
	case 1, 2:
		k = workloads[g.rnd.IntN(len(workloads))]
		g.workload(&w, k)
	case 3, 4, 5:
		k = securedLabels
		g.labels(&w)
	case 6:
		switch g.rnd.IntN(8) {
		case 0:
			k, w.subresource, w.obj, w.op, w.counted = securedEvictions, "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, admission.Create, false
		case 1:
			k, w.obj, w.op, w.counted = securedOthers, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, admission.Create, false
		default:
			k = securedPods
			w.op, w.subresource = admission.Update, oneOf(g.rnd, "ephemeralcontainers", "resize", "status")
			g.pod(&w)
		}
	default:
		k = securedPods
		g.pod(&w)
	}
	w.gvr, w.ours = k.gvr, k.ours
	w.gvk = k.gvr.GroupVersion().WithKind(k.kind)
	if k.kind == "Eviction" {
		w.gvk = policyv1.SchemeGroupVersion.WithKind("Eviction")
	}
	return w
}

func (g *podSecurityGame) pod(w *securedWrite) {
	pod := randomSecuredPod(g.rnd)
	pod.Namespace, pod.Name = w.namespace, "x"
	if chance(g.rnd, 10) && w.op == admission.Create {
		pod.Name, pod.GenerateName, w.name = "", "x-", ""
	}
	w.obj = pod
	if w.op == admission.Update {
		old := pod.DeepCopy()
		w.old = old
		alter(g.rnd, old)
	}
}

// alter changes a pod, in a way that updates may or in another.
func alter(rnd *rand.Rand, pod *corev1.Pod) {
	spec := &pod.Spec
	switch rnd.IntN(8) {
	case 0:
		pod.Labels = map[string]string{"a": "b"}
	case 1:
		spec.Containers[0].Image = "other"
	case 2:
		if len(spec.InitContainers) > 0 {
			spec.InitContainers[0].Image = "other"
		}
	case 3:
		if n := len(spec.EphemeralContainers); n > 0 {
			spec.EphemeralContainers = spec.EphemeralContainers[:n-1]
		}
	case 4:
		if n := len(spec.EphemeralContainers); n > 0 {
			spec.EphemeralContainers[n-1].Image = "other"
		}
	case 5:
		spec.EphemeralContainers = append([]corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "gone"}}}, spec.EphemeralContainers...)
	case 6:
		spec.InitContainers = nil
	case 7:
		*spec = randomSecuredPod(rnd).Spec
	}
}

func (g *podSecurityGame) workload(w *securedWrite, k securedKind) {
	m := metav1.ObjectMeta{Namespace: w.namespace, Name: "x"}
	w.obj = k.make(m, randomSecuredPod(g.rnd))
	if w.op == admission.Update {
		w.old = k.make(m, randomSecuredPod(g.rnd))
	}
}

func (g *podSecurityGame) labels(w *securedWrite) {
	w.name = w.namespace
	now := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: randomSecurityLabels(g.rnd)}}
	if w.op == admission.Create && chance(g.rnd, 10) {
		now.Name, now.GenerateName, w.name, w.namespace = "", "c", "", ""
	}
	w.obj = now
	if w.op == admission.Update {
		w.subresource = oneOf(g.rnd, "", "", "", "", "", "", "status", "finalize")
		old := now.DeepCopy()
		if old.Labels == nil || chance(g.rnd, 3) {
			old.Labels = randomSecurityLabels(g.rnd)
		} else {
			delete(old.Labels, "pod-security.kubernetes.io/"+oneOf(g.rnd, "enforce", "enforce-version", "warn", "x"))
		}
		w.old = old
	}
}

// randomSecuredPod is a pod that meets a level, except for some fields.
func randomSecuredPod(rnd *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{}
	spec := &pod.Spec
	for i := range 1 + rnd.IntN(2) {
		spec.Containers = append(spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "i"})
	}
	for i := range max(0, rnd.IntN(4)-2) {
		spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: fmt.Sprintf("i%d", i), Image: "i"})
	}
	for i := range max(0, rnd.IntN(5)-2) {
		spec.EphemeralContainers = append(spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: fmt.Sprintf("e%d", i), Image: "i"}})
	}
	if !chance(rnd, 3) {
		makeRestricted(spec)
	}
	for range []int{0, 0, 1, 1, 2, 8, 30}[rnd.IntN(7)] {
		securityFaults[rnd.IntN(len(securityFaults))](rnd, pod)
	}
	return pod
}

func makeRestricted(spec *corev1.PodSpec) {
	spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	for _, c := range allContainers(spec) {
		c.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	}
}

func allContainers(spec *corev1.PodSpec) (list []*corev1.Container) {
	for i := range spec.InitContainers {
		list = append(list, &spec.InitContainers[i])
	}
	for i := range spec.Containers {
		list = append(list, &spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		list = append(list, (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return list
}

// inContainer is a fault of one container.
func inContainer(f func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext)) func(*rand.Rand, *corev1.Pod) {
	return func(rnd *rand.Rand, pod *corev1.Pod) {
		list := allContainers(&pod.Spec)
		c := list[rnd.IntN(len(list))]
		if chance(rnd, 20) {
			c.SecurityContext = nil
		}
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		f(rnd, c, c.SecurityContext)
	}
}

// inPod is a fault of the pod's own security context.
func inPod(f func(rnd *rand.Rand, ctx *corev1.PodSecurityContext)) func(*rand.Rand, *corev1.Pod) {
	return func(rnd *rand.Rand, pod *corev1.Pod) {
		if pod.Spec.SecurityContext == nil {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{}
		}
		f(rnd, pod.Spec.SecurityContext)
	}
}

// securityFaults set fields that levels look at, mostly to values that they forbid.
var securityFaults = []func(rnd *rand.Rand, pod *corev1.Pod){
	func(rnd *rand.Rand, pod *corev1.Pod) { pod.Spec.HostNetwork = true },
	func(rnd *rand.Rand, pod *corev1.Pod) { pod.Spec.HostPID = true },
	func(rnd *rand.Rand, pod *corev1.Pod) { pod.Spec.HostIPC = true },
	func(rnd *rand.Rand, pod *corev1.Pod) { pod.Spec.HostUsers = new(chance(rnd, 3)) },
	func(rnd *rand.Rand, pod *corev1.Pod) {
		pod.Spec.OS = &corev1.PodOS{Name: oneOf(rnd, corev1.Windows, corev1.Windows, corev1.Linux)}
	},
	func(rnd *rand.Rand, pod *corev1.Pod) {
		pod.Spec.RuntimeClassName = new(oneOf(rnd, "kata", "kata", "gvisor", ""))
	},
	randomAnnotations, randomAnnotations, randomVolume, randomVolume, randomVolume,
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) { ctx.RunAsNonRoot = randomBool(rnd) }),
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) { ctx.RunAsUser = new(int64(rnd.IntN(2))) }),
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) { ctx.SeccompProfile = randomSeccomp(rnd) }),
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) { ctx.AppArmorProfile = randomAppArmor(rnd) }),
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) { ctx.SELinuxOptions = randomSELinux(rnd) }),
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) {
		ctx.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: randomBool(rnd)}
	}),
	inPod(func(rnd *rand.Rand, ctx *corev1.PodSecurityContext) {
		ctx.Sysctls = append(ctx.Sysctls, corev1.Sysctl{Name: oneOf(rnd, "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
			"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
			"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4/tcp_wmem", "a", "")})
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.RunAsNonRoot = randomBool(rnd)
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.RunAsUser = new(int64(rnd.IntN(2)))
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.SeccompProfile = randomSeccomp(rnd)
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.AppArmorProfile = randomAppArmor(rnd)
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.SELinuxOptions = randomSELinux(rnd)
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: randomBool(rnd)}
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.Privileged = randomBool(rnd)
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.AllowPrivilegeEscalation = randomBool(rnd)
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		ctx.ProcMount = new(oneOf(rnd, corev1.DefaultProcMount, corev1.UnmaskedProcMount, "other"))
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, ctx *corev1.SecurityContext) {
		if ctx.Capabilities == nil {
			ctx.Capabilities = &corev1.Capabilities{}
		}
		added := oneOf[corev1.Capability](rnd, "NET_BIND_SERVICE", "CHOWN", "SYS_CHROOT", "NET_RAW", "SYS_ADMIN", "ALL", "chown")
		if chance(rnd, 2) {
			ctx.Capabilities.Drop = []corev1.Capability{oneOf[corev1.Capability](rnd, "ALL", "all", "CHOWN")}
		} else {
			ctx.Capabilities.Add = append(ctx.Capabilities.Add, added)
		}
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, _ *corev1.SecurityContext) {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 80, HostPort: oneOf[int32](rnd, 0, 9, 80, 443, 1000)})
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, _ *corev1.SecurityContext) {
		probe := &corev1.Probe{ProbeHandler: randomHandler(rnd)}
		*oneOf(rnd, &c.LivenessProbe, &c.ReadinessProbe, &c.StartupProbe) = probe
	}),
	inContainer(func(rnd *rand.Rand, c *corev1.Container, _ *corev1.SecurityContext) {
		if c.Lifecycle == nil {
			c.Lifecycle = &corev1.Lifecycle{}
		}
		h := randomHandler(rnd)
		*oneOf(rnd, &c.Lifecycle.PostStart, &c.Lifecycle.PreStop) = &corev1.LifecycleHandler{HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket}
	}),
}

func randomBool(rnd *rand.Rand) *bool { return oneOf(rnd, nil, new(true), new(false)) }

func randomSeccomp(rnd *rand.Rand) *corev1.SeccompProfile {
	return oneOf(rnd, nil, &corev1.SeccompProfile{Type: oneOf(rnd, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined, "")})
}

func randomAppArmor(rnd *rand.Rand) *corev1.AppArmorProfile {
	return &corev1.AppArmorProfile{Type: oneOf(rnd, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined, "")}
}

func randomSELinux(rnd *rand.Rand) *corev1.SELinuxOptions {
	return &corev1.SELinuxOptions{User: oneOf(rnd, "", "", "u"), Role: oneOf(rnd, "", "", "r"), Level: "s0",
		Type: oneOf(rnd, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t", "spc_t")}
}

func randomHandler(rnd *rand.Rand) (h corev1.ProbeHandler) {
	host := oneOf(rnd, "", "10.0.0.1", "localhost")
	switch rnd.IntN(4) {
	case 0:
		h.Exec = &corev1.ExecAction{}
	case 1:
		h.TCPSocket = &corev1.TCPSocketAction{Host: host}
	case 2:
		h.HTTPGet = &corev1.HTTPGetAction{Host: host}
	case 3:
		h.TCPSocket, h.HTTPGet = &corev1.TCPSocketAction{Host: host}, &corev1.HTTPGetAction{Host: "other"}
	}
	return h
}

func randomAnnotations(rnd *rand.Rand, pod *corev1.Pod) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	key := oneOf(rnd, "container.apparmor.security.beta.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/") + oneOf(rnd, "c0", "c1", "i0", "e0", "none", "")
	if chance(rnd, 4) {
		key = "seccomp.security.alpha.kubernetes.io/pod"
	}
	pod.Annotations[key] = oneOf(rnd, "", "runtime/default", "docker/default", "localhost/x", "localhost/", "unconfined", "a \"b\"")
}

func randomVolume(rnd *rand.Rand, pod *corev1.Pod) {
	sources := []corev1.VolumeSource{
		{ConfigMap: &corev1.ConfigMapVolumeSource{}}, {CSI: &corev1.CSIVolumeSource{}}, {DownwardAPI: &corev1.DownwardAPIVolumeSource{}}, {EmptyDir: &corev1.EmptyDirVolumeSource{}},
		{Ephemeral: &corev1.EphemeralVolumeSource{}}, {Image: &corev1.ImageVolumeSource{}}, {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}},
		{Projected: &corev1.ProjectedVolumeSource{}}, {Secret: &corev1.SecretVolumeSource{}}, {HostPath: &corev1.HostPathVolumeSource{}}, {HostPath: &corev1.HostPathVolumeSource{}},
		{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{}}, {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}}, {GitRepo: &corev1.GitRepoVolumeSource{}},
		{NFS: &corev1.NFSVolumeSource{}}, {ISCSI: &corev1.ISCSIVolumeSource{}}, {Glusterfs: &corev1.GlusterfsVolumeSource{}}, {RBD: &corev1.RBDVolumeSource{}},
		{FlexVolume: &corev1.FlexVolumeSource{}}, {Cinder: &corev1.CinderVolumeSource{}}, {CephFS: &corev1.CephFSVolumeSource{}}, {Flocker: &corev1.FlockerVolumeSource{}},
		{FC: &corev1.FCVolumeSource{}}, {AzureFile: &corev1.AzureFileVolumeSource{}}, {VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{}}, {Quobyte: &corev1.QuobyteVolumeSource{}},
		{AzureDisk: &corev1.AzureDiskVolumeSource{}}, {PhotonPersistentDisk: &corev1.PhotonPersistentDiskVolumeSource{}}, {PortworxVolume: &corev1.PortworxVolumeSource{}},
		{ScaleIO: &corev1.ScaleIOVolumeSource{}}, {StorageOS: &corev1.StorageOSVolumeSource{}}, {},
	}
	v := corev1.Volume{Name: fmt.Sprintf("v%d", len(pod.Spec.Volumes)), VolumeSource: sources[rnd.IntN(len(sources))]}
	if chance(rnd, 10) {
		v.HostPath, v.Secret = &corev1.HostPathVolumeSource{}, &corev1.SecretVolumeSource{}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v)
}
