package admission_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// podCount is a reserver that lets no more than a number of pods be created.
type podCount struct {
	left atomic.Int64
}

// Name is the plugin's name.
func (*podCount) Name() string { return "PodCount" }

// Handles is true for creates.
func (*podCount) Handles(op admission.Operation) bool { return op == admission.Create }

// Reserve takes one of the pods that are left.
func (p *podCount) Reserve(_ context.Context, a *admission.Attributes) (admission.Settle, error) {
	if a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil, nil // nothing is taken
	}
	if p.left.Add(-1) < 0 {
		p.left.Add(1)
		return nil, a.Forbidden("there are too many pods")
	}
	return func(_ context.Context, fate admission.Fate) {
		if fate == admission.NotStored {
			p.left.Add(1)
		}
	}, nil
}

// A write passes all mutators, then all validators, then all reservers, whatever their order in the
// chain.
func ExampleReserver() {
	count := &podCount{}
	count.left.Store(1)
	chain := admission.Chain{count, admission.DefaultTolerationSeconds{}}
	for _, fate := range []admission.Fate{admission.NotStored, admission.Stored, admission.NotStored} {
		a := &admission.Attributes{
			Operation: admission.Create, Name: "a", Object: &corev1.Pod{},
			Resource: meta.GroupVersionResource{Version: "v1", Resource: "pods"},
		}
		err := chain.Mutate(context.Background(), a)
		if err == nil {
			err = chain.Validate(context.Background(), a)
		}
		fmt.Println(count.left.Load(), "left;", err)
		a.Settle(context.Background(), fate)
	}
	// Output:
	// 0 left; <nil>
	// 0 left; <nil>
	// 0 left; pods "a" is forbidden: there are too many pods
}

// TaintNodesByCondition is a mutator: new nodes get a taint.
func ExampleMutator() {
	node := &corev1.Node{}
	a := &admission.Attributes{
		Operation: admission.Create, Object: node, Resource: meta.GroupVersionResource{Version: "v1", Resource: "nodes"},
	}
	if err := (admission.Chain{admission.TaintNodesByCondition{}}).Mutate(context.Background(), a); err != nil {
		fmt.Println(err)
	}
	fmt.Println(node.Spec.Taints[0].Key)
	// Output: node.kubernetes.io/not-ready
}
