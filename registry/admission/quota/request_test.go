package quota_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

var surroundings = quota.Surroundings{Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}

// groupResource parses a resource in the form that quotas use, such as deployments.apps.
func groupResource(text string) meta.GroupResource {
	resource, group, _ := strings.Cut(text, ".")
	return meta.GroupResource{Group: group, Resource: resource}
}

// write returns a create, or an update if old is not nil.
func write(resource string, obj meta.Typed, old meta.Object) *admission.Attributes {
	gr := groupResource(resource)
	a := &admission.Attributes{Operation: admission.Create, Namespace: "ns", Name: "x", Object: obj, Old: old,
		Resource: meta.GroupVersionResource{Group: gr.Group, Version: "v1", Resource: gr.Resource}}
	if old != nil {
		a.Operation = admission.Update
	}
	return a
}

func pod(t *testing.T, spec string) *corev1.Pod {
	return checktest.Decode[corev1.Pod](t, fmt.Sprintf(`{"metadata":{"name":"x","namespace":"ns","resourceVersion":"7"},"spec":{%s}}`, spec))
}

// limit returns a quota with amounts "name=hard,used", of which used may be missing. spec is JSON
// for its spec.
func limit(t *testing.T, name, spec string, amounts ...string) *corev1.ResourceQuota {
	q := checktest.Decode[corev1.ResourceQuota](t, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns"},"spec":{%s}}`, name, spec))
	q.Status.Hard, q.Status.Used = corev1.ResourceList{}, corev1.ResourceList{}
	for _, text := range amounts {
		name, text, _ := strings.Cut(text, "=")
		hard, used, known := strings.Cut(text, ",")
		q.Status.Hard[corev1.ResourceName(name)] = meta.MustParse(hard)
		if known {
			q.Status.Used[corev1.ResourceName(name)] = meta.MustParse(used)
		}
	}
	return q
}

// said returns the result of Check as text: the charges as "quota: name=amount", or the error.
func said(charges []quota.Charge, err error) string {
	if err != nil {
		return err.Error()
	}
	var texts []string
	for _, c := range charges {
		for _, x := range c.Amounts {
			texts = append(texts, fmt.Sprintf("%d: %s=%s", c.Quota, x.Name, x.Quantity))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

const small = `"containers":[{"name":"a","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}]`

func TestCheck(t *testing.T) {
	limited, err := quota.Limited([]byte(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"ResourceQuotaConfiguration","limitedResources":[
		{"resource":"pods","matchContains":["requests.cpu","limits.cpu"],"matchScopes":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	big := `"containers":[{"name":"a","resources":{"requests":{"cpu":"3"},"limits":{"cpu":"3"}}}]`
	const terminating = `"scopes":["Terminating"]`
	deadline := `"activeDeadlineSeconds":5,`
	for _, tt := range []struct {
		name    string
		write   *admission.Attributes
		quotas  []*corev1.ResourceQuota
		limited []quota.LimitedResource
		want    string
	}{
		{"room", write("pods", pod(t, small), nil), []*corev1.ResourceQuota{limit(t, "q", "", "pods=2,1", "requests.cpu=2,0", "services=0,0")}, nil,
			"0: pods=1; 0: requests.cpu=1"},
		{"all quotas are charged", write("pods", pod(t, small), nil), []*corev1.ResourceQuota{limit(t, "p", "", "services=1,0"), limit(t, "q", "", "pods=2,1"), limit(t, "r", "", "cpu=2,1")}, nil,
			"1: pods=1; 2: cpu=1"},
		{"no room", write("pods", pod(t, small), nil), []*corev1.ResourceQuota{limit(t, "p", "", "pods=2,1"), limit(t, "q", "", "pods=1,1", "requests.cpu=500m,0", "limits.cpu=5,1")}, nil,
			`pods "x" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1, used: pods=1,requests.cpu=0, limited: pods=1,requests.cpu=500m`},
		{"over the limit already, nothing added", write("services", checktest.Decode[corev1.Service](t, `{"metadata":{"resourceVersion":"7"}}`), checktest.Decode[corev1.Service](t, `{"metadata":{"resourceVersion":"7"}}`)),
			[]*corev1.ResourceQuota{limit(t, "q", "", "services=1,5")}, nil, ""},
		{"not counted yet", write("pods", pod(t, small), nil), []*corev1.ResourceQuota{limit(t, "q", "", "pods=2", "cpu=2,0", "services=1")}, nil,
			`pods "x" is forbidden: status unknown for quota: q, resources: cpu,pods`},
		{"says nothing of memory", write("pods", pod(t, `"initContainers":[{"name":"b"}],`+small), nil), []*corev1.ResourceQuota{limit(t, "q", "", "limits.memory=2,0", "requests.cpu=1,0")}, nil,
			`pods "x" is forbidden: failed quota: q: must specify limits.memory for: a,b; requests.cpu for: b`},
		{"for the pod as a whole", write("pods", pod(t, `"resources":{"requests":{"cpu":"1"}},"containers":[{"name":"a"}]`), nil), []*corev1.ResourceQuota{limit(t, "q", "", "limits.memory=2,0", "requests.cpu=1,0")}, nil,
			`0: requests.cpu=1`},
		{"resize", func() *admission.Attributes {
			a := write("pods", pod(t, big), pod(t, small))
			a.Subresource = "resize"
			return a
		}(), []*corev1.ResourceQuota{limit(t, "q", "", "requests.cpu=9,1", "limits.cpu=9,2", "pods=1,1")}, nil, "0: limits.cpu=1; 0: requests.cpu=2"},
		{"into a scope", write("pods", pod(t, deadline+small), pod(t, small)), []*corev1.ResourceQuota{limit(t, "q", terminating, "pods=1,0"), limit(t, "r", "", "pods=1,1")}, nil,
			"0: pods=1"},
		{"create by update", write("services", checktest.Decode[corev1.Service](t, `{}`), &corev1.Service{}), []*corev1.ResourceQuota{limit(t, "q", "", "services=1,0")}, nil, "0: services=1"},
		{"not covered", write("pods", pod(t, small), nil), []*corev1.ResourceQuota{limit(t, "q", "", "limits.cpu=4,0", "pods=1,0")}, limited,
			`pods "x" is forbidden: insufficient quota to consume: requests.cpu`},
		{"no quota at all", write("pods", pod(t, small), nil), nil, limited, `pods "x" is forbidden: insufficient quota to consume: limits.cpu,requests.cpu`},
		{"covered", write("pods", pod(t, small), nil), []*corev1.ResourceQuota{limit(t, "q", "", "limits.cpu=4,0"), limit(t, "r", "", "requests.cpu=4,0")}, limited, "0: limits.cpu=2; 1: requests.cpu=1"},
		{"scope not covered", write("pods", pod(t, `"priorityClassName":"high",`+small), nil), []*corev1.ResourceQuota{limit(t, "q", "", "limits.cpu=4,0", "requests.cpu=4,0")}, limited,
			"insufficient quota to match these scopes: [{PriorityClass In [high]}]"},
		{"scope covered", write("pods", pod(t, `"priorityClassName":"high",`+small), nil), []*corev1.ResourceQuota{limit(t, "q", `"scopes":["PriorityClass"]`, "limits.cpu=4,0", "requests.cpu=4,0")}, limited,
			"0: limits.cpu=2; 0: requests.cpu=1"},
		{"scope with values that no label has", write("pods", pod(t, `"priorityClassName":"high",`+small), nil),
			[]*corev1.ResourceQuota{limit(t, "q", `"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Like"}]}`, "pods=4,0")}, nil,
			`error matching scopes of quota q, err: error on matching scope {PriorityClass Like []}: failed to parse and convert selector: "Like" is not a valid scope selector operator`},
		{"a custom resource", write("widgets.example.com", &corev1.ConfigMap{}, nil), []*corev1.ResourceQuota{limit(t, "q", "", "count/widgets.example.com=0,0", "count/widgets=0,0")}, nil,
			`widgets.example.com "x" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=0, limited: count/widgets.example.com=0`},
		{"a count by its older name", write("secrets", &corev1.Secret{}, nil), []*corev1.ResourceQuota{limit(t, "q", "", "count/secrets=1,0", "secrets=1,0")}, nil, "0: count/secrets=1; 0: secrets=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !quota.Handles(tt.write) {
				t.Fatal("Handles: got false")
			}
			r := quota.Measure(tt.write, surroundings)
			for range 2 { // a second Check, as after a conflict, gives the same result
				if got := said(r.Check(tt.quotas, tt.limited)); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			}
		})
	}
}

// TestCheckInTurn charges several writes to the same copy of a quota, and gives one of them back.
func TestCheckInTurn(t *testing.T) {
	q := limit(t, "q", "", "pods=2,0", "requests.cpu=5,0")
	r := quota.Measure(write("pods", pod(t, small), nil), surroundings)
	var charges []quota.Charge
	for i, want := range []string{"", "", `pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`} {
		more, err := r.Check([]*corev1.ResourceQuota{q}, nil)
		if got := said(nil, err); got != want {
			t.Fatalf("write %d: got %s, want %s", i, got, want)
		}
		for _, c := range more {
			c.Amounts.AddTo(q.Status.Used)
		}
		charges = append(charges, more...)
	}
	charges[0].Amounts.TakeFrom(q.Status.Used)
	if got, want := q.Status.Used, limit(t, "", "", "pods=2,1", "requests.cpu=5,1").Status.Used; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	delete(q.Status.Used, corev1.ResourceRequestsCPU)
	q.Status.Used[corev1.ResourcePods] = meta.MustParse("0") // a recount has lowered the usage
	charges[1].Amounts.TakeFrom(q.Status.Used)
	if got := q.Status.Used; len(got) != 1 || got[corev1.ResourcePods].Sign() != 0 {
		t.Errorf("refunded more than was used: %v", got)
	}
}

func TestHandles(t *testing.T) {
	with := func(a *admission.Attributes, change func(*admission.Attributes)) *admission.Attributes {
		change(a)
		return a
	}
	sub := func(name string) func(*admission.Attributes) {
		return func(a *admission.Attributes) { a.Subresource = name }
	}
	service, claim := &corev1.Service{}, &corev1.PersistentVolumeClaim{}
	for _, tt := range []struct {
		name  string
		write *admission.Attributes
		want  bool
	}{
		{"pod", write("pods", pod(t, small), nil), true},
		{"update of a pod", write("pods", pod(t, small), pod(t, small)), false},
		{"binding", with(write("pods", &corev1.Binding{}, nil), sub("binding")), false},
		{"status of a pod", with(write("pods", pod(t, small), pod(t, small)), sub("status")), false},
		{"update of a service", write("services", service, service), true},
		{"status of a claim", with(write("persistentvolumeclaims", claim, claim), sub("status")), true},
		{"update of a config map", write("configmaps", &corev1.ConfigMap{}, &corev1.ConfigMap{}), false},
		{"event", write("events", &corev1.Event{}, nil), false},
		{"event of the newer group", write("events.events.k8s.io", &corev1.Event{}, nil), false},
		{"namespace", with(write("namespaces", &corev1.Namespace{}, nil), func(a *admission.Attributes) { a.Namespace = "x" }), false},
		{"in no namespace", with(write("nodes", &corev1.Node{}, nil), func(a *admission.Attributes) { a.Namespace = "" }), false},
		{"deletion", with(write("pods", nil, pod(t, small)), func(a *admission.Attributes) { a.Operation = admission.Delete }), false},
	} {
		if got := quota.Handles(tt.write); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestSources compares Sources with Tracks: a name counts objects of its sources, and of no other
// resource.
func TestSources(t *testing.T) {
	gpu := "example.com/gpu"
	classes := []*resourcev1.DeviceClass{{ObjectMeta: meta.ObjectMeta{Name: "c"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &gpu}}}
	resources := []string{"pods", "services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io", "secrets", "configmaps", "replicationcontrollers", "resourcequotas", "deployments.apps", "events"}
	for name, want := range map[corev1.ResourceName]string{
		"pods": "pods", "limits.cpu": "pods", "count/pods": "pods", "hugepages-2Mi": "pods", "requests.hugepages-2Mi": "pods",
		"requests.example.com/gpu": "pods resourceclaims.resource.k8s.io", "requests.deviceclass.resource.kubernetes.io/c": "pods resourceclaims.resource.k8s.io",
		"c.deviceclass.resource.k8s.io/devices": "resourceclaims.resource.k8s.io", "services.nodeports": "services", "count/services": "services",
		"requests.storage": "persistentvolumeclaims", "gold.storageclass.storage.k8s.io/requests.storage": "persistentvolumeclaims", "secrets": "secrets",
		"count/secrets": "secrets", "replicationcontrollers": "replicationcontrollers", "resourcequotas": "resourcequotas", "count/deployments.apps": "deployments.apps",
		"count/events": "", "count/": "", "storage": "", "example.com/gpu": "", "count/deployments.": "",
	} {
		var got []string
		for _, gr := range quota.Sources(name) {
			got = append(got, gr.String())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("Sources(%s): got %q, want %q", name, text, want)
		}
		for _, resource := range resources {
			gr := groupResource(resource)
			if tracks := quota.Tracks(gr, name, classes); !quota.Ignored(gr) && tracks != slices.Contains(got, resource) {
				t.Errorf("Tracks(%s, %s): got %t", resource, name, tracks)
			}
		}
	}
}

func TestLimited(t *testing.T) {
	if got, err := quota.Limited(nil); got != nil || err != nil {
		t.Errorf("no configuration: got %v, %v", got, err)
	}
	const head = "apiVersion: resourcequota.admission.k8s.io/v1beta1\nkind: Configuration\n"
	for _, tt := range []struct{ text, want string }{
		{head, ""},
		{head + "limitedResources:\n- resource: pods\n- apiGroup: apps\n", "limitedResources[1].resource: Required value"},
		{head + "limitedResources:\n- resources: pods\n", `strict decoding error: unknown field "limitedResources[0].resources"`},
		{"apiVersion: apiserver.config.k8s.io/v1\nkind: Configuration\n",
			`no kind "Configuration" is registered for version "apiserver.config.k8s.io/v1": want ResourceQuotaConfiguration of apiserver.config.k8s.io/v1`},
	} {
		got := ""
		if _, err := quota.Limited([]byte(tt.text)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// TestAllocations bounds the allocations of a write that no quota counts, and of one that is
// charged to a quota with three limits.
func TestAllocations(t *testing.T) {
	create, widget := write("pods", pod(t, small), nil), write("widgets.example.com", &corev1.ConfigMap{}, nil)
	quotas := []*corev1.ResourceQuota{limit(t, "q", "", "pods=2,1", "requests.cpu=20,3", "limits.cpu=20,3")}
	for _, tt := range []struct {
		name string
		f    func()
		most float64
	}{
		{"Handles", func() { quota.Handles(create); quota.Handles(widget) }, 0},
		{"a pod", func() { _, _ = quota.Measure(create, surroundings).Check(quotas, nil) }, 8},
		{"a widget", func() { _, _ = quota.Measure(widget, surroundings).Check(quotas, nil) }, 4},
	} {
		if got := testing.AllocsPerRun(100, tt.f); got > tt.most {
			t.Errorf("%s: got %v allocations, want %v at most", tt.name, got, tt.most)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	t := &testing.T{}
	create := write("pods", pod(t, small), nil)
	for name, quotas := range map[string][]*corev1.ResourceQuota{
		"limits=3": {limit(t, "q", "", "pods=2,1", "requests.cpu=20,3", "limits.cpu=20,3")},
		"limits=6": {limit(t, "q", `"scopes":["NotBestEffort"]`, "pods=2,1", "cpu=20,3", "requests.cpu=20,3", "limits.cpu=20,3", "services=1,0", "secrets=1,0")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := quota.Measure(create, surroundings).Check(quotas, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
