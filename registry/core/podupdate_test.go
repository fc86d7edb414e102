package core

import (
	"encoding/json"
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

// TestPodCreate checks the rules that apply only to new pods.
func TestPodCreate(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"good", `"containers":[{"name":"c","image":"i"}]`, ``},
		{"bound", `"containers":[{"name":"c","image":"i"}],"nodeName":"n"`, ``},
		{"ephemeral containers", `"containers":[{"name":"c","image":"i"}],"ephemeralContainers":[{"name":"c","image":"i"}]`, `
spec.ephemeralContainers[0].name: Duplicate value: "c"
spec.ephemeralContainers: Forbidden: cannot be set on create`},
		{"scheduling", `"containers":[{"name":"c","image":"i"}],"nodeName":"n","schedulingGates":[{"name":"g"}]`,
			`spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checktest.Want(t, create(resource(t, "pods"), checktest.Decode[corev1.Pod](t, `{"spec":{`+tt.spec+`}}`)), tt.want)
		})
	}
}

func TestPodUpdate(t *testing.T) {
	r := resource(t, "pods")
	const base = `"containers":[{"name":"c","image":"i:1"}],"tolerations":[{"key":"k","operator":"Exists"}]`
	const gated, terms = base + `,"schedulingGates":[{"name":"example.com/x"}]`, `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`
	const a, b, f = `{"key":"a","operator":"Exists"}`, `{"key":"b","operator":"Exists"}`, `{"key":"metadata.name","operator":"In","values":["n"]}`
	nodes := func(terms string) string {
		return `,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` + terms + `]}}}`
	}
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
		{"init image", `"initContainers":[{"name":"i","image":"i"}],` + base, `"initContainers":[{"name":"i","image":"j"}],` + base, ``},
		{"init container added", base, base + `,"initContainers":[{"name":"i","image":"i"}]`, `spec.initContainers: Forbidden: pod updates may not add or remove containers`},
		{"image removed", base, `"containers":[{"name":"c","image":""}],"tolerations":[{"key":"k","operator":"Exists"}]`, `
spec.containers[0].image: Required value
spec.containers[0].image: Required value`},
		{"same deadline", base + `,"activeDeadlineSeconds":100`, base + `,"activeDeadlineSeconds":100`, ``},
		{"deadline lowered", base + `,"activeDeadlineSeconds":100`, base + `,"activeDeadlineSeconds":99`, ``},
		{"longest deadline", base, base + `,"activeDeadlineSeconds":2147483647`, ``},
		{"too long a deadline", base, base + `,"activeDeadlineSeconds":2147483648`, `
spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive
spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive`},
		{"longest deadline and no toleration", base, `"containers":[{"name":"c","image":"i:1"}],"activeDeadlineSeconds":2147483647`,
			`spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`},
		{"no time and no toleration", base, `"containers":[{"name":"c","image":"i:1"}],"activeDeadlineSeconds":0`, `
spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive
spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`},
		{"negative deadline", base, base + `,"activeDeadlineSeconds":-1`, `
spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive
spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive`},
		{"toleration added", base, `"containers":[{"name":"c","image":"i:1"}],"tolerations":[{"key":"l","operator":"Exists"},{"key":"k","operator":"Exists"}]`, ``},
		{"toleration's time", `"containers":[{"name":"c","image":"i:1"}],"tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":1}]`,
			`"containers":[{"name":"c","image":"i:1"}],"tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":2}]`, ``},
		{"selector removed while gated", gated + `,"nodeSelector":{"a":"b"}`, gated, `spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)`},
		{"requirement added", gated + nodes(`{"matchExpressions":[`+a+`]}`), gated + nodes(`{"matchExpressions":[`+a+`,`+b+`],"matchFields":[`+f+`]}`), ``},
		{"requirement of a field added", gated + nodes(`{"matchFields":[`+f+`]}`), gated + nodes(`{"matchExpressions":[`+a+`],"matchFields":[`+f+`]}`), ``},
		{"requirement changed", gated + nodes(`{"matchExpressions":[`+a+`]}`), gated + nodes(`{"matchExpressions":[`+b+`]}`), terms + `[0]: Invalid value: {"MatchExpressions":` +
			`[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no mutations or deletions)`},
		{"requirement removed", gated + nodes(`{"matchExpressions":[`+a+`],"matchFields":[`+f+`]}`), gated + nodes(`{"matchExpressions":[`+a+`]}`), terms + `[0]: Invalid value: ` +
			`{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no mutations or deletions)`},
		{"requirement of an empty term", gated + nodes(`{},{}`), gated + nodes(`{"matchExpressions":[`+a+`]},{"matchFields":[`+f+`]}`), `
` + terms + `[0]: Invalid value: {"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no mutations or deletions)
` + terms + `[1]: Invalid value: {"MatchExpressions":null,"MatchFields":[{"Key":"metadata.name","Operator":"In","Values":["n"]}]}: only additions are allowed (no mutations or deletions)`},
		{"term added", gated + nodes(`{}`), gated + nodes(`{},{}`), terms + `: Invalid value: [{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":null,"MatchFields":null}]: ` +
			`no additions/deletions to non-empty NodeSelectorTerms list are allowed`},
		{"terms removed", gated + nodes(`{}`), gated, terms + `: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed`},
		{"preferences changed", gated + `,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{"matchExpressions":[` + a + `]}}]},"podAffinity":{}}`,
			gated + `,"affinity":{"podAffinity":{}}`, ``},
		{"affinity given while gated", gated, gated + `,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}}`, ``},
		{"affinity taken while gated", gated + `,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}]}}`, gated, ``},
		{"amount written differently", base + `,"overhead":{"cpu":"1000m"}`, base + `,"overhead":{"cpu":"1"}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := checktest.Decode[corev1.Pod](t, `{"spec":{`+tt.old+`}}`)
			pod := checktest.Decode[corev1.Pod](t, `{"spec":{`+tt.new+`}}`)
			checktest.Want(t, update(r, "", pod, old), tt.want)
		})
	}
}

// TestPodAnnotations: annotations to which the server gives a meaning cannot change.
func TestPodAnnotations(t *testing.T) {
	const armor, mirror = "container.apparmor.security.beta.kubernetes.io/c", "kubernetes.io/config.mirror"
	for _, tt := range []struct{ old, now, want string }{
		{`"` + armor + `":"unconfined","` + mirror + `":"m","a":"b"`, `"` + armor + `":"unconfined","` + mirror + `":"m","c":"d"`, ``},
		{`"` + armor + `":"unconfined","` + mirror + `":"m"`, `"` + armor + `":"runtime/default","` + mirror + `":"n"`, `
metadata.annotations[` + armor + `]: Forbidden: may not remove or update AppArmor annotations
metadata.annotations[` + mirror + `]: Forbidden: may not remove or update mirror pod annotation`},
		{`"` + armor + `":"unconfined","` + mirror + `":""`, ``, `
metadata.annotations[` + armor + `]: Forbidden: may not remove or update AppArmor annotations
metadata.annotations[` + mirror + `]: Forbidden: may not remove or update mirror pod annotation`},
		{``, `"` + armor + `":"unconfined","` + mirror + `":"m"`, `
metadata.annotations[` + armor + `]: Forbidden: may not add AppArmor annotations
metadata.annotations[` + mirror + `]: Forbidden: may not add mirror pod annotation`},
	} {
		pod := func(annotations string) *corev1.Pod {
			return checktest.Decode[corev1.Pod](t, `{"metadata":{"annotations":{`+annotations+`}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
		}
		checktest.Want(t, update(resource(t, "pods"), "", pod(tt.now), pod(tt.old)), tt.want)
		checktest.Want(t, update(resource(t, "pods"), "status", pod(tt.now), pod(tt.old)), tt.want)
	}
}

func TestPodUpdateShowsTheDifference(t *testing.T) {
	r := resource(t, "pods")
	for _, tt := range []struct{ old, now string }{
		{`"nodeSelector":{"a":"b"}`, `"nodeSelector":{"a":"b","c":"d"}`}, // a pod without a scheduling gate
		{`"terminationGracePeriodSeconds":0`, `"terminationGracePeriodSeconds":1`},
		{`"terminationGracePeriodSeconds":-5`, `"terminationGracePeriodSeconds":2`},
	} {
		const ctr = `,"containers":[{"name":"c","image":"i"}]}}`
		errs := update(r, "", checktest.Decode[corev1.Pod](t, `{"spec":{`+tt.now+ctr), checktest.Decode[corev1.Pod](t, `{"spec":{`+tt.old+ctr))
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), othersMessage) {
			t.Errorf("%s to %s: got %v, want it refused", tt.old, tt.now, errs.ToAggregate())
		}
	}
	old := checktest.Decode[corev1.Pod](t, `{"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[
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
	pod.Spec.InitContainers = []corev1.Container{} // an empty list equals no list
	if errs := update(r, "", pod, old); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("empty list: got %v\nwant %s", errs.ToAggregate(), want)
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
		{"nominated again", base + `,"nominatedNodeName":"A"}`, base + `,"nominatedNodeName":"A"}`, ``},
		{"nominated no more", base + `,"nominatedNodeName":"a"}`, base + `}`, ``},
		{"nominated when bound", `"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]},"status":{"qosClass":"BestEffort"}`, base + `,"nominatedNodeName":"a"}`,
			`status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node`},
		{"generations", base + `}`, base + `,"observedGeneration":-1,"conditions":[{"type":"Ready","observedGeneration":-1},{"type":"a/b"},{"type":"PodScheduled","observedGeneration":0},{"type":"a b"}]}`, `
status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer
status.conditions[3].Type: Invalid value: "a b": ` + qualified + `
status.observedGeneration: Invalid value: -1: must be a non-negative integer`},
		{"goes on", base + `,"containerStatuses":[{"name":"c","state":{"running":{}}}]}`, base + `,"containerStatuses":[{"name":"c","state":{"waiting":{}}}]}`, ``},
		{"stays ended", base + ended, base + ended, ``},
		{"runs again on failure", strings.Replace(base, "Never", "OnFailure", 1) + ended, strings.Replace(base, "Never", "OnFailure", 1) + `,"containerStatuses":[{"name":"c","state":{"running":{}}}]}`, ``},
		{"runs again on success", strings.Replace(strings.Replace(base+ended, "Never", "OnFailure", 1), `"exitCode":1`, `"exitCode":0`, 1), base + `,"containerStatuses":[{"name":"c","state":{"running":{}}}]}`,
			`status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`},
		{"runs by a policy of its own", strings.Replace(base+ended, `"image":"i"`, `"image":"i","restartPolicy":"Always"`, 1), base + `,"containerStatuses":[{"name":"c","state":{"running":{}}}]}`, ``},
		{"runs by rules", strings.Replace(base+ended, `"image":"i"`, `"image":"i","restartPolicy":"Never","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]`, 1), base + `,"containerStatuses":[{"name":"c","state":{"running":{}}}]}`, ``},
		{"ephemeral container runs again", strings.Replace(base+ended, "containerStatuses", "ephemeralContainerStatuses", 1), base + `,"ephemeralContainerStatuses":[{"name":"c","state":{"running":{}}}]}`,
			`status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`},
		{"too many addresses", base + `}`, base + `,"hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"},{"ip":"fd00::2"}]}`,
			`status.hostIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"fd00::1"},{"IP":"fd00::2"}]: may specify no more than one IP for each IP family`},
		{"nominated", base + `}`, base + `,"nominatedNodeName":"A"}`, `status.nominatedNodeName: Invalid value: "A": ` + checktest.Subdomain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checktest.Want(t, update(r, "status", checktest.Decode[corev1.Pod](t, `{`+tt.new+`}`), checktest.Decode[corev1.Pod](t, `{`+tt.old+`}`)), tt.want)
		})
	}
	old := checktest.Decode[corev1.Pod](t, `{`+base+`}}`)
	pod := checktest.Decode[corev1.Pod](t, `{"spec":{"nodeName":"x","containers":[]},"status":{"phase":"Running"}}`)
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
		{"failed", `{"spec":{"nodeName":"n"},"status":{"phase":"Failed"}}`, ptr(5), 0},
		{"at once", `{"spec":{"nodeName":"n"}}`, ptr(0), 0},
	} {
		opts := &meta.DeleteOptions{GracePeriodSeconds: tt.given}
		if !gracePod(checktest.Decode[corev1.Pod](t, tt.pod), opts) || *opts.GracePeriodSeconds != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, *opts.GracePeriodSeconds, tt.want)
		}
	}
}

func TestPodPrepare(t *testing.T) {
	r := resource(t, "pods")
	pod := checktest.Decode[corev1.Pod](t, `{"metadata":{"labels":{"a":"b"},"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"localhost/p"}},
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
	if c := pod.Status.Conditions[0]; c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
		t.Errorf("condition: got %+v, want not to be scheduled", c)
	}
	free := checktest.Decode[corev1.Pod](t, `{"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	if create(r, free); len(free.Status.Conditions) > 0 || free.Status.QOSClass != corev1.PodQOSBestEffort {
		t.Errorf("status of a pod without gates: got %+v", free.Status)
	}
	if e := pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions; len(e) != 1 || e[0].Values[0] != "b" {
		t.Errorf("spread: got %+v, want the pod's own label merged", e)
	}
}

// TestAppArmorFields: old annotations set the AppArmor fields that are not set.
func TestAppArmorFields(t *testing.T) {
	const own = `"securityContext":{"appArmorProfile":{"type":"Unconfined"}}`
	for _, tt := range []struct{ annotation, pod, container, want string }{
		{"unconfined", ``, ``, `{"appArmorProfile":{"type":"Unconfined"}}`},
		{"runtime/default", ``, `,"securityContext":{"privileged":false}`, `{"privileged":false,"appArmorProfile":{"type":"RuntimeDefault"}}`},
		{"localhost/a/b", ``, ``, `{"appArmorProfile":{"type":"Localhost","localhostProfile":"a/b"}}`},
		{"localhost/", ``, ``, `null`},
		{"odd", ``, ``, `null`},
		{"unconfined", own + `,`, ``, `null`}, // the profile of the pod applies to the container
		{"runtime/default", own + `,`, ``, `{"appArmorProfile":{"type":"RuntimeDefault"}}`},
		{"runtime/default", ``, `,` + own, `{"appArmorProfile":{"type":"Unconfined"}}`},
	} {
		pod := checktest.Decode[corev1.Pod](t, `{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"`+tt.annotation+`"}},
			"spec":{`+tt.pod+`"containers":[{"name":"c","image":"i"`+tt.container+`},{"name":"d","image":"i"}]}}`)
		create(resource(t, "pods"), pod)
		if got, err := json.Marshal(pod.Spec.Containers[0].SecurityContext); err != nil || string(got) != tt.want || pod.Spec.Containers[1].SecurityContext != nil {
			t.Errorf("%s: got %s, %v; want %s, and nothing for the other container", tt.annotation, got, err, tt.want)
		}
	}
}

// TestPodWarnings: an update of a pod gives no warnings.
func TestPodWarnings(t *testing.T) {
	r := resource(t, "pods")
	pod := checktest.Decode[corev1.Pod](t, `{"spec":{"containers":[{"name":"c","env":[{"name":"A"},{"name":"A"}]}]}}`)
	if got := r.Strategy.Warnings(pod, nil); len(got) != 1 {
		t.Errorf("warnings of a new pod: got %q, want one", got)
	}
	if got := r.Strategy.Warnings(pod, pod); len(got) > 0 {
		t.Errorf("warnings of a change: got %q, want none", got)
	}
}
