package core

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

const othersMessage = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`," +
	"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

// TestPodCreate: what is said about a pod that comes into being, beside what holds for every pod.
func TestPodCreate(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"good", `"containers":[{"name":"c","image":"i"}]`, ``},
		{"ephemeral containers", `"containers":[{"name":"c","image":"i"}],"ephemeralContainers":[{"name":"c","image":"i"}]`, `
spec.ephemeralContainers[0].name: Duplicate value: "c"
spec.ephemeralContainers: Forbidden: cannot be set on create`},
		{"scheduling", `"containers":[{"name":"c","image":"i"}],"nodeName":"n","schedulingGates":[{"name":"g"}]`,
			`spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checktest.Want(t, create(resource(t, "pods"), decode[corev1.Pod](t, `{"spec":{`+tt.spec+`}}`)), tt.want)
		})
	}
}

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
			pod := decode[corev1.Pod](t, `{"spec":{`+tt.new+`}}`)
			checktest.Want(t, update(r, "", pod, old), tt.want)
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
		{"nominated", base + `}`, base + `,"nominatedNodeName":"A"}`, `status.nominatedNodeName: Invalid value: "A": ` + checktest.Subdomain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checktest.Want(t, update(r, "status", decode[corev1.Pod](t, `{`+tt.new+`}`), decode[corev1.Pod](t, `{`+tt.old+`}`)), tt.want)
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
	if s := pod.Status; s.Phase != "Pending" || s.PodIP != "" || len(s.Conditions) != 1 || s.Conditions[0].Reason != "SchedulingGated" ||
		!s.Conditions[0].LastTransitionTime.Time.Equal(testTime) {
		t.Errorf("status: got %+v, want a fresh one", s)
	}
	if pod.Spec.SchedulingGroup != nil || pod.Spec.Containers[0].Lifecycle != nil {
		t.Errorf("got %+v, want no fields of unserved features", pod.Spec)
	}
	if sc := pod.Spec.Containers[0].SecurityContext; sc == nil || *sc.AppArmorProfile.LocalhostProfile != "p" {
		t.Errorf("security context: got %+v, want the profile of the annotation", sc)
	}
	if e := pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions; len(e) != 1 || e[0].Values[0] != "b" {
		t.Errorf("spread: got %+v, want the pod's own label merged", e)
	}
}
