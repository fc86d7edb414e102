package differential

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	utilcompatibility "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	delegate "k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/admission/api/load"
	psapi "k8s.io/pod-security-admission/api"
	psmetrics "k8s.io/pod-security-admission/metrics"
	pspolicy "k8s.io/pod-security-admission/policy"
	pstest "k8s.io/pod-security-admission/test"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podguard"
	ourlevels "github.com/coracle-project/coracle/registry/admission/podsecurity"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestPodSecurity has both PodSecurity plugins judge the same random writes of pods, workloads and
// namespaces, with random configurations and labels. It compares the verdict, status, warnings and
// audit annotations of each write, and the metrics at the end.
func TestPodSecurity(t *testing.T) {
	g := newPodSecurityGame(t, random("pod security"))
	kinds, n := map[string]int{}, times(10_000)
	for i := range n {
		if i%100 == 0 {
			g.populate()
		}
		kinds[g.compare()]++
	}
	t.Log(kinds)
	if got, want := g.counts, g.theirCounts(); !maps.Equal(got, want) {
		t.Errorf("metrics:\n got %v\nwant %v", got, want)
	}
	for kind, least := range map[string]int{"allowed": n / 10, "refused": n / 10, "warned": n / 20} {
		if kinds[kind] < least {
			t.Errorf("%d of %d writes are %s: they are too random", kinds[kind], n, kind)
		}
	}
}

// podSecurityGame holds both plugins, their configuration, and the namespaces with pods that both
// see.
type podSecurityGame struct {
	t   *testing.T
	rnd *rand.Rand

	recorder *psmetrics.PrometheusRecorder
	gathered componentmetrics.KubeRegistry
	counts   map[string]int // ours, by the text of a series

	namespaces map[string]map[string]string // the labels of namespaces in the cache
	stored     map[string]map[string]string // the labels of namespaces that only the store has
	pods       map[string][]*corev1.Pod
	ourPods    map[string][]*ourcore.Pod // the same
	ours       *podguard.Plugin
	lookUp     *admission.Namespaces
	theirs     theiradmission.ValidationInterface
	counting   *delegate.Admission // Kubernetes' plugin once more, with metrics that the test can read
}

func newPodSecurityGame(t *testing.T, rnd *rand.Rand) *podSecurityGame {
	g := &podSecurityGame{
		t: t, rnd: rnd, counts: map[string]int{},
		recorder: psmetrics.NewPrometheusRecorder(psapi.MajorMinorVersion(1, 36)), gathered: componentmetrics.NewKubeRegistry(),
	}
	g.recorder.MustRegister(g.gathered.MustRegister)
	g.lookUp = admission.NewNamespaces(g.namespace)
	return g
}

// populate replaces the namespaces, pods and plugins by random ones.
func (g *podSecurityGame) populate() {
	g.namespaces, g.stored = map[string]map[string]string{}, map[string]map[string]string{}
	g.pods, g.ourPods = map[string][]*corev1.Pod{}, map[string][]*ourcore.Pod{}
	known := informers.NewSharedInformerFactory(nil, 0)
	client := fake.NewSimpleClientset()
	for _, name := range securedNamespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: randomSecurityLabels(g.rnd)}}
		switch {
		case name == "nowhere":
		case name == "new":
			g.stored[name] = ns.Labels
			must(client.Tracker().Add(ns))
		default:
			g.namespaces[name] = ns.Labels
			must(known.Core().V1().Namespaces().Informer().GetIndexer().Add(ns))
		}
		for i := range []int{0, 0, 1, 3, 12}[g.rnd.IntN(5)] {
			pod := randomSecuredPod(g.rnd)
			pod.Namespace, pod.Name = name, fmt.Sprintf("p%d", i)
			if chance(g.rnd, 2) {
				pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(g.rnd.IntN(3))), Controller: new(!chance(g.rnd, 4))}}
			}
			g.addPod(name, pod)
			must(known.Core().V1().Pods().Informer().GetIndexer().Add(pod))
		}
	}
	for !g.configure(known, client) {
	}
}

func (g *podSecurityGame) addPod(namespace string, pod *corev1.Pod) {
	g.pods[namespace] = append(g.pods[namespace], pod)
	g.ourPods[namespace] = append(g.ourPods[namespace], toOurs[ourcore.Pod](g.t, pod))
}

// configure makes the plugins with a random configuration. It reports whether the configuration is
// valid for both.
func (g *podSecurityGame) configure(known informers.SharedInformerFactory, client *fake.Clientset) bool {
	config := randomPodSecurityConfiguration(g.rnd)
	var reader io.Reader
	if config != "" {
		reader = strings.NewReader(config)
	}
	all := theiradmission.NewPlugins()
	podsecurity.Register(all)
	them, theirErr := all.InitPlugin(podsecurity.PluginName, reader, initialized{known, client})
	us, ourErr := podguard.New([]byte(config), g.lookUp, g.listPods, g)
	if (theirErr == nil) != (ourErr == nil) {
		g.t.Fatalf("configuration\n%s\n got %v\nwant %v", config, ourErr, theirErr)
	}
	if theirErr != nil {
		return false
	}
	g.ours, g.theirs = us, them.(theiradmission.ValidationInterface)
	g.counting = &delegate.Admission{
		Configuration: must1(load.LoadFromData([]byte(config))), Metrics: g.recorder, Evaluator: must1(pspolicy.NewEvaluator(pspolicy.DefaultChecks(), nil)),
		NamespaceGetter: delegate.NamespaceGetterFromListerAndClient(known.Core().V1().Namespaces().Lister(), client),
		PodLister:       delegate.PodListerFromInformer(known.Core().V1().Pods().Lister()),
	}
	must(g.counting.CompleteConfiguration())
	return true
}

// initialized gives Kubernetes' plugin what kube-apiserver gives it.
type initialized struct {
	known  informers.SharedInformerFactory
	client *fake.Clientset
}

// Initialize implements admission.PluginInitializer of Kubernetes.
func (i initialized) Initialize(plugin theiradmission.Interface) {
	p := plugin.(*podsecurity.Plugin)
	p.InspectEffectiveVersion(utilcompatibility.DefaultBuildEffectiveVersion())
	p.SetExternalKubeInformerFactory(i.known)
	p.SetExternalKubeClientSet(i.client)
}

// namespace is an admission.LookUp.
func (g *podSecurityGame) namespace(_ context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	labels, ok := g.namespaces[name]
	if !ok && fresh == request.Consistent {
		labels, ok = g.stored[name]
	}
	if !ok {
		return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
	}
	return admission.Namespace{Labels: meta.Set(labels)}, nil
}

// listPods is a podguard.Pods.
func (g *podSecurityGame) listPods(_ context.Context, namespace string) (int, iter.Seq2[*ourcore.Pod, error], error) {
	return len(g.pods[namespace]), func(yield func(*ourcore.Pod, error) bool) {
		for _, pod := range g.ourPods[namespace] {
			if !yield(pod, nil) {
				return
			}
		}
	}, nil
}

// Evaluated, Exempted and Failed implement podguard.Counts.
func (g *podSecurityGame) Evaluated(e podguard.Evaluation) {
	g.counts[fmt.Sprint("evaluations", e.Decision, e.Mode, e.Level, e.Version, e.Operation, e.Resource, e.Subresource)]++
}

func (g *podSecurityGame) Exempted(r podguard.Request) {
	g.counts[fmt.Sprint("exemptions", r.Operation, r.Resource, r.Subresource)]++
}

func (g *podSecurityGame) Failed(fatal bool, r podguard.Request) {
	g.counts[fmt.Sprint("errors", fatal, r.Operation, r.Resource, r.Subresource)]++
}

// theirCounts are Kubernetes' metrics in the form of counts: the values of the labels are in the
// order of the labels' names.
func (g *podSecurityGame) theirCounts() map[string]int {
	out := map[string]int{}
	for _, family := range must1(g.gathered.Gather()) {
		for _, m := range family.Metric {
			if m.Counter.GetValue() == 0 {
				continue
			}
			values := []any{strings.TrimSuffix(strings.TrimPrefix(family.GetName(), "pod_security_"), "_total")}
			for _, label := range m.Label {
				if label.GetName() == "fatal" {
					values = append(values, label.GetValue() == "true")
				} else {
					values = append(values, label.GetValue())
				}
			}
			out[fmt.Sprint(values...)] = int(m.Counter.GetValue())
		}
	}
	return out
}

// whatIsSaid collects the warnings and annotations of a write.
type whatIsSaid struct {
	warnings    []string
	annotations map[string]string
}

// AddWarning implements warning.Recorder of Kubernetes.
func (h *whatIsSaid) AddWarning(_, text string) { h.warnings = append(h.warnings, text) }

// compare has both sides judge a random write. It returns the kind of outcome.
func (g *podSecurityGame) compare() string {
	w := g.write()
	user := &user.DefaultInfo{Name: oneOf(g.rnd, "", "alice", "alice", "bob")}
	hub := func(obj runtime.Object) runtime.Object {
		if obj == nil {
			return nil
		}
		out := must1(legacyscheme.Scheme.ConvertToVersion(obj.DeepCopyObject(), schema.GroupVersion{Group: w.gvk.Group, Version: runtime.APIVersionInternal}))
		return out
	}
	ctx := audit.WithAuditContext(g.t.Context())
	theirs, ours := &whatIsSaid{}, &whatIsSaid{}
	ctx = warning.WithWarningRecorder(ctx, theirs)
	attrs := theiradmission.NewAttributesRecord(hub(w.obj), hub(w.old), w.gvk, w.namespace, w.name, w.gvr, w.subresource, theiradmission.Operation(w.op), nil, false, user)
	want := g.theirs.Validate(ctx, attrs, nil)
	theirs.annotations = audit.AuditContextFrom(ctx).GetEventAnnotations()
	if w.counted {
		g.counting.Validate(g.t.Context(), &psapi.AttributesRecord{Name: w.name, Namespace: w.namespace, Kind: w.gvk, Resource: w.gvr, Subresource: w.subresource,
			Operation: admissionv1.Operation(w.op), Object: w.obj, OldObject: w.old, Username: user.Name})
	}

	a := &admission.Attributes{
		Operation: w.op, Subresource: w.subresource, Namespace: w.namespace, Name: w.name, Object: w.ours(g.t, w.obj),
		Resource: meta.GroupVersionResource{Group: w.gvr.Group, Version: w.gvr.Version, Resource: w.gvr.Resource},
		Kind:     meta.GroupVersionKind{Group: w.gvk.Group, Version: w.gvk.Version, Kind: w.gvk.Kind},
	}
	if w.old != nil {
		a.Old = w.ours(g.t, w.old)
	}
	if user.Name != "" || chance(g.rnd, 2) {
		a.User = &request.User{Name: user.Name}
	}
	a.Listen(func(text string) { ours.warnings = append(ours.warnings, text) }, func(key, value string) {
		if ours.annotations == nil {
			ours.annotations = map[string]string{}
		}
		ours.annotations[key] = value
	})
	got := g.ours.Validate(g.t.Context(), a)

	if !sameStatus(got, want) || !slices.Equal(ours.warnings, theirs.warnings) || !maps.Equal(ours.annotations, theirs.annotations) {
		g.t.Fatalf("%s %s/%s %s in %s by %q:\n got %v\n     %s %q %v\nwant %v\n     %s %q %v\nobject %s\nold %s", w.op, w.gvr.Resource, w.subresource, w.name, w.namespace, user.Name,
			got, encode(got), ours.warnings, ours.annotations, want, encode(want), theirs.warnings, theirs.annotations, encode(w.obj), encode(w.old))
	}
	switch {
	case want != nil:
		return "refused"
	case len(theirs.warnings) > 0:
		return "warned"
	}
	return "allowed"
}

// sameStatus compares the whole status of two errors.
func sameStatus(got, want error) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	ours, is := got.(*meta.StatusError)
	theirs, too := want.(*apierrors.StatusError)
	if !is || !too {
		return false
	}
	status := ours.Status
	status.TypeMeta = meta.TypeMeta{} // Kubernetes sets it only when it writes the answer
	return reflect.DeepEqual(tree(status), tree(theirs.ErrStatus))
}

// securedNamespaces are the namespaces of writes. The last two are not in the cache, and the last
// does not exist.
var securedNamespaces = []string{"a", "b", "c", "new", "nowhere"}

func randomLevel(rnd *rand.Rand) string {
	if chance(rnd, 15) {
		return oneOf(rnd, "", "Baseline", "none", "restricted ")
	}
	return oneOf(rnd, "privileged", "baseline", "restricted")
}

func randomLevelVersion(rnd *rand.Rand) string {
	switch {
	case chance(rnd, 15):
		return oneOf(rnd, "", "v1", "v1.", "v1.01", "1.2", "v2.3", "v1.-1", "v1.+1", "v1.1.1", "Latest", "v1.99999999999999999999", "v1.x", "v1.9223372036854775807")
	case chance(rnd, 4):
		return "latest"
	}
	return fmt.Sprintf("v1.%d", rnd.IntN(40))
}

func randomSecurityLabels(rnd *rand.Rand) map[string]string {
	labels := map[string]string{"other": "x"}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if chance(rnd, 2) {
			labels["pod-security.kubernetes.io/"+mode] = randomLevel(rnd)
		}
		if chance(rnd, 2) {
			labels["pod-security.kubernetes.io/"+mode+"-version"] = randomLevelVersion(rnd)
		}
	}
	if chance(rnd, 8) {
		return nil
	}
	return labels
}

// randomPodSecurityConfiguration is a configuration, mostly a valid one, "" if there is none.
func randomPodSecurityConfiguration(rnd *rand.Rand) string {
	if chance(rnd, 4) {
		return ""
	}
	rare := func() bool { return chance(rnd, 30) }
	defaults := map[string]any{}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if chance(rnd, 3) {
			defaults[mode] = randomLevel(rnd)
		}
		if chance(rnd, 3) {
			defaults[mode+"-version"] = randomLevelVersion(rnd)
		}
	}
	list := func(of ...string) (out []string) {
		for _, s := range of {
			if chance(rnd, 3) {
				out = append(out, s)
			}
		}
		if rare() {
			out = append(out, oneOf(rnd, "", "A_b", "a.b", "a", "a", strings.Repeat("x", 64)))
		}
		return out
	}
	c := map[string]any{
		"apiVersion": "pod-security.admission.config.k8s.io/" + oneOf(rnd, "v1", "v1", "v1beta1", "v1alpha1"), "kind": "PodSecurityConfiguration",
		"defaults":   defaults,
		"exemptions": map[string]any{"usernames": list("bob"), "namespaces": list("c"), "runtimeClasses": list("kata")},
	}
	switch {
	case rare():
		c["apiVersion"] = oneOf(rnd, "", "v1", "pod-security.admission.config.k8s.io/v2")
	case rare():
		delete(c, oneOf(rnd, "kind", "apiVersion", "defaults", "exemptions"))
	case rare():
		c[oneOf(rnd, "Defaults", "more", "metadata")] = map[string]any{}
	case rare():
		c[oneOf(rnd, "defaults", "exemptions")] = oneOf[any](rnd, nil, "x", 7, []string{"x"})
	case rare():
		defaults["enforce-Version"] = "latest"
	}
	text := string(must1(yaml.Marshal(c)))
	if rare() {
		text += "kind: PodSecurityConfiguration\n"
	}
	return text
}

// TestPodSecurityOfMany gives a stricter level to a namespace with more pods than the plugins
// check. Both plugins must check the same pods, in the same order.
func TestPodSecurityOfMany(t *testing.T) {
	rnd := random("pod security of many")
	for range max(1, times(4)) {
		g := newPodSecurityGame(t, rnd)
		g.pods, g.ourPods = map[string][]*corev1.Pod{}, map[string][]*ourcore.Pod{}
		some := []*corev1.Pod{}
		for range 8 {
			some = append(some, randomSecuredPod(rnd))
		}
		for i := range 2900 + rnd.IntN(400) {
			pod := some[rnd.IntN(len(some))].DeepCopy()
			pod.Name = fmt.Sprintf("p%d", rnd.IntN(10_000)*10_000+i)
			if chance(rnd, 2) {
				pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(rnd.IntN(3000))), Controller: new(true)}}
			}
			g.addPod("a", pod)
		}
		config := oneOf(rnd, "", "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\nexemptions: {runtimeClasses: [kata]}\n")
		them := &delegate.Admission{
			Configuration: must1(load.LoadFromData([]byte(config))), Metrics: g.recorder, Evaluator: must1(pspolicy.NewEvaluator(pspolicy.DefaultChecks(), nil)),
			PodLister: g,
		}
		must(them.CompleteConfiguration())
		us := must1(podguard.New([]byte(config), g.lookUp, g.listPods, g))
		to := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
		now, old := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: to}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		want := them.Validate(t.Context(), &psapi.AttributesRecord{Name: "a", Namespace: "a", Kind: corev1.SchemeGroupVersion.WithKind("Namespace"),
			Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Operation: admissionv1.Update, Object: now, OldObject: old}).Warnings
		var got []string
		a := &admission.Attributes{
			Operation: admission.Update, Name: "a", Object: toOurs[ourcore.Namespace](t, now), Old: toOurs[ourcore.Namespace](t, old),
			Resource: ourcore.GroupVersion.WithResource("namespaces"), Kind: ourcore.GroupVersion.WithKind("Namespace"),
		}
		a.Listen(func(text string) { got = append(got, text) }, nil)
		if err := us.Validate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d pods:\n got %q\nwant %q", len(g.pods["a"]), got, want)
		}
	}
}

// ListPods implements admission.PodLister of Kubernetes. Their plugin sorts the list in place.
func (g *podSecurityGame) ListPods(_ context.Context, namespace string) ([]*corev1.Pod, error) {
	return slices.Clone(g.pods[namespace]), nil
}

// TestPodSecurityFixtures judges the pods in the files of Kubernetes' own tests, each by the level
// and version for which it is made.
func TestPodSecurityFixtures(t *testing.T) {
	dir := strings.TrimSpace(string(must1(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/pod-security-admission").Output())))
	files := must1(filepath.Glob(filepath.Join(dir, "test", "testdata", "*", "*", "*", "*.yaml")))
	if len(files) < 1000 {
		t.Fatalf("there are %d files", len(files))
	}
	them := must1(pspolicy.NewEvaluator(pspolicy.DefaultChecks(), nil))
	rnd := random("pod security fixtures")
	rnd.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, file := range files[:min(len(files), times(len(files)))] {
		parts := strings.Split(filepath.ToSlash(file), "/")
		level, version, passes := parts[len(parts)-4], parts[len(parts)-3], parts[len(parts)-2] == "pass"
		pod := &corev1.Pod{}
		must(yaml.Unmarshal(must1(os.ReadFile(file)), pod))
		legacyscheme.Scheme.Default(pod) // a volume without a source is an emptyDir
		ours := toOurs[ourcore.Pod](t, pod)
		by := ourlevels.LevelVersion{Level: must1(ourlevels.ParseLevel(level)), Version: must1(ourlevels.ParseVersion(version))}
		got := ourlevels.Evaluate(by, &ours.ObjectMeta, &ours.Spec)
		want := pspolicy.AggregateCheckResults(them.EvaluatePod(psapi.LevelVersion{Level: psapi.Level(level), Version: must1(psapi.ParseVersion(version))}, &pod.ObjectMeta, &pod.Spec))
		if (len(got) == 0) != passes || got.String() != want.ForbiddenDetail() || got.Reasons() != want.ForbiddenReason() {
			t.Errorf("%s:\n got %s\nwant %s", file, got, want.ForbiddenDetail())
		}
	}
}

// TestPodSecurityRun is Kubernetes' own test of a server: its pods, and deployments of them, are
// created in namespaces of each level and version. COUNT below 1 leaves out checks.
func TestPodSecurityRun(t *testing.T) {
	checks := pspolicy.DefaultChecks()
	rnd := random("pod security run")
	rnd.Shuffle(len(checks), func(i, j int) { checks[i], checks[j] = checks[j], checks[i] })
	pstest.Run(t, pstest.Options{
		ClientConfig: &rest.Config{Host: "http://in.process", Transport: called{newOurs(t)}, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		Checks:       checks[:min(len(checks), times(len(checks)))],
	})
}

// called sends requests to a handler in process.
type called struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (c called) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r = r.Clone(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	c.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
