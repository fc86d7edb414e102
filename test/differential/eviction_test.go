package differential

import (
	"encoding/json"
	"fmt"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
)

// TestEvictions evicts pods in all states under budgets in all states, with all sorts of options.
// Both sides must give the same answers and leave the same pods and budgets.
//
// One difference is intended: Kubernetes charges a budget and sets a condition in the status of the
// pod before it finds that the deletion is refused (by preconditions, or for its options). The
// disruption controller later undoes both. Coracle leaves both unchanged.
func TestEvictions(t *testing.T) {
	before := podstore.EvictionsRetry
	podstore.EvictionsRetry = wait.Backoff{Steps: 3}
	t.Cleanup(func() { podstore.EvictionsRetry = before })
	s := newStage(t)
	m := &mutator{rand: random("evictions")}
	codes := map[int]int{}
	for i := range times(600) {
		name := fmt.Sprintf("p%d", i)
		pod := evictable(m, name)
		a := act{path: podRow.url(name, "eviction") + one(m, "", "", "", "", "?dryRun=All", "?fieldValidation=Strict"), body: evictionOf(m, name)}
		a.has, a.gives = s.putPod(t, pod)
		var budgets []string
		for j := range one(m, 0, 1, 1, 1, 1, 1, 1, 2) {
			b := someBudget(m, fmt.Sprintf("b%d-%d", i, j), name)
			budgets = append(budgets, nameOf(b))
			s.putBudget(t, b)
		}
		was := s.state(s.ours, podRow, name)
		left := s.budgetStates(t, budgets, false)
		s.ask(&a)
		codes[a.ours.Code]++
		problem := a.sameAnswer()
		pods, counts := s.state(s.theirs, podRow, name), s.budgetStates(t, budgets, true)
		if !a.ours.accepted() {
			pods, counts = was, left
		}
		difference("pod", any(pods), any(s.state(s.ours, podRow, name)), func(path string, a, b any) {
			problem += fmt.Sprintf("\n%s:\n  want %s\n  ours %s", path, encode(a), encode(b))
		})
		difference("budgets", any(counts), any(s.budgetStates(t, budgets, false)), func(path string, a, b any) {
			problem += fmt.Sprintf("\n%s:\n  want %s\n  ours %s", path, encode(a), encode(b))
		})
		if problem != "" {
			t.Fatalf("POST %s %s\npod %s\nbudgets %.2000s\n%.4000s", a.path, encode(a.body), encode(was), encode(left), problem)
		}
		s.clear(t, []string{name}, budgets)
	}
	t.Logf("answers: %v", codes)
	for _, code := range []int{201, 400, 403, 409, 422, 429, 500} {
		if codes[code] == 0 && count >= 1 {
			t.Errorf("no answer was %d: the test tries too little", code)
		}
	}
}

// budgetStates returns the budgets of one side, by name.
func (s *stage) budgetStates(t *testing.T, names []string, theirs bool) map[string]any {
	t.Helper()
	states := map[string]any{}
	for _, name := range names {
		if !theirs {
			states[name] = s.state(s.ours, budgetRow, name)["status"]
			continue
		}
		b, err := s.budgets.PolicyV1().PodDisruptionBudgets(where).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		states[name] = withoutTimes(tree(b).(map[string]any))["status"]
	}
	return states
}

// evictable is a pod in any state, which the labels of its name select.
func evictable(m *mutator, name string) map[string]any {
	pod := simplePod(name)
	meta, spec := pod["metadata"].(map[string]any), pod["spec"].(map[string]any)
	if m.rand.IntN(3) > 0 {
		spec["nodeName"] = "n"
	}
	if m.rand.IntN(6) == 0 {
		meta["finalizers"] = []any{one(m, "example.com/f", "foregroundDeletion", "orphan")}
		if m.rand.IntN(2) == 0 {
			meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = longAgo, one(m, 0, 30)
		}
	}
	status := map[string]any{"phase": one(m, "Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown")}
	var conditions []any
	if m.rand.IntN(4) > 0 {
		conditions = append(conditions, map[string]any{"type": "Ready", "status": one(m, "True", "True", "True", "False", "Unknown"), "lastTransitionTime": longAgo})
	}
	if m.rand.IntN(4) == 0 {
		conditions = append(conditions, map[string]any{
			"type": "DisruptionTarget", "status": one(m, "True", "False"), "reason": "Other", "observedGeneration": 3, "lastTransitionTime": longAgo,
		})
	}
	status["conditions"] = conditions
	pod["status"] = status
	return pod
}

// simplePod is a pod as it is stored, with a label of its own.
func simplePod(name string) map[string]any {
	return tree(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "namespace": where, "uid": "11111111-1111-1111-1111-111111111111", "generation": 1,
			"creationTimestamp": longAgo, "labels": map[string]any{"pod": name},
		},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
	}).(map[string]any)
}

// evictionOf is the body of an eviction, mostly a right one.
func evictionOf(m *mutator, name string) map[string]any {
	body := map[string]any{
		"apiVersion": one(m, "policy/v1", "policy/v1", "policy/v1", "policy/v1beta1"), "kind": "Eviction",
		"metadata": map[string]any{"name": name},
	}
	switch m.rand.IntN(60) {
	case 0:
		body["metadata"] = map[string]any{"name": "other"}
	case 1:
		body["metadata"].(map[string]any)["namespace"] = "other"
	case 2:
		body["apiVersion"], body["kind"] = "policy/v1", "PodDisruptionBudget"
	case 3:
		body["apiVersion"], body["kind"] = "v1", "Pod"
	case 4:
		body["deleteOptions"] = 7
		return body
	case 5:
		body["nonsense"] = 1
	case 6:
		return map[string]any{}
	case 7:
		delete(body, "apiVersion")
		delete(body, "kind")
	}
	if m.rand.IntN(2) == 0 {
		body["deleteOptions"] = evictionOptions(m)
	}
	return body
}

func evictionOptions(m *mutator) map[string]any {
	opts := map[string]any{}
	maybe := func(n int, field string, value any) {
		if m.rand.IntN(n) == 0 {
			opts[field] = value
		}
	}
	maybe(3, "gracePeriodSeconds", one(m, 0, 5, 60, -1))
	maybe(6, "propagationPolicy", one(m, "Orphan", "Background", "Foreground", "Bogus"))
	maybe(12, "orphanDependents", one(m, true, false))
	maybe(6, "dryRun", one(m, []string{"All"}, []string{"All"}, []string{"Some"}, []string{"All", "All"}, []string{}))
	maybe(30, "ignoreStoreReadErrorWithClusterBreakingPotential", one(m, true, false))
	pre := map[string]any{}
	if m.rand.IntN(3) == 0 {
		pre["uid"] = one(m, "11111111-1111-1111-1111-111111111111", "11111111-1111-1111-1111-111111111111", "2")
	}
	if m.rand.IntN(3) == 0 {
		pre["resourceVersion"] = one(m, versionHere, versionHere, "2", "")
	}
	maybe(2, "preconditions", pre)
	return opts
}

// someBudget is a budget that mostly covers a pod, in any state.
func someBudget(m *mutator, name, pod string) map[string]any {
	selector := map[string]any{"matchLabels": map[string]any{"pod": pod}}
	switch m.rand.IntN(12) {
	case 0:
		selector = map[string]any{"matchLabels": map[string]any{"pod": "other"}}
	case 1:
		selector = map[string]any{}
	case 2:
		selector = nil
	case 3:
		selector = map[string]any{"matchExpressions": []any{map[string]any{"key": "pod", "operator": "Bogus"}}}
	}
	spec := map[string]any{"minAvailable": 1}
	if selector != nil {
		spec["selector"] = selector
	}
	if policy := one(m, "", "", "IfHealthyBudget", "AlwaysAllow"); policy != "" {
		spec["unhealthyPodEvictionPolicy"] = policy
	}
	status := map[string]any{
		"observedGeneration": one(m, 3, 3, 3, 3, 3, 4, 2), "disruptionsAllowed": one(m, 0, 1, 1, 2, 7, -1),
		"currentHealthy": m.rand.IntN(4), "desiredHealthy": m.rand.IntN(4), "expectedPods": m.rand.IntN(4),
	}
	if m.rand.IntN(3) == 0 {
		status["conditions"] = []any{map[string]any{
			"type": "DisruptionAllowed", "status": one(m, "True", "False"), "lastTransitionTime": longAgo, "observedGeneration": 2,
			"reason": one(m, "SufficientPods", "InsufficientPods", "SyncFailed"), "message": one(m, "", "why not"),
		}}
	}
	switch m.rand.IntN(30) {
	case 0, 1, 2:
		status["disruptedPods"] = map[string]any{"another": longAgo, pod: longAgo}
	case 3:
		disrupted := map[string]any{}
		for i := range 2000 + m.rand.IntN(2) {
			disrupted[fmt.Sprint("pod-", i)] = longAgo
		}
		status["disruptedPods"] = disrupted
	}
	return tree(map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec, "status": status,
		"metadata": map[string]any{"name": name, "namespace": where, "generation": 3, "uid": "b-" + name, "creationTimestamp": longAgo},
	}).(map[string]any)
}

// externalBudget is a budget as a value of k8s.io/api.
func externalBudget(t *testing.T, obj map[string]any) *policyv1.PodDisruptionBudget {
	t.Helper()
	b := new(policyv1.PodDisruptionBudget)
	if err := json.Unmarshal(encode(obj), b); err != nil {
		t.Fatal(err)
	}
	return b
}
