package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/podnodeselector"
	"k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/podspec"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// placementWorld has the namespaces that PodNodeSelector and PodTolerationRestriction read. Some
// are not in the cache, but can be read live.
type placementWorld struct {
	rnd    *rand.Rand
	client *fake.Clientset
	known  informers.SharedInformerFactory
	spaces map[string]*corev1.Namespace
	fresh  func() map[string]string // makes up annotations
}

func newPlacementWorld(rnd *rand.Rand, fresh func() map[string]string) *placementWorld {
	client := fake.NewSimpleClientset()
	return &placementWorld{rnd, client, informers.NewSharedInformerFactory(client, 0), map[string]*corev1.Namespace{}, fresh}
}

// Initialize implements Kubernetes' PluginInitializer.
func (w *placementWorld) Initialize(plugin theiradmission.Interface) {
	p := plugin.(interface {
		SetExternalKubeClientSet(kubernetes.Interface)
		SetExternalKubeInformerFactory(informers.SharedInformerFactory)
		SetReadyFunc(theiradmission.ReadyFunc)
	})
	p.SetExternalKubeClientSet(w.client)
	p.SetExternalKubeInformerFactory(w.known)
	p.SetReadyFunc(func() bool { return true })
}

// renew gives the namespaces a, b and c new annotations; d does not exist.
func (w *placementWorld) renew(t *testing.T) {
	indexer := w.known.Core().V1().Namespaces().Informer().GetIndexer()
	for _, name := range []string{"a", "b", "c"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: w.fresh()}}
		w.spaces[name] = ns
		var err error
		if name != "c" {
			err = indexer.Add(ns)
		} else {
			w.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("namespaces"), "", name)
			err = w.client.Tracker().Add(ns)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// annotations implements admission.NamespaceAnnotations.
func (w *placementWorld) annotations(_ context.Context, name string) (map[string]string, error) {
	if ns := w.spaces[name]; ns != nil {
		return ns.Annotations, nil
	}
	return nil, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
}

// placed is the decision of a plugin about a pod.
type placed struct {
	Mutate, Validate string
	Selector         map[string]string
	Tolerations      []corev1.Toleration
}

// judge passes a pod through both plugins and compares the decisions. It returns Kubernetes'
// decision.
func (w *placementWorld) judge(t *testing.T, config string, theirs theiradmission.Interface, ours admission.Plugin, pod *corev1.Pod, op theiradmission.Operation) placed {
	t.Helper()
	namespace, subresource, name := pick(w.rnd, "a", "b", "c", "c", "d"), pick(w.rnd, "", "", "", "", "", "status"), pick(w.rnd, "p", "")
	pod.Name = pick(w.rnd, name, name, "")
	hub := theirHub(t, pod.DeepCopy(), &core.Pod{})
	attrs := theiradmission.NewAttributesRecord(hub, nil, corev1.SchemeGroupVersion.WithKind("Pod"), namespace, name, schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		subresource, op, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "alice"})
	mine := toOurs[ourcore.Pod](t, pod)
	before := encode(mine)
	a := &admission.Attributes{Operation: admission.Operation(op), Resource: ourcore.GroupVersion.WithResource("pods"), Kind: ourcore.GroupVersion.WithKind("Pod"),
		Subresource: subresource, Namespace: namespace, Name: name, Object: mine}
	if theirs.Handles(op) != ours.Handles(a.Operation) {
		t.Fatalf("%s: ours handles it %t", op, ours.Handles(a.Operation))
	}
	if !theirs.Handles(op) {
		return placed{}
	}

	var want, got placed
	w.renew(t)
	want.Mutate = theirRefusal(theirs.(theiradmission.MutationInterface).Admit(t.Context(), attrs, nil))
	got.Mutate = ourRefusal(ours.(admission.Mutator).Mutate(t.Context(), a))
	if chance(w.rnd, 4) { // the annotations change between the phases
		w.renew(t)
	}
	want.Validate = theirRefusal(theirs.(theiradmission.ValidationInterface).Validate(t.Context(), attrs, nil))
	got.Validate = ourRefusal(ours.(admission.Validator).Validate(t.Context(), a))
	var after corev1.Pod
	if err := legacyscheme.Scheme.Convert(hub, &after, nil); err != nil {
		t.Fatal(err)
	}
	if want.Mutate == "" {
		want.Selector, want.Tolerations = after.Spec.NodeSelector, after.Spec.Tolerations
		got.Selector = mine.Spec.NodeSelector
		if err := json.Unmarshal(encode(mine.Spec.Tolerations), &got.Tolerations); err != nil {
			t.Fatal(err)
		}
	}
	if len(want.Selector)+len(got.Selector) == 0 {
		want.Selector, got.Selector = nil, nil
	}
	if len(want.Tolerations)+len(got.Tolerations) == 0 {
		want.Tolerations, got.Tolerations = nil, nil
	}
	if w, g := encode(want), encode(got); string(w) != string(g) {
		t.Errorf("%s\n%s in %s %v of %s\n got %s\nwant %s", config, op, namespace, w, before, g, w)
	}
	var old ourcore.Pod
	if err := json.Unmarshal(before, &old); err != nil {
		t.Fatal(err)
	}
	mine.Spec.NodeSelector, mine.Spec.Tolerations = old.Spec.NodeSelector, old.Spec.Tolerations
	if rest := encode(mine); string(rest) != string(before) {
		t.Errorf("something else of the pod changed:\n got %s\nwant %s", rest, before)
	}
	return want
}

// selectorText makes up a node selector, which is wrong in one of eight cases.
func selectorText(rnd *rand.Rand) string {
	if chance(rnd, 8) {
		return pick(rnd, "a=b=c", "a", ",", "a=b,", "-=b", "a=-", "a in (b)", "x/y/z=b", "a==b", "=", " = ")
	}
	var terms []string
	for range rnd.IntN(3) {
		terms = append(terms, pick(rnd, "a", "b", " a ", "x.y/c")+"="+pick(rnd, "1", "2", " 1", ""))
	}
	return strings.Join(terms, ",")
}

func TestPodNodeSelectors(t *testing.T) {
	rnd := random("node selectors of namespaces")
	refused, all := 0, 0
	for range times(40) {
		w := newPlacementWorld(rnd, func() map[string]string {
			return pick(rnd, nil, map[string]string{"other": "x"}, map[string]string{"scheduler.alpha.kubernetes.io/node-selector": selectorText(rnd)})
		})
		config := ""
		for _, key := range []string{"clusterDefaultNodeSelector", "a", "b", "c"} {
			if chance(rnd, 2) {
				text := selectorText(rnd)
				for !validSelector(text) { // Coracle refuses such a configuration at start; see TestPodNodeSelectorConfiguration in registry/admission
					text = selectorText(rnd)
				}
				config += fmt.Sprintf("  %s: %q\n", key, text)
			}
		}
		if config != "" || chance(rnd, 2) {
			config = pick(rnd, "podNodeSelectorPluginConfig", "podNodeSelectorPluginConfig", "PodNodeSelectorPluginConfig") + ":\n" + config + pick(rnd, "", "unknown: 1\n")
		}
		theirs := must1(configuredPlugin(podnodeselector.PluginName, podnodeselector.Register, &config, w))
		ours, err := admission.NewPodNodeSelector([]byte(config), w.annotations)
		if err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		for range 20 {
			pod := &corev1.Pod{}
			for range rnd.IntN(3) {
				if pod.Spec.NodeSelector == nil {
					pod.Spec.NodeSelector = map[string]string{}
				}
				pod.Spec.NodeSelector[pick(rnd, "a", "b", "x.y/c", "d")] = pick(rnd, "1", "1", "2", "")
			}
			op := pick(rnd, theiradmission.Create, theiradmission.Create, theiradmission.Create, theiradmission.Update)
			if all++; w.judge(t, config, theirs, ours, pod, op).Mutate != "" {
				refused++
			}
		}
	}
	t.Logf("%d of %d pods refused", refused, all)
	if refused < all/10 || refused > all*9/10 {
		t.Errorf("%d of %d pods were refused: they are too random", refused, all)
	}
}

func validSelector(text string) bool {
	_, err := admission.NewPodNodeSelector(fmt.Appendf(nil, "podNodeSelectorPluginConfig: {a: %q}", text), nil)
	return err == nil
}

// someTolerations makes up tolerations.
func someTolerations(rnd *rand.Rand) []corev1.Toleration {
	var list []corev1.Toleration
	for range rnd.IntN(4) {
		tol := corev1.Toleration{Key: pick(rnd, "a", "a", "b", "node.kubernetes.io/memory-pressure", ""), Operator: pick(rnd, corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists, ""),
			Effect: pick(rnd, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)}
		if chance(rnd, 20) {
			tol.Operator = "Lt"
		}
		if tol.Operator != corev1.TolerationOpExists {
			tol.Value = pick(rnd, "", "1", "2")
		}
		if chance(rnd, 3) {
			tol.TolerationSeconds = pick(rnd, new(int64(0)), new(int64(5)), new(int64(9)), new(int64(-1)))
		}
		list = append(list, tol)
	}
	return list
}

// tolerationText is the annotation for tolerations, which is wrong in one of ten cases.
func tolerationText(rnd *rand.Rand) string {
	if chance(rnd, 10) {
		return pick(rnd, "", "null", "[", "{}", `[{"key":1}]`, `[{"tolerationSeconds":"5"}]`, `[{"KEY":"a","Operator":"Exists"}]`, `"a"`, `[1]`, `[{"operator":{}}]`, `[{"tolerationSeconds":1.5}]`, "[]]", "[{}]")
	}
	return string(encode(someTolerations(rnd)))
}

func TestPodTolerations(t *testing.T) {
	rnd := random("tolerations of namespaces")
	refused, all, invalid := 0, 0, 0
	for range times(40) {
		w := newPlacementWorld(rnd, func() map[string]string {
			annotations := map[string]string{}
			for _, key := range []string{"scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist"} {
				if chance(rnd, 2) {
					annotations[key] = tolerationText(rnd)
				}
			}
			return annotations
		})
		config := fmt.Sprintf("apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\ndefault: %s\nwhitelist: %s\nunknown: 1\n",
			encode(someTolerations(rnd)), encode(someTolerations(rnd)))
		text := &config
		if chance(rnd, 4) {
			text = nil
			config = ""
		}
		theirs, theirErr := configuredPlugin(podtolerationrestriction.PluginName, podtolerationrestriction.Register, text, w)
		var data []byte
		if text != nil {
			data = []byte(config)
		}
		ours, err := admission.NewPodTolerationRestriction(data, w.annotations, podspec.Tolerations)
		if err != nil || theirErr != nil {
			// Kubernetes prints the list of errors as a slice.
			words := strings.NewReplacer("[", "", "]", "", ", ", " ")
			if (err == nil) != (theirErr == nil) || !strings.HasSuffix(words.Replace(theirErr.Error()), words.Replace(err.Error())) {
				t.Errorf("%s\n got %v\nwant %v", config, err, theirErr)
			}
			if invalid++; invalid > 10*times(40) {
				t.Fatal("no configuration is valid")
			}
			continue
		}
		for range 40 {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: someTolerations(rnd), Containers: someResources(rnd), InitContainers: someResources(rnd)}}
			if chance(rnd, 6) {
				pod.Status.QOSClass = pick(rnd, corev1.PodQOSBestEffort, corev1.PodQOSBurstable)
			}
			if chance(rnd, 6) {
				pod.Spec.Resources = &corev1.ResourceRequirements{}
				if chance(rnd, 2) {
					pod.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
				}
			}
			op := pick(rnd, theiradmission.Create, theiradmission.Create, theiradmission.Update)
			if all++; w.judge(t, config, theirs, ours, pod, op).Mutate != "" {
				refused++
			}
		}
	}
	t.Logf("%d of %d pods refused; %d configurations were invalid", refused, all, invalid)
	if refused < all/10 || refused > all*9/10 {
		t.Errorf("%d of %d pods were refused: they are too random", refused, all)
	}
}

// someResources makes up containers with resources.
func someResources(rnd *rand.Rand) []corev1.Container {
	var list []corev1.Container
	for range rnd.IntN(3) {
		c := corev1.Container{Name: "c", Image: "i"}
		for _, into := range []*corev1.ResourceList{&c.Resources.Requests, &c.Resources.Limits} {
			if chance(rnd, 3) {
				*into = corev1.ResourceList{pick[corev1.ResourceName](rnd, "cpu", "memory", "ephemeral-storage", "x/y"): resource.MustParse(pick(rnd, "0", "1", "1m", "-1"))}
			}
		}
		list = append(list, c)
	}
	return list
}
