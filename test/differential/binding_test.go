package differential

import (
	"fmt"
	"strings"
	"testing"
)

// TestBindings binds pods in all states, through pods/binding and through bindings. Both sides must
// give the same answer and change the pod in the same way.
func TestBindings(t *testing.T) {
	s := newStage(t)
	m := &mutator{rand: random("bindings")}
	codes := map[int]int{}
	for i := range times(600) {
		name := fmt.Sprintf("p%d", i)
		a := act{path: podRow.url(name, "binding"), body: bindingOf(m, name)}
		if m.rand.IntN(4) == 0 {
			a.path = strings.TrimSuffix(podRow.collection(), "pods") + "bindings"
		}
		a.path += one(m, "", "", "", "", "?dryRun=All", "?fieldValidation=Strict")
		a.has, a.gives = s.putPod(t, bindable(m, name))
		was := s.state(s.ours, podRow, name)
		s.ask(&a)
		codes[a.ours.Code]++
		problem := a.sameAnswer()
		difference("pod", any(s.state(s.theirs, podRow, name)), any(s.state(s.ours, podRow, name)), func(path string, a, b any) {
			problem += fmt.Sprintf("\n%s:\n  theirs %s\n  ours   %s", path, encode(a), encode(b))
		})
		if problem != "" {
			t.Fatalf("POST %s %s\npod %s\n%s", a.path, encode(a.body), encode(was), problem)
		}
		s.clear(t, []string{name}, nil)
	}
	t.Logf("answers: %v", codes)
	for _, code := range []int{201, 400, 404, 409, 500} {
		if codes[code] == 0 && count >= 1 {
			t.Errorf("no answer was %d: the test tries too little", code)
		}
	}
}

// bindable is a pod in any state, mostly one that can be bound.
func bindable(m *mutator, name string) map[string]any {
	pod := simplePod(name)
	meta, spec := pod["metadata"].(map[string]any), pod["spec"].(map[string]any)
	status := map[string]any{"phase": "Pending"}
	switch m.rand.IntN(10) {
	case 0:
		spec["nodeName"] = "n"
	case 1:
		spec["schedulingGates"] = []any{map[string]any{"name": "example.com/g"}}
	case 2:
		meta["finalizers"], meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = []any{"example.com/f"}, longAgo, 0
	case 3:
		status["nominatedNodeName"] = "n"
	}
	if m.rand.IntN(2) == 0 {
		meta["annotations"] = map[string]any{"a": "pod", "b": "pod"}
	}
	if m.rand.IntN(4) == 0 {
		delete(meta, "labels")
	}
	if m.rand.IntN(2) == 0 {
		status["conditions"] = []any{map[string]any{
			"type": "PodScheduled", "status": one(m, "True", "False"), "reason": "SchedulingGated", "message": "m",
			"lastTransitionTime": longAgo, "observedGeneration": 1,
		}}
	}
	pod["status"] = status
	return pod
}

// bindingOf is the body of a binding, mostly a right one.
func bindingOf(m *mutator, name string) map[string]any {
	meta := map[string]any{"name": name}
	body := map[string]any{
		"apiVersion": "v1", "kind": "Binding", "metadata": meta,
		"target": map[string]any{"kind": one(m, "Node", "Node", "Node", ""), "name": one(m, "m", zonedNode)},
	}
	if m.rand.IntN(3) == 0 {
		meta["annotations"] = map[string]any{"a": "binding", "Not right!": "binding"}
	}
	if m.rand.IntN(3) == 0 {
		meta["labels"] = map[string]any{"pod": "binding", "topology.kubernetes.io/region": "binding"}
	}
	if m.rand.IntN(5) == 0 {
		meta["uid"] = one(m, "11111111-1111-1111-1111-111111111111", "2")
	}
	if m.rand.IntN(5) == 0 {
		meta["resourceVersion"] = one(m, versionHere, "2")
	}
	switch m.rand.IntN(30) {
	case 0:
		meta["name"] = "other"
	case 1:
		meta["name"] = "Not a name"
	case 2:
		delete(meta, "name")
	case 3:
		meta["namespace"] = "other"
	case 4:
		delete(body, "target")
	case 5:
		body["target"] = map[string]any{"kind": "Pod"}
	case 6:
		body["target"] = map[string]any{"name": "Not a node"}
	case 7:
		body["nonsense"] = 1
	case 8:
		body["apiVersion"], body["kind"] = "v1", "Pod"
	}
	return body
}
