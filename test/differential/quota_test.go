package differential

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	resourcequotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"
	theirquota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/utils/clock"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/quota"
	ourapps "github.com/coracle-project/coracle/scheme/api/appsv1"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	ourresource "github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestQuota has both sides judge random writes by random quotas. It compares the usage of objects,
// the resource names that count for them, the verdict with its message, and the charges. Writes
// come in batches, so that each sees the earlier charges. After a batch both sides recount.
func TestQuota(t *testing.T) {
	rnd := random("quota")
	refused, charged, n := map[string]int{}, 0, times(1_000)
	var w *quotaWorld
	for i := range n / 4 {
		if i%10 == 0 {
			w = newQuotaWorld(t, rnd)
		}
		quotas, limited := w.quotas(), w.limited()
		for range 4 {
			said, paid := w.judge(w.write(), quotas, limited)
			if said != "" {
				refused[firstWords(said)]++
			}
			charged += paid
		}
		for _, q := range quotas {
			if chance(rnd, 4) {
				w.recount(q)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d writes, %d charges, refused: %v", n, charged, refused)
	if n >= 1_000 && charged < n/20 {
		t.Errorf("%d writes brought %d charges: they are too random", n, charged)
	}
	for _, words := range []string{"exceeded quota", "status unknown for", "failed quota", "insufficient quota to", "quota usage is"} {
		if n >= 10_000 && refused[words] == 0 {
			t.Errorf("no write was refused with %q", words)
		}
	}
}

// firstWords are the first words of a refusal, which tell its kind.
func firstWords(said string) string {
	if _, rest, ok := strings.Cut(said, "is forbidden: "); ok {
		said = rest
	}
	said, _, _ = strings.Cut(said, ":")
	words := strings.Fields(said)
	return strings.Join(words[:min(3, len(words))], " ")
}

// quotaWorld holds the objects that both sides know: device classes, and pods and claims of the
// namespace "ns".
type quotaWorld struct {
	t        *testing.T
	rnd      *rand.Rand
	made     bool // all objects of the world are there
	now      time.Time
	registry theirquota.Registry
	indexers map[schema.GroupResource]cache.Indexer // the objects that a recount lists
	ours     map[schema.GroupResource][]meta.Object
	classes  []*ourresource.DeviceClass
	around   quota.Surroundings
}

var (
	podResource   = schema.GroupResource{Resource: "pods"}
	claimResource = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	pvcResource   = schema.GroupResource{Resource: "persistentvolumeclaims"}
	svcResource   = schema.GroupResource{Resource: "services"}
	// countedResources have no evaluator of their own, or one that only counts objects.
	countedResources = []schema.GroupResource{{Resource: "configmaps"}, {Resource: "secrets"}, {Group: "apps", Resource: "deployments"}, {Group: "example.com", Resource: "widgets"}}
	quotaResources   = append([]schema.GroupResource{podResource, claimResource, pvcResource, svcResource}, countedResources...)
)

func newQuotaWorld(t *testing.T, rnd *rand.Rand) *quotaWorld {
	w := &quotaWorld{t: t, rnd: rnd, now: time.Now().Truncate(time.Second), indexers: map[schema.GroupResource]cache.Indexer{}, ours: map[schema.GroupResource][]meta.Object{}}
	for _, r := range quotaResources {
		w.indexers[r] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	lister := func(gvr schema.GroupVersionResource) (cache.GenericLister, error) {
		return cache.NewGenericLister(w.indexers[gvr.GroupResource()], gvr.GroupResource()), nil
	}
	devices := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	for _, name := range []string{"gpu", "nic", "disk"} {
		if chance(rnd, 4) {
			continue
		}
		class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if chance(rnd, 2) {
			class.Spec.ExtendedResourceName = new("example.com/" + name)
		}
		devices.OnAdd(class, false)
		w.classes = append(w.classes, toOurs[ourresource.DeviceClass](t, class))
	}
	claimsOf := func(namespace string, pod types.UID) (list []*resourcev1.ResourceClaim, err error) {
		for _, obj := range w.indexers[claimResource].List() {
			claim := obj.(*resourcev1.ResourceClaim)
			if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && owner.UID == pod && owner.Kind == "Pod" && owner.APIVersion == "v1" &&
				claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
				list = append(list, claim)
			}
		}
		return list, nil
	}
	all := []theirquota.Evaluator{
		core.NewPodEvaluator(lister, clock.RealClock{}), core.NewServiceEvaluator(lister), core.NewPersistentVolumeClaimEvaluator(lister),
		core.NewResourceClaimEvaluator(lister, devices, listers.NewPodLister(w.indexers[podResource]), claimsOf),
	}
	alias := map[string]corev1.ResourceName{"configmaps": corev1.ResourceConfigMaps, "secrets": corev1.ResourceSecrets}
	for _, r := range countedResources {
		all = append(all, generic.NewObjectCountEvaluator(r, generic.ListResourceUsingListerFunc(lister, r.WithVersion("v1")), alias[r.Resource]))
	}
	w.registry = generic.NewRegistry(all)
	w.around = quota.Surroundings{
		Now:     w.now,
		Classes: func() []*ourresource.DeviceClass { return w.classes },
		Pod: func(namespace, name string) *ourcore.Pod {
			for _, obj := range w.ours[podResource] {
				if m := obj.GetObjectMeta(); m.Namespace == namespace && m.Name == name {
					return obj.(*ourcore.Pod)
				}
			}
			return nil
		},
		Claims: func(string, meta.UID) (list []*ourresource.ResourceClaim, ok bool) {
			for _, obj := range w.ours[claimResource] {
				list = append(list, obj.(*ourresource.ResourceClaim))
			}
			return list, true
		},
	}
	for _, r := range quotaResources {
		for i := range rnd.IntN(4) {
			obj := w.object(r)
			obj.SetName(fmt.Sprint("p", i))
			obj.SetUID(types.UID(fmt.Sprint("u", i)))
			if err := w.indexers[r].Add(obj); err != nil {
				t.Fatal(err)
			}
			w.ours[r] = append(w.ours[r], w.toHub(obj))
		}
	}
	w.made = true
	return w
}

// quotaObject is an object of theirs.
type quotaObject interface {
	runtime.Object
	metav1.Object
}

// toHub converts an object to ours.
func (w *quotaWorld) toHub(obj quotaObject) meta.Object {
	switch obj.(type) {
	case *corev1.Pod:
		return toOurs[ourcore.Pod](w.t, obj)
	case *corev1.Service:
		return toOurs[ourcore.Service](w.t, obj)
	case *corev1.PersistentVolumeClaim:
		return toOurs[ourcore.PersistentVolumeClaim](w.t, obj)
	case *resourcev1.ResourceClaim:
		return toOurs[ourresource.ResourceClaim](w.t, obj)
	case *appsv1.Deployment:
		return toOurs[ourapps.Deployment](w.t, obj)
	}
	return toOurs[ourcore.ConfigMap](w.t, obj)
}

// quotaWrite is one write.
type quotaWrite struct {
	resource    schema.GroupResource
	subresource string
	operation   theiradmission.Operation
	object, old quotaObject // old may be nil
}

func (w *quotaWorld) write() quotaWrite {
	r := quotaResources[w.rnd.IntN(len(quotaResources))]
	if chance(w.rnd, 3) {
		r = podResource
	}
	x := quotaWrite{resource: r, operation: theiradmission.Create, object: w.object(r)}
	x.object.SetName(pick(w.rnd, "x", "y", "p0", ""))
	if x.object.GetName() == "" {
		x.object.SetGenerateName("made-")
	}
	if chance(w.rnd, 3) {
		x.operation, x.old = theiradmission.Update, w.object(r)
		x.old.SetResourceVersion("7")
		if chance(w.rnd, 2) { // most of it stays
			x.object = x.old.DeepCopyObject().(quotaObject)
			w.change(x.object)
		}
		if chance(w.rnd, 20) {
			x.old.SetResourceVersion("")
		}
		x.object.SetName("x")
		x.old.SetName("x")
		x.subresource = pick(w.rnd, "", "", "", "resize", "status", "scale")
		if chance(w.rnd, 40) && x.subresource != "status" {
			x.old = nil
		}
	} else if chance(w.rnd, 20) {
		x.subresource = pick(w.rnd, "binding", "eviction", "status")
	}
	return x
}

// judge has both sides judge a write, compares, and updates the quotas. It returns the refusal and
// the number of charges.
func (w *quotaWorld) judge(x quotaWrite, quotas []*corev1.ResourceQuota, limited []resourcequotaapi.LimitedResource) (string, int) {
	kind := schema.GroupVersionKind{Group: x.resource.Group, Version: "v1", Kind: "Thing"}
	name := x.object.GetName()
	attrs := theiradmission.NewAttributesRecord(x.object, nil, kind, "ns", name, x.resource.WithVersion("v1"), x.subresource, x.operation, nil, false, nil)
	a := &admission.Attributes{Operation: admission.Operation(x.operation), Namespace: "ns", Name: name, Subresource: x.subresource, Object: w.toHub(x.object),
		Resource: meta.GroupVersionResource{Group: x.resource.Group, Version: "v1", Resource: x.resource.Resource},
		Kind:     meta.GroupVersionKind{Group: kind.Group, Version: "v1", Kind: kind.Kind}}
	if x.old != nil {
		attrs = theiradmission.NewAttributesRecord(x.object, x.old, kind, "ns", name, x.resource.WithVersion("v1"), x.subresource, x.operation, nil, false, nil)
		a.Old = w.toHub(x.old)
	}
	evaluator := w.registry.Get(x.resource)
	if got, want := quota.Handles(a), evaluator.Handles(attrs); got != want {
		w.t.Errorf("Handles(%s %s %s): got %t, want %t", x.operation, x.resource, x.subresource, got, want)
		return "", 0
	} else if !want {
		return "", 0
	}
	w.compareUsage(x)

	var list []corev1.ResourceQuota
	var ours []*ourcore.ResourceQuota
	for _, q := range quotas {
		list = append(list, *q.DeepCopy())
		ours = append(ours, toOurs[ourcore.ResourceQuota](w.t, q))
	}
	after, err := resourcequota.CheckRequest(list, attrs, evaluator, limited)
	charges, ourErr := quota.Measure(a, w.around).Check(ours, toLimited(w.t, limited))
	if code, want := codeOf(ourErr), theirCode(err); saidBy(ourErr) != saidBy(err) || code != want {
		w.t.Errorf("%s %s %s:\n got %d %s\nwant %d %s\nobject %s\nold %s\nquotas %s\nlimited %s", x.operation, x.resource, x.subresource,
			code, saidBy(ourErr), want, saidBy(err), encode(x.object), encode(x.old), encode(quotas), encode(limited))
	}
	if err != nil {
		return err.Error(), 0
	}
	for _, c := range charges {
		if len(c.Amounts) == 0 {
			w.t.Errorf("an empty charge")
		}
		c.Amounts.AddTo(ours[c.Quota].Status.Used)
	}
	for i, q := range ours {
		if got, want := string(encode(q.Status.Used)), string(encode(after[i].Status.Used)); got != want {
			w.t.Errorf("%s %s %s:\n used %s\n want %s\nobject %s\nold %s\nquota %s", x.operation, x.resource, x.subresource, got, want, encode(x.object), encode(x.old), encode(quotas[i]))
		}
		quotas[i].Status.Used = nil // parse again, as a stored quota is: parsing bounds large numbers
		if err := json.Unmarshal(encode(after[i].Status.Used), &quotas[i].Status.Used); err != nil {
			w.t.Fatal(err)
		}
	}
	return "", len(charges)
}

func toLimited(t *testing.T, limited []resourcequotaapi.LimitedResource) (ours []quota.LimitedResource) {
	for _, l := range limited {
		o := quota.LimitedResource{APIGroup: l.APIGroup, Resource: l.Resource, MatchContains: l.MatchContains}
		if err := json.Unmarshal(encode(l.MatchScopes), &o.MatchScopes); err != nil {
			t.Fatal(err)
		}
		ours = append(ours, o)
	}
	return ours
}

func codeOf(err error) int {
	var status *meta.StatusError
	if errors.As(err, &status) {
		return int(status.Status.Code)
	}
	return 0
}

// theirCode is the code of kube-apiserver's answer: an error without a status is a 500.
func theirCode(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	if err != nil {
		return 500
	}
	return 0
}

// compareUsage compares the usage of an object. Ours may leave out zeros.
func (w *quotaWorld) compareUsage(x quotaWrite) {
	theirs, err := w.registry.Get(x.resource).Usage(x.object)
	if err != nil {
		w.t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, u := range quota.Usage(meta.GroupResource(x.resource), w.toHub(x.object), w.around) {
		if _, twice := got[string(u.Name)]; twice {
			w.t.Errorf("usage has %s twice", u.Name)
		}
		if !u.Quantity.IsZero() {
			got[string(u.Name)] = u.Quantity.String()
		}
	}
	for name, q := range theirquota.RemoveZeros(theirs) {
		want[string(name)] = q.String()
	}
	if !maps.Equal(got, want) {
		w.t.Errorf("usage of a %s:\n got %v\nwant %v\nobject %s", x.resource, got, want, encode(x.object))
	}
}

// recount compares which resource names count for a quota, and the recounted usage.
func (w *quotaWorld) recount(q *corev1.ResourceQuota) {
	want, err := theirquota.CalculateUsage("ns", q.Spec.Scopes, q.Spec.Hard, w.registry, q.Spec.ScopeSelector)
	if err != nil {
		w.t.Fatal(err)
	}
	ours, got := toOurs[ourcore.ResourceQuota](w.t, q), ourcore.ResourceList{}
	var counting []schema.GroupResource // the resources that can use something that the quota limits
	for _, r := range quotaResources {
		gr, any := meta.GroupResource(r), false
		for name := range ours.Spec.Hard {
			tracks := quota.Tracks(gr, name, w.classes)
			if theirs := len(w.registry.Get(r).MatchingResources([]corev1.ResourceName{corev1.ResourceName(name)})) > 0; tracks != theirs {
				w.t.Errorf("Tracks(%s, %s): got %t, want %t", r, name, tracks, theirs)
			}
			if tracks {
				any, got[name] = true, meta.Quantity{}
				if !slices.Contains(quota.Sources(name), gr) {
					w.t.Errorf("Sources(%s) lacks %s", name, r)
				}
			}
		}
		if any {
			counting = append(counting, r)
		}
	}
	for _, r := range counting {
		for _, obj := range w.ours[r] {
			in, err := quota.Selects(ours, meta.GroupResource(r), obj)
			if err != nil {
				break
			}
			for _, u := range quota.Usage(meta.GroupResource(r), obj, w.around) {
				if sum, counts := got[u.Name]; in && counts {
					got[u.Name] = sum.Add(u.Quantity)
				}
			}
		}
	}
	if len(got) != len(want) {
		w.t.Errorf("recount of %s:\n got %s\nwant %s", encode(q), encode(got), encode(want))
	}
	for name, q := range want {
		// The sum of several formats has the format of the first object, and lists have no order.
		if have := got[ourcore.ResourceName(name)]; have.String() != q.String() && have.Cmp(meta.MustParse(q.String())) != 0 {
			w.t.Errorf("recount of %s: got %s, want %s\nquota %s", name, have, q.String(), encode(ours))
		}
	}
}

// TestIgnoredByQuota compares the list of ignored resources with Kubernetes'.
func TestIgnoredByQuota(t *testing.T) {
	for r := range install.DefaultIgnoredResources() {
		if !quota.Ignored(meta.GroupResource(r)) {
			t.Errorf("%s is not ignored", r)
		}
		a := &admission.Attributes{Operation: admission.Create, Namespace: "ns", Resource: meta.GroupVersionResource{Group: r.Group, Resource: r.Resource}}
		if quota.Handles(a) {
			t.Errorf("%s is handled", r)
		}
	}
	for _, r := range append(quotaResources, schema.GroupResource{Group: "example.com", Resource: "events"}, schema.GroupResource{Group: "example.com", Resource: "bindings"}) {
		if quota.Ignored(meta.GroupResource(r)) {
			t.Errorf("%s is ignored", r)
		}
	}
}

// TestQuotaConfiguration reads configurations, right and wrong ones.
func TestQuotaConfiguration(t *testing.T) {
	rnd := random("quota configuration")
	read := func(text string) (*resourcequotaapi.Configuration, error) {
		return resourcequota.LoadConfiguration(strings.NewReader(text))
	}
	accepted := 0
	for range times(300) {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: %s\n", pick(rnd, "apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1", "resourcequota.admission.k8s.io/v1beta1", "resourcequota.admission.k8s.io/v1alpha1", "v1"))
		fmt.Fprintf(&b, "kind: %s\n", pick(rnd, "ResourceQuotaConfiguration", "ResourceQuotaConfiguration", "Configuration"))
		if !chance(rnd, 4) {
			b.WriteString("limitedResources:\n")
			for range 1 + rnd.IntN(2) {
				b.WriteString("- " + pick(rnd, "resource: pods", "resource: pods\n  apiGroup: apps", "apiGroup: apps", "resources: pods", "resource: 5", "resource: pods\n  resource: pods") + "\n")
				b.WriteString(pick(rnd, "", "  matchContains: [cpu, memory]\n", "  matchContains: cpu\n",
					"  matchScopes: [{scopeName: PriorityClass, operator: In, values: [a]}]\n", "  matchScopes: [{scope: PriorityClass}]\n"))
			}
		}
		theirs, err := read(b.String())
		ours, ourErr := quota.Limited([]byte(b.String()))
		invalid := false
		if err == nil {
			errs := validation.ValidateConfiguration(theirs)
			err, invalid = errs.ToAggregate(), len(errs) > 0
		}
		if (err == nil) != (ourErr == nil) || invalid && saidBy(err) != saidBy(ourErr) {
			t.Errorf("%s\n got %v\nwant %v", b.String(), ourErr, err)
			continue
		}
		if err != nil {
			continue
		}
		accepted++
		if got, want := string(encode(ours)), string(encode(toLimited(t, theirs.LimitedResources))); got != want {
			t.Errorf("%s\n got %s\nwant %s", b.String(), got, want)
		}
	}
	t.Logf("%d accepted", accepted)
}
