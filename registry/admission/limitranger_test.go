package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// limitRangeLister lists limit ranges, from a cache or from the store, and notes with which
// freshness each read was.
type limitRangeLister struct {
	cached, stored       []*corev1.LimitRange
	cacheFails, askFails error
	reads                []request.Freshness
}

func (b *limitRangeLister) list(_ context.Context, _ string, fresh request.Freshness) ([]*corev1.LimitRange, error) {
	b.reads = append(b.reads, fresh)
	if fresh == request.Cached {
		return b.cached, b.cacheFails
	}
	return b.stored, b.askFails
}

// limitRanges returns limit ranges, each from the JSON of its items without the brackets around
// them.
func limitRanges(t testing.TB, items ...string) (list []*corev1.LimitRange) {
	t.Helper()
	for i, text := range items {
		list = append(list, &corev1.LimitRange{ObjectMeta: meta.ObjectMeta{Name: fmt.Sprint("r", i)}})
		parseLimits(t, `{"limits":[`+text+`]}`, &list[i].Spec)
	}
	return list
}

func parseLimits(t testing.TB, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// limitedPod makes a pod from the JSON of its spec.
func limitedPod(t testing.TB, spec string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p", Namespace: "ns"}}
	parseLimits(t, spec, &pod.Spec)
	return pod
}

// podWrite describes the create of a pod, or its resize if there is an old one.
func podWrite(pod, old *corev1.Pod) *admission.Attributes {
	a := podAttributes(admission.Create, pod, nil)
	a.Namespace, a.Name = "ns", "p"
	if old != nil {
		a.Operation, a.Subresource, a.Old = admission.Update, "resize", old
	}
	return a
}

// TestLimitRangerDefaults completes pods, and leaves other writes alone.
func TestLimitRangerDefaults(t *testing.T) {
	const (
		defaults = `{"type":"Container","default":{"cpu":"1","memory":"1Gi"},"defaultRequest":{"cpu":"100m","a.b/c":"1"}}`
		onlyCPU  = `{"type":"Container","defaultRequest":{"cpu":"7","memory":"7"}}`
		set      = "LimitRanger plugin set: "
		all      = "a.b/c, cpu request for "
	)
	const plain, whole = `{"containers":[{"name":"c"}]}`,
		`{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"a.b/c":"1","cpu":"100m"}}`
	for _, tt := range []struct {
		name, spec, ranges string
		change             func(*admission.Attributes)
		want, note         string // the resources of all containers, and the annotation
	}{
		{"all", plain, defaults, nil, whole, set + all + "container c; cpu, memory limit for container c"},
		{"none lacking", `{"containers":[{"name":"c","resources":` + whole + `}]}`, defaults, nil, whole, ""},
		{"zero is given", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"0","memory":"0"},"requests":{"cpu":"0"}}}]}`, defaults, nil,
			`{"limits":{"cpu":"0","memory":"0"},"requests":{"a.b/c":"1","cpu":"0"}}`, set + "a.b/c request for container c"},
		{"init containers", `{"containers":[{"name":"c","resources":` + whole + `}],"initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}]}`,
			defaults, nil, whole + whole + whole, set + all + "init container i; cpu, memory limit for init container i; " +
				all + "init container s; cpu, memory limit for init container s"},
		{"the first range counts, and the last one is noted", plain, onlyCPU + "|" + defaults, nil,
			`{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"a.b/c":"1","cpu":"7","memory":"7"}}`,
			set + "a.b/c request for container c; cpu, memory limit for container c"},
		{"the last range has nothing to add", plain, onlyCPU + "|" + onlyCPU, nil, `{"requests":{"cpu":"7","memory":"7"}}`,
			set + "cpu, memory request for container c"},
		{"of pods and claims", plain, `{"type":"Pod","default":{"cpu":"1"}},{"type":"PersistentVolumeClaim","default":{"cpu":"1"}}`, nil, `{}`, ""},
		{"no items", plain, "", nil, `{}`, ""},
		{"resize", plain, onlyCPU, func(a *admission.Attributes) {
			a.Operation, a.Subresource, a.Old = admission.Update, "resize", &corev1.Pod{}
		}, `{"requests":{"cpu":"7","memory":"7"}}`, set + "cpu, memory request for container c"},
		{"resize of a pod that goes", plain, onlyCPU, func(a *admission.Attributes) {
			a.Operation, a.Subresource, a.Old = admission.Update, "resize", &corev1.Pod{ObjectMeta: meta.ObjectMeta{DeletionTimestamp: &meta.Time{}}}
		}, `{}`, ""},
		{"update", plain, onlyCPU, func(a *admission.Attributes) { a.Operation, a.Old = admission.Update, &corev1.Pod{} }, `{}`, ""},
		{"status", plain, onlyCPU, func(a *admission.Attributes) {
			a.Operation, a.Subresource, a.Old = admission.Update, "status", &corev1.Pod{}
		}, `{}`, ""},
		{"pods of another group", plain, onlyCPU, func(a *admission.Attributes) { a.Resource.Group = "a.io" }, `{}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := limitedPod(t, tt.spec)
			a := podWrite(pod, nil)
			if tt.change != nil {
				tt.change(a)
			}
			book := &limitRangeLister{cached: limitRanges(t, strings.Split(tt.ranges, "|")...)}
			before := scheme.DeepCopy(book.cached[0].Spec)
			for range 2 { // the second call changes nothing
				if err := admission.NewLimitRanger(book.list).Mutate(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
					text, err := json.Marshal(c.Resources)
					if err != nil {
						t.Fatal(err)
					}
					got += string(text)
				}
				if note := pod.Annotations["kubernetes.io/limit-ranger"]; got != tt.want || note != tt.note {
					t.Errorf("got  %s, %q\nwant %s, %q", got, note, tt.want, tt.note)
				}
			}
			if !scheme.Equal(&before, &book.cached[0].Spec) {
				t.Error("the limit range has changed")
			}
		})
	}
}

// TestLimitRangerBounds compares the messages for pods that violate a limit range.
func TestLimitRangerBounds(t *testing.T) {
	const (
		ratio = "cpu max limit to request ratio per Container is 2, but "
		two   = `{"type":"Container","maxLimitRequestRatio":{"cpu":"2"}}`
	)
	container := func(resources string) string { return `{"containers":[{"name":"c","resources":{` + resources + `}}]}` }
	for _, tt := range []struct{ name, spec, ranges, want string }{
		{"no resources", container(""), `{"type":"Container","min":{"cpu":"1","memory":"1Gi"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"1500m"}}`,
			"[minimum cpu usage per Container is 1.  No request is specified, minimum memory usage per Container is 1Gi.  No request is specified, " +
				"maximum cpu usage per Container is 2.  No limit is specified, cpu max limit to request ratio per Container is 1500m, but no request is specified or request is 0]"},
		{"inside", container(`"requests":{"cpu":"1"},"limits":{"cpu":"2"}`), `{"type":"Container","min":{"cpu":"1"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"2"}}`, ""},
		{"request below", container(`"requests":{"cpu":"999m"},"limits":{"cpu":"1m"}`), `{"type":"Container","min":{"cpu":"1"}}`, "minimum cpu usage per Container is 1, but request is 999m"},
		{"limit below", container(`"requests":{"cpu":"1"},"limits":{"cpu":"1m"}`), `{"type":"Container","min":{"cpu":"1"}}`, "minimum cpu usage per Container is 1, but limit is 1m"},
		{"limit above", container(`"requests":{"cpu":"3"},"limits":{"cpu":"2001m"}`), `{"type":"Container","max":{"cpu":"2"}}`, "maximum cpu usage per Container is 2, but limit is 2001m"},
		{"request above", container(`"requests":{"cpu":"3"},"limits":{"cpu":"2"}`), `{"type":"Container","max":{"cpu":"2"}}`, "maximum cpu usage per Container is 2, but request is 3"},
		{"ratio", container(`"requests":{"cpu":"300m"},"limits":{"cpu":"1"}`), two, ratio + "provided ratio is 3.333333"},
		{"ratio of no request", container(`"requests":{"cpu":"0"},"limits":{"cpu":"1"}`), two, ratio + "no request is specified or request is 0"},
		{"ratio of no limit", container(`"requests":{"cpu":"1"}`), two, ratio + "no limit is specified or limit is 0"},
		{"ratio of limit 0", container(`"requests":{"cpu":"1"},"limits":{"cpu":"0"}`), two, ratio + "no limit is specified or limit is 0"},
		{"large amounts are compared as integers", container(`"requests":{"memory":"8Ei"},"limits":{"memory":"9223372036854775807"}`), `{"type":"Container","max":{"memory":"8E"}}`,
			"maximum memory usage per Container is 8E, but limit is 9223372036854775807"},
		{"fractions beside a large amount", container(`"requests":{"memory":"1500m"},"limits":{"memory":"8E"}`), `{"type":"Container","min":{"memory":"2"}}`, ""},
		{"init containers", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}],"initContainers":[{"name":"a","resources":{"limits":{"cpu":"2"}}},` +
			`{"name":"b","restartPolicy":"Always","resources":{"limits":{"cpu":"3"}}},{"name":"c","resources":{"limits":{"cpu":"2"}}}]}`,
			`{"type":"Container","max":{"cpu":"1"}}`, "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Container is 1, but limit is 3]"},
		{"the pod as a whole", `{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}},{"name":"d","resources":{"requests":{"cpu":"500m"}}}],"initContainers":[` +
			`{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"250m"}}},{"name":"i","resources":{"requests":{"cpu":"2"}}}]}`,
			`{"type":"Pod","min":{"cpu":"3"}}`, "minimum cpu usage per Pod is 3, but request is 2250m"},
		{"resources of the pod", `{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"3","hugepages-2Mi":"4Mi"}},"containers":[{"name":"c","resources":{"limits":{"cpu":"5"}}}]}`,
			`{"type":"Pod","max":{"cpu":"2","hugepages-2Mi":"2Mi"}}`, "[maximum cpu usage per Pod is 2, but limit is 3, maximum hugepages-2Mi usage per Pod is 2Mi.  No limit is specified]"},
		{"the first range that is broken", container(""), `{"type":"Pod"}|{"type":"Pod","min":{"cpu":"1"}}|{"type":"Pod","min":{"cpu":"2"}}`,
			"minimum cpu usage per Pod is 1.  No request is specified"},
		{"of claims", container(""), `{"type":"PersistentVolumeClaim","min":{"cpu":"1"}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plugin := admission.NewLimitRanger((&limitRangeLister{cached: limitRanges(t, strings.Split(tt.ranges, "|")...)}).list)
			pod := limitedPod(t, tt.spec)
			want := tt.want
			if want != "" {
				want = `pods "p" is forbidden: ` + want
			}
			for _, a := range []*admission.Attributes{podWrite(pod, nil), podWrite(pod, &corev1.Pod{})} {
				if got := said(plugin.Validate(t.Context(), a)); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			update := podAttributes(admission.Update, pod, &corev1.Pod{})
			if err := plugin.Validate(t.Context(), update); err != nil {
				t.Errorf("an update: %v", err)
			}
		})
	}
}

// TestLimitRangerClaims checks claims, which have requests only. Their updates are checked too.
func TestLimitRangerClaims(t *testing.T) {
	const bounds = `{"type":"PersistentVolumeClaim","min":{"storage":"2Gi"},"max":{"storage":"5Gi"},"maxLimitRequestRatio":{"storage":"1"}}`
	for _, tt := range []struct{ name, resources, want string }{
		{"inside", `{"requests":{"storage":"3Gi"},"limits":{"storage":"9Gi"}}`, ""},
		{"below", `{"requests":{"storage":"1Gi"}}`, "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"},
		{"above", `{"requests":{"storage":"6Gi"}}`, "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"},
		{"none", `{}`, "[minimum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified, maximum storage usage per PersistentVolumeClaim is 5Gi.  No request is specified]"},
	} {
		claim, old := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaim{}
		parseLimits(t, tt.resources, &claim.Spec.Resources)
		plugin := admission.NewLimitRanger((&limitRangeLister{cached: limitRanges(t, bounds)}).list)
		write := func(op admission.Operation, sub string) string {
			a := &admission.Attributes{Operation: op, Subresource: sub, Namespace: "ns", Name: "c", Object: claim,
				Resource: corev1.GroupVersion.WithResource("persistentvolumeclaims")}
			if op == admission.Update {
				a.Old = old
			}
			if err := plugin.Mutate(t.Context(), a); err != nil {
				t.Error(err)
			}
			return strings.TrimPrefix(said(plugin.Validate(t.Context(), a)), `persistentvolumeclaims "c" is forbidden: `)
		}
		for _, op := range []admission.Operation{admission.Create, admission.Update} {
			if got := write(op, ""); got != tt.want {
				t.Errorf("%s, %s: got %s, want %s", tt.name, op, got, tt.want)
			}
		}
		if got := write(admission.Update, "status"); got != "" {
			t.Errorf("%s, status: got %s", tt.name, got)
		}
		old.DeletionTimestamp = &meta.Time{}
		if got := write(admission.Update, ""); got != "" {
			t.Errorf("%s, of a claim that goes: got %s", tt.name, got)
		}
	}
}

// TestLimitRangerReads checks when the plugin reads from the store, and its message if a read
// fails.
func TestLimitRangerReads(t *testing.T) {
	const text = `{"type":"Container","min":{"cpu":"1"}}`
	const broken = `pods "p" is forbidden: minimum cpu usage per Container is 1.  No request is specified`
	boom := errors.New("boom")
	cached, asked := []request.Freshness{request.Cached}, []request.Freshness{request.Cached, request.Consistent}
	for _, tt := range []struct {
		name  string
		book  limitRangeLister
		op    admission.Operation
		reads []request.Freshness
		want  string
	}{
		{"in the cache", limitRangeLister{cached: limitRanges(t, text)}, admission.Update, cached, broken},
		{"in the store only", limitRangeLister{stored: limitRanges(t, text)}, admission.Update, asked, broken},
		{"nowhere", limitRangeLister{}, admission.Update, asked, ""},
		{"not in a cache that is as new as the namespace", limitRangeLister{stored: limitRanges(t, text)}, admission.Create, cached, ""},
		{"unreadable", limitRangeLister{cacheFails: boom}, admission.Update, cached,
			`pods "p" is forbidden: unable to UPDATE /v1, Resource=pods at this time because there was an error enforcing limit ranges`},
		{"no answer", limitRangeLister{askFails: boom}, admission.Update, asked, `pods "p" is forbidden: boom`},
	} {
		pod := limitedPod(t, `{"containers":[{"name":"c"}]}`)
		a := podWrite(pod, nil)
		if tt.op == admission.Update {
			a = podWrite(pod, &corev1.Pod{})
		}
		namespaces := admission.NewNamespaces(func(context.Context, string, request.Freshness) (admission.Namespace, error) {
			return admission.Namespace{}, nil
		})
		chain := admission.Chain{admission.NewNamespaceLifecycle(namespaces), admission.NewLimitRanger(tt.book.list)}
		for _, phase := range []func(context.Context, *admission.Attributes) error{chain.Mutate, chain.Validate} {
			tt.book.reads = nil
			want := tt.want
			if err := phase(t.Context(), a); said(err) != want && (err != nil || want != broken) {
				t.Errorf("%s: got %v, want %s", tt.name, err, want)
			}
			if !slices.Equal(tt.book.reads, tt.reads) {
				t.Errorf("%s: got the reads %v, want %v", tt.name, tt.book.reads, tt.reads)
			}
		}
	}
}

// TestLimitRangerManyMistakes: the message for a pod with many containers has a bounded length.
func TestLimitRangerManyMistakes(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "p"}}
	for i := range 1000 {
		q := meta.NewMilliQuantity(int64(i+1), meta.DecimalSI)
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": q}},
		})
	}
	plugin := admission.NewLimitRanger((&limitRangeLister{cached: limitRanges(t, `{"type":"Container","min":{"cpu":"2"}}`)}).list)
	got := said(plugin.Validate(t.Context(), podWrite(pod, nil)))
	if n := strings.Count(got, "usage"); n != field.MaxErrors || !strings.HasSuffix(got, ", and at least 1 more]") {
		t.Errorf("got %d mistakes: %s", n, got)
	}
}

// TestLimitRangerCost: a write in a namespace without limit ranges costs one read of the cache and
// no allocation.
func TestLimitRangerCost(t *testing.T) {
	plugin := admission.NewLimitRanger(func(context.Context, string, request.Freshness) ([]*corev1.LimitRange, error) { return nil, nil })
	configMap := &admission.Attributes{Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("configmaps"), Object: &corev1.ConfigMap{}}
	for _, a := range []*admission.Attributes{podWrite(limitedPod(t, `{"containers":[{"name":"c"}]}`), nil), configMap} {
		if n := testing.AllocsPerRun(100, func() {
			if plugin.Mutate(t.Context(), a) != nil || plugin.Validate(t.Context(), a) != nil {
				t.Fail()
			}
		}); n > 0 {
			t.Errorf("%s: got %v allocations", a.Resource.Resource, n)
		}
	}
}

// BenchmarkLimitRanger measures the create of a pod with two containers in a namespace with some
// limit ranges or none.
func BenchmarkLimitRanger(b *testing.B) {
	pod := limitedPod(b, `{"containers":[{"name":"c","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}},`+
		`{"name":"d","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}]}`)
	const one = `{"type":"Container","default":{"cpu":"1"},"defaultRequest":{"cpu":"1"},"min":{"cpu":"1","memory":"1Gi"},"max":{"cpu":"2"}},{"type":"Pod","max":{"memory":"3Gi"}}`
	for _, n := range []int{0, 1, 3} {
		book := &limitRangeLister{cached: limitRanges(b, slices.Repeat([]string{one}, n)...)}
		plugin := admission.NewLimitRanger(func(context.Context, string, request.Freshness) ([]*corev1.LimitRange, error) {
			return book.cached, nil
		})
		b.Run(fmt.Sprintf("ranges=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := podWrite(pod, nil)
				if err := errors.Join(plugin.Mutate(b.Context(), a), plugin.Validate(b.Context(), a)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
