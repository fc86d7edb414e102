package core

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

const othersMessage = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`," +
	"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func TestPodUpdate(t *testing.T) {
	r := resource(t, "pods")
	const base = `"containers":[{"name":"c","image":"i:1"}],"tolerations":[{"key":"k","operator":"Exists"}]`
	for _, tt := range []struct{ name, old, new, want string }{
		{"nothing", base, base, ``},
		{"image", base, `"containers":[{"name":"c","image":"j:1"}],"tolerations":[{"key":"k","operator":"Exists"}]`, ``},
		{"container added", base, `"containers":[{"name":"c","image":"i:1"},{"name":"d","image":"i:1"}]`,
			`spec.containers: Forbidden: pod updates may not add or remove containers`},
		{"deadline set", base, base + `,"activeDeadlineSeconds":100`, ``},
		{"deadline raised", base + `,"activeDeadlineSeconds":100`, base + `,"activeDeadlineSeconds":200`,
			`spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous value`},
		{"deadline removed", base + `,"activeDeadlineSeconds":100`, base,
			`spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value`},
		{"toleration removed", base, `"containers":[{"name":"c","image":"i:1"}]`,
			`spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`},
		{"grace to 1", base + `,"terminationGracePeriodSeconds":-5`, base + `,"terminationGracePeriodSeconds":1`, ``},
		{"gate added", base + `,"schedulingGates":[{"name":"example.com/x"}]`, base + `,"schedulingGates":[{"name":"example.com/y"}]`,
			`spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/y'`},
		{"gate removed, selector added", base + `,"schedulingGates":[{"name":"example.com/x"}]`, base + `,"nodeSelector":{"a":"b"}`, ``},
		{"selector changed while gated", base + `,"nodeSelector":{"a":"b"},"schedulingGates":[{"name":"example.com/x"}]`,
			base + `,"nodeSelector":{"a":"c"},"schedulingGates":[{"name":"example.com/x"}]`,
			`spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)`},
		{"affinity added while gated", base + `,"schedulingGates":[{"name":"example.com/x"}]`,
			base + `,"schedulingGates":[{"name":"example.com/x"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}`, ``},
		{"amount written differently", base + `,"overhead":{"cpu":"1000m"}`, base + `,"overhead":{"cpu":"1"}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := decode[corev1.Pod](t, `{"spec":{`+tt.old+`}}`)
			old.Generation = 3
			pod := decode[corev1.Pod](t, `{"spec":{`+tt.new+`}}`)
			wantErrors(t, update(r, "", pod, old), tt.want)
			if changed := !same(pod.Spec, old.Spec); changed != (pod.Generation == 4) {
				t.Errorf("generation: got %d with changed=%v", pod.Generation, changed)
			}
		})
	}
}

func TestPodUpdateShowsTheDifference(t *testing.T) {
	r := resource(t, "pods")
	old := decode[corev1.Pod](t, `{"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[
		{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}}`)
	pod := scheme.DeepCopy(old)
	pod.Spec.SchedulerName = "other"
	errs := update(r, "", pod, old)
	want := othersMessage + `@@ -68,7 +68,7 @@
  "Subdomain": "",
  "SetHostnameAsFQDN": null,
  "Affinity": null,
- "SchedulerName": "default-scheduler",
+ "SchedulerName": "other",
  "Tolerations": [
   {
    "Key": "node.kubernetes.io/not-ready",
`
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v\nwant %s", errs.ToAggregate(), want)
	}
}

func TestPodStatus(t *testing.T) {
	r := resource(t, "pods")
	base := `"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]},"status":{"qosClass":"BestEffort"`
	ended := `,"containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":1}}}]}`
	for _, tt := range []struct{ name, old, new, want string }{
		{"phase", base + `}`, base + `,"phase":"Dancing"}`, ``},
		{"class", base + `}`, strings.Replace(base, "BestEffort", "Guaranteed", 1) + `}`,
			`status.qosClass: Invalid value: "Guaranteed": field is immutable`},
		{"class left out", base + `}`, strings.Replace(base, `"qosClass":"BestEffort"`, `"phase":"Running"`, 1) + `}`, ``},
		{"ended runs again", base + ended, base + `,"containerStatuses":[{"name":"c","state":{"running":{}}}]}`,
			`status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`},
		{"addresses", base + `}`, base + `,"podIPs":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]}`,
			`status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family`},
		{"both families", base + `}`, base + `,"podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]}`, ``},
		{"no address", base + `}`, base + `,"podIPs":[{"ip":"x"}]}`,
			`status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"nominated", base + `}`, base + `,"nominatedNodeName":"A"}`, `status.nominatedNodeName: Invalid value: "A": ` + subdomain1123},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantErrors(t, update(r, "status", decode[corev1.Pod](t, `{`+tt.new+`}`), decode[corev1.Pod](t, `{`+tt.old+`}`)), tt.want)
		})
	}
	old := decode[corev1.Pod](t, `{`+base+`}}`)
	pod := decode[corev1.Pod](t, `{"spec":{"nodeName":"x","containers":[]},"status":{"phase":"Running"}}`)
	update(r, "status", pod, old)
	if pod.Spec.NodeName != "" || len(pod.Spec.Containers) != 1 {
		t.Errorf("spec through status: got %+v, want the old one", pod.Spec)
	}
}

func TestPodGrace(t *testing.T) {
	ptr := func(v int64) *int64 { return &v }
	for _, tt := range []struct {
		name, pod string
		given     *int64
		want      int64
	}{
		{"unbound", `{"spec":{"terminationGracePeriodSeconds":20}}`, nil, 0},
		{"bound", `{"spec":{"nodeName":"n","terminationGracePeriodSeconds":20}}`, nil, 20},
		{"given", `{"spec":{"nodeName":"n","terminationGracePeriodSeconds":20}}`, ptr(5), 5},
		{"negative", `{"spec":{"nodeName":"n","terminationGracePeriodSeconds":-1}}`, nil, 1},
		{"ended", `{"spec":{"nodeName":"n"},"status":{"phase":"Succeeded"}}`, ptr(5), 0},
	} {
		opts := &meta.DeleteOptions{GracePeriodSeconds: tt.given}
		if !gracePod(decode[corev1.Pod](t, tt.pod), opts) || *opts.GracePeriodSeconds != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, *opts.GracePeriodSeconds, tt.want)
		}
	}
}

func TestPodPrepare(t *testing.T) {
	r := resource(t, "pods")
	pod := decode[corev1.Pod](t, `{"metadata":{"labels":{"a":"b"},"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"localhost/p"}},
		"spec":{"schedulingGates":[{"name":"example.com/x"}],"schedulingGroup":{"podGroupName":"g"},
		"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","labelSelector":{},"matchLabelKeys":["a","none"]}],
		"containers":[{"name":"c","image":"i","lifecycle":{"stopSignal":"SIGTERM"}}]},"status":{"phase":"Running","podIP":"10.0.0.1"}}`)
	if errs := create(r, pod); len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if s := pod.Status; s.Phase != "Pending" || s.PodIP != "" || len(s.Conditions) != 1 || s.Conditions[0].Reason != "SchedulingGated" {
		t.Errorf("status: got %+v, want a fresh one", s)
	}
	if pod.Generation != 1 || pod.Spec.SchedulingGroup != nil || pod.Spec.Containers[0].Lifecycle != nil {
		t.Errorf("got generation %d and %+v, want 1 and no fields of unserved features", pod.Generation, pod.Spec)
	}
	if sc := pod.Spec.Containers[0].SecurityContext; sc == nil || *sc.AppArmorProfile.LocalhostProfile != "p" {
		t.Errorf("security context: got %+v, want the profile of the annotation", sc)
	}
	if e := pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions; len(e) != 1 || e[0].Values[0] != "b" {
		t.Errorf("spread: got %+v, want the pod's own label merged", e)
	}
}

func TestPodWarnings(t *testing.T) {
	pod := decode[corev1.Pod](t, `{"metadata":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"x"}},
		"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},"terminationGracePeriodSeconds":-1,"imagePullSecrets":[{"name":"s"},{"name":"s"}],
		"volumes":[{"name":"g","gitRepo":{"repository":"r"}}],"topologySpreadConstraints":[{"topologyKey":"k"}],
		"containers":[{"name":"c","image":"i","env":[{"name":"A"},{"name":"A"}],"ports":[{"containerPort":80},{"containerPort":80}],
		"resources":{"limits":{"memory":"0.5"}}}]}}`)
	want := []string{
		`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
		`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`,
		`spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`,
		`spec.imagePullSecrets[1]: duplicate name "s"`,
		`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`,
		`spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must be an integer`,
		`spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer`,
		`spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`,
		`spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
		`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`,
	}
	got := PodWarnings(nil, &pod.Spec, &pod.ObjectMeta)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestManyPodWarnings: of a variable that is set without end, as much is told as a client is sent.
func TestManyPodWarnings(t *testing.T) {
	pod := decode[corev1.Pod](t, `{"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	const many = 40_000
	ctr := &pod.Spec.Containers[0]
	for range many {
		ctr.Env = append(ctr.Env, corev1.EnvVar{Name: "A", Value: "b"})
		ctr.Ports = append(ctr.Ports, corev1.ContainerPort{ContainerPort: 80})
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{})
	}
	var got []string
	allocs := testing.AllocsPerRun(1, func() { got = PodWarnings(nil, &pod.Spec, &pod.ObjectMeta) })
	if len(got) > maxPodWarnings || allocs > 50*maxPodWarnings {
		t.Errorf("got %d warnings with %v allocations", len(got), allocs)
	}
	// What is left out would not be sent: warnings of this length fill more than the headers.
	if sum := len(strings.Join(got, "")); sum < 4<<10 {
		t.Errorf("got warnings of %d bytes", sum)
	}
}

func TestUnifiedDiff(t *testing.T) {
	for _, tt := range []struct{ name, a, b, want string }{
		{"equal", "a b c", "a b c", ""},
		{"first line", "a b c d e", "x b c d e", "@@ -1,4 +1,4 @@\n-a\n+x\n b\n c\n d\n"},
		{"last line", "a b c d e", "a b c d x", "@@ -2,4 +2,4 @@\n b\n c\n d\n-e\n+x\n"},
		{"added", "a b", "a x b", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"},
		{"close changes", "1 2 3 4 5 6 7 8 9", "1 x 3 4 5 6 7 y 9", "@@ -1,9 +1,9 @@\n 1\n-2\n+x\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n"},
		{"far changes", "1 2 3 4 5 6 7 8 9 0", "x 2 3 4 5 6 7 8 9 y",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-0\n+y\n"},
	} {
		if got := unifiedDiff(strings.Fields(tt.a), strings.Fields(tt.b)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
