package policies_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/meta"
)

// pod returns an object as a policy sees it.
func pod() *corev1.Pod {
	p := &corev1.Pod{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	p.Name, p.Namespace, p.Labels = "web", "shop", map[string]string{"app": "web"}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/web:1"}}
	return p
}

// inputs returns the inputs for the creation of a pod.
func inputs() *policies.Inputs {
	return &policies.Inputs{Object: pod(), Request: &policies.Request{
		Kind: policies.Kind{Version: "v1", Kind: "Pod"}, Operation: "CREATE", Name: "web", Namespace: "shop",
		UserInfo: policies.UserInfo{Username: "ann"}, Options: &meta.CreateOptions{FieldManager: "kubectl"},
	}}
}

// TestEvaluate checks values, errors and costs. test/differential compares many more with
// Kubernetes.
func TestEvaluate(t *testing.T) {
	all := policies.Uses{Params: true, Authorizer: true}
	for _, tt := range []struct {
		text string
		want any
		err  string
		cost cel.Budget
	}{
		{text: "object.metadata.name == 'web'", want: true, cost: 4},
		{text: "oldObject == null && params == null && namespaceObject == null", want: true, cost: 6},
		{text: "object.spec.containers.all(c, c.image.startsWith('example.com/'))", want: true, cost: 11},
		{text: "has(object.metadata.annotations)", want: false, cost: 2},
		{text: "request.operation + ' ' + request.userInfo.username", want: "CREATE ann", cost: 7},
		{text: "request.options.fieldManager", want: "kubectl", cost: 3},
		{text: "object.spec.priority", err: "expression 'object.spec.priority' resulted in error: no such key: priority", cost: 3},
		{text: "authorizer.path('/').check('get').allowed()",
			err: "expression 'authorizer.path('/').check('get').allowed()' resulted in error: no such attribute(s): authorizer", cost: 350003},
		{text: "object.", err: "compilation error: compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			s := policies.New(t.Context())
			budget := cel.ObjectBudget
			results, err := s.Set(s.Compile(tt.text, all)).Evaluate(t.Context(), inputs(), &budget)
			if err != nil {
				t.Fatal(err)
			}
			if cost := cel.ObjectBudget - budget; cost != tt.cost {
				t.Errorf("got cost %d, want %d", cost, tt.cost)
			}
			switch r := results[0]; {
			case r.Err != nil && (tt.err == "" || !strings.HasPrefix(r.Err.Error(), tt.err)):
				t.Errorf("got error %q, want %q", r.Err, tt.err)
			case r.Err == nil && (tt.err != "" || r.Value != types.DefaultTypeAdapter.NativeToValue(tt.want)):
				t.Errorf("got %v, want %v", r.Value, tt.want)
			}
		})
	}
}
