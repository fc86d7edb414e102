package podsecurity_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/admission/podsecurity"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// strict returns a pod with two containers that meets all levels.
func strict() *corev1.Pod {
	ctx := func() *corev1.SecurityContext {
		return &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return &corev1.Pod{Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers: []corev1.Container{{Name: "a", SecurityContext: ctx()}},
		Containers:     []corev1.Container{{Name: "b", SecurityContext: ctx()}},
	}}
}

func level(text string, version podsecurity.Version) podsecurity.LevelVersion {
	return podsecurity.LevelVersion{Level: podsecurity.Level(text), Version: version}
}

const latest = podsecurity.Latest

// TestChecks changes one thing of a strict pod, and evaluates the pod by the level that forbids it.
func TestChecks(t *testing.T) {
	first := func(f func(c *corev1.Container, ctx *corev1.SecurityContext)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { f(&p.Spec.InitContainers[0], p.Spec.InitContainers[0].SecurityContext) }
	}
	both := func(f func(c *corev1.Container, ctx *corev1.SecurityContext)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			f(&p.Spec.InitContainers[0], p.Spec.InitContainers[0].SecurityContext)
			f(&p.Spec.Containers[0], p.Spec.Containers[0].SecurityContext)
		}
	}
	type (
		container = *corev1.Container
		security  = *corev1.SecurityContext
	)
	for _, tt := range []struct {
		by     podsecurity.LevelVersion
		change func(*corev1.Pod)
		want   string
	}{
		{level("restricted", latest), func(*corev1.Pod) {}, ""},
		{level("restricted", 0), func(*corev1.Pod) {}, ""},
		{level("privileged", latest), func(p *corev1.Pod) { p.Spec.HostPID = true }, ""},
		{level("baseline", latest), func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.HostPID, p.Spec.HostIPC = true, true, true },
			`host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)`},
		{level("baseline", latest), func(p *corev1.Pod) {
			p.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/b": "unconfined", "container.apparmor.security.beta.kubernetes.io/a": "localhost/x"}
			p.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: "Unconfined"}
		}, `forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to "Unconfined", "container.apparmor.security.beta.kubernetes.io/b="unconfined"")`},
		{level("baseline", latest), both(func(_ container, ctx security) { ctx.AppArmorProfile = &corev1.AppArmorProfile{} }),
			`forbidden AppArmor profile (containers "a", "b" must not set AppArmor profile type to "")`},
		{level("baseline", latest), both(func(_ container, ctx security) {
			ctx.Capabilities.Add = []corev1.Capability{"SYS_TIME", "CHOWN", "NET_RAW"}
		}),
			`non-default capabilities (containers "a", "b" must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add)`},
		{level("restricted", latest), func(p *corev1.Pod) {
			p.Spec.InitContainers[0].SecurityContext.Capabilities = nil
			p.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"CHOWN", "NET_BIND_SERVICE"}
		}, `unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "b" must not include "CHOWN" in securityContext.capabilities.add)`},
		{level("baseline", 21), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}}
		},
			`hostPath volumes (volume "v")`},
		{level("restricted", latest), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}, {Name: "n", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}},
				{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}}, {Name: "x"},
			}
		}, `restricted volume types (volumes "v", "n", "x" use restricted volume types "hostPath", "nfs", "unknown")`},
		{level("baseline", latest), both(func(c container, _ security) { c.Ports = []corev1.ContainerPort{{HostPort: 443}, {}, {HostPort: 80}} }),
			`hostPort (containers "a", "b" use hostPorts 443, 80)`},
		{level("baseline", latest), first(func(c container, _ security) {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "h"}}}
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Host: "g"}}}
		}), `probe or lifecycle host (container "a" uses probe or lifecycle hosts "g", "h")`},
		{level("baseline", 33), first(func(c container, _ security) {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "h"}}}
		}), ""},
		{level("baseline", latest), both(func(_ container, ctx security) { ctx.Privileged = new(true) }),
			`privileged (containers "a", "b" must not set securityContext.privileged=true)`},
		{level("restricted", 24), first(func(_ container, ctx security) { ctx.AllowPrivilegeEscalation = nil }),
			`allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)`},
		{level("restricted", 7), first(func(_ container, ctx security) { ctx.AllowPrivilegeEscalation = nil }), ""},
		{level("baseline", 34), func(p *corev1.Pod) {
			p.Spec.HostUsers = new(false)
			p.Spec.Containers[0].SecurityContext.ProcMount = new(corev1.ProcMountType("Unmasked"))
		}, `procMount (container "b" must not set securityContext.procMount to "Unmasked")`},
		{level("baseline", 35), func(p *corev1.Pod) {
			p.Spec.HostUsers = new(false)
			p.Spec.Containers[0].SecurityContext.ProcMount = new(corev1.ProcMountType("Unmasked"))
		}, ""},
		{level("restricted", latest), func(p *corev1.Pod) {
			p.Spec.HostUsers = new(false)
			p.Spec.SecurityContext.RunAsNonRoot, p.Spec.SecurityContext.RunAsUser = new(false), new(int64)
			p.Spec.Containers[0].SecurityContext.ProcMount = new(corev1.ProcMountType("Unmasked"))
		}, `procMount (container "b" must not set securityContext.procMount to "Unmasked")`},
		{level("baseline", 30), func(p *corev1.Pod) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "container_engine_t", Role: "r"}
			p.Spec.Containers[0].SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{User: "u"}
		}, `seLinuxOptions (pod and container "b" set forbidden securityContext.seLinuxOptions: type "container_engine_t"; user may not be set; role may not be set)`},
		{level("baseline", 31), func(p *corev1.Pod) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "container_engine_t"}
		}, ""},
		{level("restricted", 18), func(p *corev1.Pod) {
			p.Annotations = map[string]string{"seccomp.security.alpha.kubernetes.io/pod": "unconfined", "container.seccomp.security.alpha.kubernetes.io/b": "x",
				"container.seccomp.security.alpha.kubernetes.io/a": "docker/default", "container.seccomp.security.alpha.kubernetes.io/none": "x"}
		}, `seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/b="x", seccomp.security.alpha.kubernetes.io/pod="unconfined")`},
		{level("baseline", 19), func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile.Type = "Unconfined" },
			`seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")`},
		{level("restricted", 25), func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile = nil },
			`seccompProfile (pod or containers "a", "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`},
		{level("baseline", latest), func(p *corev1.Pod) { p.Spec.SecurityContext.SeccompProfile = nil }, ""},
		{level("baseline", 28), func(p *corev1.Pod) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.tcp_rmem"}, {Name: "net.ipv4.ip_local_reserved_ports"}, {Name: "a"}}
		}, `forbidden sysctls (net.ipv4.tcp_rmem, a)`},
		{level("baseline", 99), func(p *corev1.Pod) { p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.tcp_rmem"}} }, ""},
		{level("baseline", latest), func(p *corev1.Pod) {
			p.Spec.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: new(true)}
			p.Spec.Containers[0].SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: new(true)}
		}, `hostProcess (pod and container "b" must not set securityContext.windowsOptions.hostProcess=true)`},
		{level("restricted", latest), func(p *corev1.Pod) {
			p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
			p.Spec.SecurityContext.SeccompProfile, p.Spec.Containers[0].SecurityContext, p.Spec.InitContainers[0].SecurityContext = nil, nil, nil
		}, ""},
		{level("restricted", latest), func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsNonRoot = nil },
			`runAsNonRoot != true (pod or containers "a", "b" must set securityContext.runAsNonRoot=true)`},
		{level("restricted", latest), func(p *corev1.Pod) {
			p.Spec.SecurityContext.RunAsNonRoot = new(false)
			p.Spec.Containers[0].SecurityContext.RunAsNonRoot = new(false)
		}, `runAsNonRoot != true (pod and container "b" must not set securityContext.runAsNonRoot=false)`},
		{level("restricted", 23), func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = new(int64) }, `runAsUser=0 (pod must not set runAsUser=0)`},
		{level("restricted", 22), func(p *corev1.Pod) { p.Spec.SecurityContext.RunAsUser = new(int64) }, ""},
		{level("restricted", latest), func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e"}}}
			p.Spec.HostPID = true
		}, `host namespaces (hostPID=true), allowPrivilegeEscalation != false (container "e" must set securityContext.allowPrivilegeEscalation=false), ` +
			`unrestricted capabilities (container "e" must set securityContext.capabilities.drop=["ALL"])`},
	} {
		pod := strict()
		tt.change(pod)
		if got := podsecurity.Evaluate(tt.by, &pod.ObjectMeta, &pod.Spec); got.String() != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.by, got, tt.want)
		}
	}
}

// TestPolicyOf reads policies from labels.
func TestPolicyOf(t *testing.T) {
	all := func(lv podsecurity.LevelVersion) podsecurity.Policy {
		return podsecurity.Policy{Enforce: lv, Audit: lv, Warn: lv}
	}
	defaults := all(level("privileged", latest))
	for _, tt := range []struct {
		labels   map[string]string
		defaults podsecurity.Policy
		want     podsecurity.Policy
		errs     string
	}{
		{nil, defaults, defaults, ""},
		{map[string]string{podsecurity.EnforceLabel: "baseline", podsecurity.EnforceVersionLabel: "v1.30"}, defaults,
			podsecurity.Policy{Enforce: level("baseline", 30), Audit: level("privileged", latest), Warn: level("baseline", 30)}, ""},
		{map[string]string{podsecurity.EnforceLabel: "baseline", podsecurity.EnforceVersionLabel: "v1.30", podsecurity.WarnVersionLabel: "v1.0"}, defaults,
			podsecurity.Policy{Enforce: level("baseline", 30), Audit: level("privileged", latest), Warn: level("baseline", 0)}, ""},
		{map[string]string{podsecurity.EnforceLabel: "baseline"}, all(level("restricted", 7)),
			podsecurity.Policy{Enforce: level("baseline", 7), Audit: level("restricted", 7), Warn: level("restricted", 7)}, ""},
		{map[string]string{podsecurity.EnforceLabel: "restricted", podsecurity.WarnLabel: "privileged", podsecurity.AuditLabel: "baseline", podsecurity.AuditVersionLabel: "latest"},
			defaults, podsecurity.Policy{Enforce: level("restricted", latest), Audit: level("baseline", latest), Warn: level("privileged", latest)}, ""},
		{map[string]string{podsecurity.EnforceLabel: "none", podsecurity.AuditLabel: "", podsecurity.WarnLabel: "none", podsecurity.WarnVersionLabel: "v1.01"}, defaults,
			podsecurity.Policy{Enforce: level("restricted", latest), Audit: level("privileged", latest), Warn: level("privileged", latest)},
			`[metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "none": must be one of privileged, baseline, restricted, ` +
				`metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: "": must be one of privileged, baseline, restricted, ` +
				`metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "none": must be one of privileged, baseline, restricted, ` +
				`metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "v1.01": must be "latest" or "v1.x"]`},
	} {
		got, errs := podsecurity.PolicyOf(meta.Set(tt.labels), tt.defaults)
		text := ""
		if err := errs.ToAggregate(); err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.errs {
			t.Errorf("%v:\n got %v %s\nwant %v %s", tt.labels, got, text, tt.want, tt.errs)
		}
	}
	if n := testing.AllocsPerRun(100, func() { podsecurity.PolicyOf(meta.Set(nil), defaults) }); n > 0 {
		t.Errorf("PolicyOf allocates %v times without labels", n)
	}
	pod := strict()
	if n := testing.AllocsPerRun(100, func() { podsecurity.Evaluate(level("restricted", latest), &pod.ObjectMeta, &pod.Spec) }); n > 1 {
		t.Errorf("Evaluate allocates %v times for a pod without violations, want once", n)
	}
}

// TestParseVersion parses valid and invalid versions.
func TestParseVersion(t *testing.T) {
	for text, want := range map[string]podsecurity.Version{"latest": latest, "v1.0": 0, "v1.7": 7, "v1.120": 120} {
		if got, err := podsecurity.ParseVersion(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "v1", "v1.", "v1.00", "v1.01", "v1.-1", "v1.+1", "v1.1 ", "v2.1", "1.1", "Latest", "v1.99999999999999999999"} {
		if got, err := podsecurity.ParseVersion(text); got != latest || err == nil || err.Error() != `must be "latest" or "v1.x"` {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}
