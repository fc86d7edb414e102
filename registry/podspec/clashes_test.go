package podspec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// TestClashWarnings checks the warnings about ports of all containers, files of a volume, and
// addresses that are not in canonical form.
func TestClashWarnings(t *testing.T) {
	const soft = "preferredDuringSchedulingIgnoredDuringExecution"
	for _, tt := range []struct{ spec, want string }{
		{`"initContainers":[{"name":"i","ports":[{"name":"web","containerPort":80,"protocol":"TCP"}]}],
			"containers":[{"name":"c","ports":[{"containerPort":80,"protocol":"UDP"},{"containerPort":80,"protocol":"TCP","hostPort":8080}]},
			{"name":"d","ports":[{"name":"web","containerPort":80,"protocol":"TCP","hostPort":8080,"hostIP":"10.0.0.1"},{"containerPort":80,"protocol":"TCP","hostPort":8080,"hostIP":"10.0.0.2"}]}]`, `
spec.containers[0].ports[1]: overlapping port definition with spec.initContainers[0].ports[0]
spec.containers[1].ports[0]: overlapping port definition with spec.initContainers[0].ports[0]
spec.containers[1].ports[0]: dangerously ambiguous port definition with spec.containers[0].ports[1]
spec.containers[1].ports[1]: overlapping port definition with spec.initContainers[0].ports[0]
spec.containers[1].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[1]
spec.containers[1].ports[0]: duplicate port name "web" with spec.initContainers[0].ports[0], services and probes that select ports by name will use spec.initContainers[0].ports[0]`},
		{`"containers":[{"name":"c","ports":[{"name":"a","containerPort":1,"protocol":"TCP","hostIP":"10.0.0.1"},{"containerPort":1,"protocol":"TCP","hostIP":"10.0.0.1"}]}]`, `
spec.containers[0].ports[0]: hostIP set without hostPort: {Name:a HostPort:0 ContainerPort:1 Protocol:TCP HostIP:10.0.0.1}
spec.containers[0].ports[1]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:1 Protocol:TCP HostIP:10.0.0.1}
spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`},
		{`"volumes":[{"name":"a","configMap":{"name":"m","items":[{"key":"a","path":"p/q"},{"key":"b","path":"p"},{"key":"c","path":"pq"},{"key":"d","path":"p/q/"}]}},
			{"name":"b","secret":{"secretName":"s","items":[{"key":"a","path":"x"},{"key":"b","path":"x"}]}},
			{"name":"c","downwardAPI":{"items":[{"path":"x/y"},{"path":"x/y/z"}]}},{"name":"d","secret":{"secretName":"s"}}]`, `
volume "a" (ConfigMap "m"): overlapping paths: "p" with "p/q"
volume "a" (ConfigMap "m"): overlapping paths: "p/q" with "p/q"
volume "a" (ConfigMap "m"): overlapping paths: "p/q" with "p"
volume "b" (Secret "s"): overlapping paths: "x" with "x"
volume "c" (DownwardAPI): overlapping paths: "x/y/z" with "x/y"`},
		{`"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"m","items":[{"key":"a","path":"x"}]}},{"secret":{"name":"s","items":[{"key":"a","path":"x/y"}]}},
			{"downwardAPI":{"items":[{"path":"x"}]}},{"serviceAccountToken":{"path":"t"}},{"clusterTrustBundle":{"name":"b","path":"t"}},{"clusterTrustBundle":{"signerName":"a/b","path":"u"}},
			{"podCertificate":{"keyPath":"u","certificateChainPath":"u","credentialBundlePath":"o"}},{"clusterTrustBundle":{"path":"x"}},{}]}}]`, `
volume "v" (Projected) has no sources provided
volume "v" (Projected): overlapping paths: "x/y" (Secret "s") with "x" (ConfigMap "m")
volume "v" (Projected): overlapping paths: "x" (DownwardAPI) with "x" (ConfigMap "m")
volume "v" (Projected): overlapping paths: "x" (DownwardAPI) with "x/y" (Secret "s")
volume "v" (Projected): overlapping paths: "t" (ClusterTrustBundle "b") with "t" (ServiceAccountToken)
volume "v" (Projected): overlapping paths: "u" (PodCertificate chain) with "u" (ClusterTrustBundle "a/b")
volume "v" (Projected): overlapping paths: "u" (PodCertificate key) with "u" (ClusterTrustBundle "a/b")
volume "v" (Projected): overlapping paths: "u" (PodCertificate key) with "u" (PodCertificate chain)`},
		{`"dnsConfig":{"nameservers":["10.0.0.1","010.0.0.1","FD00::1"]},"hostAliases":[{"ip":"::ffff:10.0.0.1"},{"ip":"fd00::1"}]`, `
spec.dnsConfig.nameservers[1]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"
spec.dnsConfig.nameservers[2]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")
spec.hostAliases[0].ip: non-standard IP address "::ffff:10.0.0.1" is invalid: use "10.0.0.1"`},
		{`"nodeSelector":{"app.kubernetes.io/created-by":"x","node-role.kubernetes.io/master":"","scheduler.alpha.kubernetes.io/preferAvoidPods":"x"},
			"affinity":{"nodeAffinity":{"` + soft + `":[{"preference":{"matchExpressions":[{"key":"k","values":["ok","a b"]}]}}]}}`, `
spec.nodeSelector[app.kubernetes.io/created-by]: deprecated since v1.9
spec.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead
spec.nodeSelector[scheduler.alpha.kubernetes.io/preferAvoidPods]: deprecated since v1.22; use Taints and Tolerations instead
spec.affinity.nodeAffinity.` + soft + `[0].preference.matchExpressions[0].values[1]: a b is invalid, a valid label must be an empty string or consist of ` +
			`alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
			`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
	} {
		pod := new(corev1.Pod)
		if err := json.Unmarshal([]byte(`{"spec":{`+tt.spec+`}}`), pod); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Warnings(nil, &pod.Spec, &pod.ObjectMeta), "\n"); got != strings.TrimSpace(tt.want) {
			t.Errorf("warnings of %s:\ngot  %s\nwant %s", tt.spec, got, tt.want)
		}
	}
}

// TestProfileWarnings checks that an annotation leads to a warning unless the field that replaced
// it has the same value.
func TestProfileWarnings(t *testing.T) {
	const seccomp, appArmor = "seccomp.security.alpha.kubernetes.io/pod", "container.apparmor.security.beta.kubernetes.io/c"
	const seccompOfC = "container.seccomp.security.alpha.kubernetes.io/c"
	for _, tt := range []struct{ security, own, want string }{
		{`{}`, `{}`, seccomp + " " + seccompOfC + " " + appArmor},
		{`{"seccompProfile":{"type":"Unconfined"}}`, `{"seccompProfile":{"type":"Unconfined"}}`, appArmor},
		{`{"appArmorProfile":{"type":"RuntimeDefault"}}`, `{}`, seccomp + " " + seccompOfC},
		{`{"appArmorProfile":{"type":"Unconfined"}}`, `{}`, seccomp + " " + seccompOfC + " " + appArmor},
		{`{"appArmorProfile":{"type":"Unconfined"}}`, `{"appArmorProfile":{"type":"Unconfined"}}`, seccomp + " " + seccompOfC},
	} {
		pod := decode(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:"x",%q:"x",%q:"runtime/default"}},
			"spec":{"securityContext":%s,"containers":[{"name":"c","image":"i","securityContext":%s}]}}`, seccomp, seccompOfC, appArmor, tt.security, tt.own))
		var got []string
		for _, w := range Warnings(field.NewPath("spec", "template"), &pod.Spec, &pod.ObjectMeta) {
			key, _, _ := strings.Cut(strings.TrimPrefix(w, "spec.template.metadata.annotations["), "]")
			got = append(got, key)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s, %s: got warnings of %q, want of %s", tt.security, tt.own, got, tt.want)
		}
	}
}

// TestManyClashes checks a pod with a hundred thousand ports and files, in too little time for a
// comparison of all pairs.
func TestManyClashes(t *testing.T) {
	pod := decode(t, `{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","configMap":{"name":"m"}}]}}`)
	const many = 100_000
	for i := range int32(many) {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: 80, HostPort: i + 1})
		items := &pod.Spec.Volumes[0].ConfigMap.Items
		*items = append(*items, corev1.KeyToPath{Path: fmt.Sprint("p", i)})
	}
	if got := Warnings(nil, &pod.Spec, &pod.ObjectMeta); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
