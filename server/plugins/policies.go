package plugins

import (
	"context"
	"sync"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/registry/admission/hookfiles"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file makes the plugins for admission policies, and reads the namespaces and parameters that
// their expressions see. Rows of the table call newMutatingPolicies and newValidatingPolicies.

// The resources that configure admission policies.
const (
	mutatingPolicies         = "mutatingadmissionpolicies"
	mutatingPolicyBindings   = "mutatingadmissionpolicybindings"
	validatingPolicies       = "validatingadmissionpolicies"
	validatingPolicyBindings = "validatingadmissionpolicybindings"
)

func newMutatingPolicies(n *needs) (admission.Plugin, error) {
	w, err := n.observed(newMutatingMetrics)
	if err != nil {
		return nil, err
	}
	p := n.mutatingIn(w)
	files, err := policyManifests(n, p.Name(), hookfiles.MutatingPolicies)
	if files == nil {
		return p, err
	}
	return p.WithFiles(files), nil
}

func newValidatingPolicies(n *needs) (admission.Plugin, error) {
	w, err := n.observed(newValidatingMetrics)
	if err != nil {
		return nil, err
	}
	p := n.validatingIn(w)
	files, err := policyManifests(n, p.Name(), hookfiles.ValidatingPolicies)
	if files == nil {
		return p, err
	}
	return p.WithFiles(files), nil
}

// NewPolicies returns a chain of the two plugins for admission policies alone, without metrics. It
// reads only Stores, Authorizer, ResourceOf and Equivalents of n.
func NewPolicies(n Needs) admission.Chain {
	given := newNeeds(&Config{}, &n)
	return admission.Chain{given.mutatingIn(given.policies), given.validatingIn(given.policies)}
}

func (n *needs) mutatingIn(w *admissionpolicy.World) *admissionpolicy.Mutating {
	return admissionpolicy.NewMutating(w, objectsOf[*v1.MutatingAdmissionPolicy](n.Stores, mutatingPolicies),
		objectsOf[*v1.MutatingAdmissionPolicyBinding](n.Stores, mutatingPolicyBindings))
}

func (n *needs) validatingIn(w *admissionpolicy.World) *admissionpolicy.Validating {
	return admissionpolicy.NewValidating(w, objectsOf[*v1.ValidatingAdmissionPolicy](n.Stores, validatingPolicies),
		objectsOf[*v1.ValidatingAdmissionPolicyBinding](n.Stores, validatingPolicyBindings))
}

// objectsOf returns the source of all objects of a resource of admissionregistration.k8s.io.
func objectsOf[T meta.Object](stores registry.Stores, resource string) admissionpolicy.Source[T] {
	return registry.NewDerived(stores, registration(resource), admissionpolicy.NewObjects[T]).Now
}

// policyWorld returns the World that both plugins share. It has no Observer; observed adds one.
func policyWorld(n *needs) *admissionpolicy.World {
	found := &params{stores: n.Stores, resourceOf: n.ResourceOf, memos: map[meta.GroupResource]*paramMemo{}}
	return &admissionpolicy.World{
		Matching:  &matching.World{Namespaces: n.namespaces, Equivalents: n.Equivalents},
		Namespace: wholeNamespace(n.Stores), Params: found.of, Authorizer: n.Authorizer,
	}
}

// wholeNamespace returns World.Namespace. On a server that does not serve namespaces, expressions
// see none.
func wholeNamespace(stores registry.Stores) func(ctx context.Context, name string) (*corev1.Namespace, error) {
	memo := registry.NewObjectMemo[*corev1.Namespace](stores, namespaces)
	return func(ctx context.Context, name string) (*corev1.Namespace, error) {
		if stores.Store(namespaces) == nil {
			return nil, nil
		}
		return memo.Get(ctx, "", name, request.ReadYourWrites)
	}
}

// params finds and reads the objects that parametrize policies.
type params struct {
	stores     registry.Stores
	resourceOf admission.ResourceOf
	mu         sync.Mutex
	memos      map[meta.GroupResource]*paramMemo // only of resources that policies have named
}

// paramMemo keeps the decoded objects of one resource.
type paramMemo struct {
	one  *registry.ObjectMemo[meta.Object]
	some *registry.NamespaceMemo[meta.Object]
	all  *registry.ListMemo[meta.Object]
}

// of implements World.Params.
func (p *params) of(kind meta.GroupVersionKind) *admissionpolicy.Params {
	name, namespaced, ok := p.resourceOf(kind)
	gr := meta.GroupResource{Group: kind.Group, Resource: name}
	if !ok || p.stores.Store(gr) == nil { // the objects of aggregated APIs are not here
		return nil
	}
	memo := p.memo(gr)
	return &admissionpolicy.Params{
		Namespaced: namespaced,
		Get: func(ctx context.Context, namespace, name string) (meta.Typed, error) {
			obj, err := memo.one.Get(ctx, namespace, name, request.ReadYourWrites)
			if err != nil {
				return nil, err
			}
			return p.in(ctx, gr, obj, kind.Version)
		},
		List: func(ctx context.Context, namespace string, which meta.LabelRequirements) ([]meta.Typed, error) {
			return p.list(ctx, gr, memo, namespace, which, kind.Version)
		},
	}
}

func (p *params) memo(gr meta.GroupResource) *paramMemo {
	p.mu.Lock()
	defer p.mu.Unlock()
	memo := p.memos[gr]
	if memo == nil {
		memo = &paramMemo{
			one:  registry.NewObjectMemo[meta.Object](p.stores, gr),
			some: registry.NewNamespaceMemo[meta.Object](p.stores, gr),
			all:  registry.NewListMemo[meta.Object](p.stores, gr),
		}
		p.memos[gr] = memo
	}
	return memo
}

// list returns the objects whose labels match, in a version.
func (p *params) list(
	ctx context.Context, gr meta.GroupResource, memo *paramMemo, namespace string, which meta.LabelRequirements,
	version string,
) (list []meta.Typed, err error) {
	var all []meta.Object
	if namespace == "" {
		all, err = memo.all.List(ctx, request.ReadYourWrites)
	} else {
		all, err = memo.some.List(ctx, namespace, request.ReadYourWrites)
	}
	if err != nil {
		return nil, err
	}
	for _, obj := range all {
		if !which.Matches(meta.Set(obj.GetObjectMeta().Labels)) {
			continue
		}
		shown, err := p.in(ctx, gr, obj, version)
		if err != nil {
			return nil, err
		}
		list = append(list, shown)
	}
	return list, nil
}

// in returns an object of a resource in a version.
func (p *params) in(ctx context.Context, gr meta.GroupResource, obj meta.Object, version string) (meta.Typed, error) {
	store := p.stores.Store(gr)
	if store == nil { // the resource was removed after of had found it
		return nil, meta.NewNotFound(gr, obj.GetObjectMeta().Name)
	}
	return store.Kind().Convert(ctx, obj, version)
}
