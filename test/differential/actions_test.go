package differential

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/client-go/kubernetes/fake"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/coracle-project/coracle/storage"
)

// Tests of actions on pods (eviction and binding) compare the answers, and the pods and budgets
// afterwards.

var (
	podRow    = Row{Kind: v1("Pod"), Resource: "pods"}
	budgetRow = Row{Kind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, Resource: "poddisruptionbudgets"}
)

// stage holds both servers, with the pods and budgets that actions work on. Kubernetes' actions
// find budgets through a client.
type stage struct {
	ours    *ours
	theirs  http.Handler
	shelf   *shelf
	budgets *fake.Clientset
}

func newStage(t *testing.T) *stage {
	s := &stage{ours: newOurs(t), shelf: newShelf(), budgets: fake.NewSimpleClientset()}
	store := func(doors func(s podstore.PodStorage) Doors) func(generic.RESTOptionsGetter) (Doors, error) {
		return func(o generic.RESTOptionsGetter) (Doors, error) {
			pods, err := podstore.NewStorage(o, nil, nil, s.budgets.PolicyV1(), nil)
			if err != nil {
				return nil, err
			}
			return doors(pods), nil
		}
	}
	pods, bindings := podRow, Row{Kind: v1("Binding"), Resource: "bindings"}
	pods.REST = store(func(s podstore.PodStorage) Doors {
		return Doors{"": s.Pod, "binding": s.Binding, "eviction": s.Eviction}
	})
	bindings.REST = store(func(s podstore.PodStorage) Doors { return Doors{"": s.LegacyBinding} })
	s.theirs = newTheirs(t, []Row{pods, bindings}, s.shelf)
	node := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": zonedNode, "labels": zonedLabels}}
	if a := ask(s.ours, http.MethodPost, "/api/v1/nodes", encode(node)); !a.accepted() {
		t.Fatal(indent(a.Body))
	}
	return s
}

// putPod stores a pod with all defaults in both servers, and returns its resourceVersions in theirs
// and ours.
func (s *stage) putPod(t *testing.T, pod map[string]any) (theirs, ours string) {
	t.Helper()
	pod = versioned(t, internal(t, pod), podRow.Kind)
	s.ours.replace(t, podRow, pod)
	a := ask(s.ours, http.MethodGet, podRow.url(nameOf(pod), ""), nil)
	if a.Code != http.StatusOK {
		t.Fatal(indent(a.Body))
	}
	ours = a.Body["metadata"].(map[string]any)["resourceVersion"].(string)
	a.Body["metadata"].(map[string]any)["resourceVersion"] = "7"
	s.shelf.put("pods", where, nameOf(pod), internal(t, a.Body))
	return "7", ours
}

func (s *stage) putBudget(t *testing.T, budget map[string]any) {
	t.Helper()
	s.ours.replace(t, budgetRow, budget)
	obj := externalBudget(t, budget)
	if err := s.budgets.Tracker().Create(schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, obj, where); err != nil {
		t.Fatal(err)
	}
}

// clear deletes pods and budgets from both servers.
func (s *stage) clear(t *testing.T, pods, budgets []string) {
	t.Helper()
	for _, name := range pods {
		s.shelf.remove(place("pods", where, name))
		s.forget(t, podRow, name)
	}
	for _, name := range budgets {
		if err := s.budgets.PolicyV1().PodDisruptionBudgets(where).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.forget(t, budgetRow, name)
	}
}

// forget deletes an object from Coracle's store, if it is there.
func (s *stage) forget(t *testing.T, row Row, name string) {
	t.Helper()
	if _, err := s.ours.store.Delete(t.Context(), place(row.Resource, where, name), storage.Pre{}); err != nil && storage.KindOf(err) != storage.NotFound {
		t.Fatal(err)
	}
}

// act is one action as both servers see it.
type act struct {
	path       string
	body       map[string]any
	theirs     answer
	ours       answer
	has, gives string // resourceVersions of the pod before the action: theirs and ours
}

// ask sends the action to both servers. In place of versionHere each gets its own resourceVersion
// of the pod.
func (s *stage) ask(a *act) {
	body := string(encode(a.body))
	a.theirs = ask(s.theirs, http.MethodPost, a.path, []byte(strings.ReplaceAll(body, versionHere, a.has)))
	a.ours = ask(s.ours, http.MethodPost, a.path, []byte(strings.ReplaceAll(body, versionHere, a.gives)))
}

// versionHere stands for the resourceVersion of a pod, which differs between the servers.
const versionHere = "VERSION-OF-THE-POD"

// sameAnswer reports in which way the answers differ, if they do.
func (a *act) sameAnswer() string {
	theirs, ours := a.theirs, a.ours
	for side, version := range map[*answer]string{&theirs: a.has, &ours: a.gives} {
		text := strings.ReplaceAll(string(encode(side.Body)), "("+version+")", "(HERE)")
		text = strings.ReplaceAll(text, "ResourceVersion in object meta: "+version, "ResourceVersion in object meta: HERE")
		side.Body = nil
		if err := decode([]byte(text), &side.Body); err != nil {
			panic(err)
		}
	}
	var out []string
	if theirs.Code != ours.Code {
		out = append(out, fmt.Sprintf("code: theirs %d, ours %d", theirs.Code, ours.Code))
	}
	difference("", theirs.Body, ours.Body, func(path string, a, b any) {
		out = append(out, fmt.Sprintf("%s:\n  theirs %s\n  ours   %s", path, encode(a), encode(b)))
	})
	return strings.Join(out, "\n")
}

// state reads an object, nil if it is gone, and removes its versions and times.
func (s *stage) state(h http.Handler, row Row, name string) map[string]any {
	a := ask(h, http.MethodGet, row.url(name, ""), nil)
	if a.Code == http.StatusNotFound {
		return nil
	}
	return withoutTimes(a.Body)
}

// withoutTimes removes versions from an object, and replaces each time of the server's clock by a
// word.
func withoutTimes(obj map[string]any) map[string]any {
	m := obj["metadata"].(map[string]any)
	delete(m, "resourceVersion")
	delete(m, "managedFields")
	if m["deletionTimestamp"] != nil {
		m["deletionTimestamp"] = "then"
	}
	status, _ := obj["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		c := c.(map[string]any)
		if at, _ := c["lastTransitionTime"].(string); at != longAgo {
			c["lastTransitionTime"] = "now"
		}
	}
	disrupted, _ := status["disruptedPods"].(map[string]any)
	for pod, at := range disrupted {
		if at != longAgo {
			disrupted[pod] = "now"
		}
	}
	return obj
}

const longAgo = "2024-02-29T12:00:00Z"
