package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	theirresource "k8s.io/kubernetes/pkg/registry/resource"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	ourresource "github.com/coracle-project/coracle/scheme/api/resourcev1"
)

// claimRights is an authorizer whose random answers are equal for equal questions. It records the
// questions.
type claimRights struct {
	seed  uint64
	asked []string
}

func (r *claimRights) judge(user, verb, group, version, resource, subresource, namespace, name string) (allow bool, reason string, err error) {
	what := fmt.Sprintf("%q", []string{user, verb, group, version, resource, subresource, namespace, name})
	r.asked = append(r.asked, what)
	rnd := random(r.seed, what)
	if chance(rnd, 2) {
		reason = "because"
	}
	if chance(rnd, 3) {
		err = errors.New("a <role> is missing")
	}
	return chance(rnd, 2), reason, err
}

// Authorize implements request.Authorizer.
func (r *claimRights) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	allow, reason, err := r.judge(a.User.Name, a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name)
	if allow {
		return request.Allow, reason, err
	}
	return request.NoOpinion, reason, err
}

// theirs is the same for Kubernetes.
func (r *claimRights) theirs(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	allow, reason, err := r.judge(a.GetUser().GetName(), a.GetVerb(), a.GetAPIGroup(), a.GetAPIVersion(), a.GetResource(), a.GetSubresource(), a.GetNamespace(), a.GetName())
	if allow {
		return authorizer.DecisionAllow, reason, err
	}
	return authorizer.DecisionNoOpinion, reason, err
}

// TestClaimStatusRights changes the status of claims at random as users who have some of the rights
// for it. It compares which rights both sides ask for, and their answers.
func TestClaimStatusRights(t *testing.T) {
	rnd := random("rights to the status of claims")
	refused, n := 0, times(20_000)
	for i := range n {
		now, old := randomClaim(rnd), randomClaim(rnd)
		if chance(rnd, 2) {
			now.Status.Allocation, now.Status.ReservedFor = old.Status.Allocation, old.Status.ReservedFor
		}
		name := pick(rnd, "alice", "system:serviceaccount:ns:a", "system:serviceaccount:ns:A", "system:node:n1")
		extra := map[string][]string{}
		if nodes := pickSome(rnd, "n1", "n2", "N"); len(nodes) > 0 {
			extra[request.ExtraNodeName] = nodes
		}
		verb := pick(rnd, "update", "patch")

		theirs, ours := &claimRights{seed: uint64(i)}, &claimRights{seed: uint64(i)}
		ctx := genericrequest.WithUser(t.Context(), &user.DefaultInfo{Name: name, Extra: extra})
		ctx = genericrequest.WithRequestInfo(ctx, &genericrequest.RequestInfo{IsResourceRequest: true, Verb: verb, APIGroup: "resource.k8s.io", APIVersion: "v1",
			Resource: "resourceclaims", Subresource: "status", Namespace: "ns", Name: "x"})
		s, before := internalClaim(t, now).Status, internalClaim(t, old).Status
		errs := theirresource.AuthorizedForBinding(ctx, field.NewPath("status", "allocation"), authorizer.AuthorizerFunc(theirs.theirs), s, before)
		if s.Allocation != nil {
			errs = append(errs, theirresource.AuthorizedForDeviceStatus(ctx, field.NewPath("status", "devices"), authorizer.AuthorizerFunc(theirs.theirs), s, before)...)
		}
		want := ""
		if len(errs) > 0 {
			refused++
			want = `ResourceClaim.resource.k8s.io "x" is invalid: ` + errs.ToAggregate().Error()
		}
		asking := request.NewContext(t.Context(), &request.Info{Attributes: request.Attributes{Verb: verb}})
		got := saidBy(admission.NewClaimStatus(ours).Validate(asking, &admission.Attributes{
			Operation: admission.Update, Resource: ourresource.GroupVersion.WithResource("resourceclaims"), Kind: ourresource.GroupVersion.WithKind("ResourceClaim"),
			Subresource: "status", Namespace: "ns", Name: "x", User: &request.User{Name: name, Extra: extra},
			Object: toOurs[ourresource.ResourceClaim](t, now), Old: toOurs[ourresource.ResourceClaim](t, old),
		}))
		if got != want || !slices.Equal(ours.asked, theirs.asked) {
			t.Fatalf("%s by %s %v:\n got %s\nwant %s\n got asked %s\nwant asked %s\nnow %s\nold %s", verb, name, extra, got, want, ours.asked, theirs.asked, encode(now), encode(old))
		}
	}
	t.Logf("%d of %d writes refused", refused, n)
	if refused < n/10 || refused > n*19/20 {
		t.Errorf("%d of %d writes were refused: they are too random", refused, n)
	}
}

// pickSome picks one value mostly, sometimes none or two.
func pickSome(rnd *rand.Rand, from ...string) []string {
	out := []string{from[rnd.IntN(len(from))], from[rnd.IntN(len(from))]}
	return out[:[]int{0, 1, 1, 1, 1, 2}[rnd.IntN(6)]]
}

func internalClaim(t *testing.T, claim *resourcev1.ResourceClaim) *resource.ResourceClaim {
	out := &resource.ResourceClaim{}
	if err := legacyscheme.Scheme.Convert(claim, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// randomClaim has a status that is often like others.
func randomClaim(rnd *rand.Rand) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	s := &claim.Status
	if !chance(rnd, 4) {
		s.Allocation = &resourcev1.AllocationResult{}
		if !chance(rnd, 4) {
			s.Allocation.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: randomTerms(rnd)}
		}
	}
	for i := range pickSome(rnd, "") {
		s.ReservedFor = append(s.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: fmt.Sprint("p", rnd.IntN(2)), UID: types.UID(fmt.Sprint(i))})
	}
	for range rnd.IntN(4) {
		d := resourcev1.AllocatedDeviceStatus{Driver: fmt.Sprint("driver", rnd.IntN(3)), Pool: "p", Device: "d"}
		if chance(rnd, 4) {
			d.ShareID = new("s")
		}
		switch rnd.IntN(4) {
		case 0:
			d.Conditions = []metav1.Condition{}
		case 1:
			d.NetworkData = &resourcev1.NetworkDeviceData{InterfaceName: "eth0"}
		}
		s.Devices = append(s.Devices, d)
	}
	return claim
}

func randomTerms(rnd *rand.Rand) []corev1.NodeSelectorTerm {
	requirement := func() corev1.NodeSelectorRequirement {
		r := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: pickSome(rnd, "n1", "n1", "n2", "N", "")}
		if chance(rnd, 10) {
			r.Operator = corev1.NodeSelectorOpNotIn
		}
		if chance(rnd, 10) {
			r.Key = "metadata.namespace"
		}
		return r
	}
	var terms []corev1.NodeSelectorTerm
	for range pickSome(rnd, "") {
		term := corev1.NodeSelectorTerm{}
		for range pickSome(rnd, "") {
			term.MatchFields = append(term.MatchFields, requirement())
		}
		if chance(rnd, 8) {
			term.MatchExpressions = append(term.MatchExpressions, requirement())
		}
		terms = append(terms, term)
	}
	return terms
}
