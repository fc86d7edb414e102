package admission_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// rightsAuthorizer allows its rights, written as "verb subresource namespace/name", and notes each
// question.
type rightsAuthorizer struct {
	rights []string
	asked  []string
}

func (h *rightsAuthorizer) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	what := a.Verb + " " + a.Subresource + " " + a.Namespace + "/" + a.Name
	h.asked = append(h.asked, what)
	if slices.Contains(h.rights, what) {
		return request.Allow, "", errors.New("in another role")
	}
	return request.NoOpinion, "no role", errors.New("a role is missing")
}

// TestClaimStatus writes parts of the status of a claim as users who have some of the rights that
// this needs.
func TestClaimStatus(t *testing.T) {
	claim := func(status string) *resourcev1.ResourceClaim {
		return checktest.Decode[resourcev1.ResourceClaim](t, `{"status":{`+status+`}}`)
	}
	const (
		on       = `"allocation":{"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}}`
		anywhere = `"allocation":{}`
		reserved = `,"reservedFor":[{"resource":"pods","name":"p","uid":"1"}]`
		a        = `,"devices":[{"driver":"a","pool":"p","device":"d"}]`
		more     = `,"devices":[{"driver":"b","pool":"p","device":"d"},{"driver":"a","pool":"p","device":"d","shareID":"s"}]`
	)
	binding := func(verb string) string {
		return `status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="` + verb +
			`" permission: resourceclaims.resource.k8s.io is forbidden: User "%" cannot ` + verb + ` resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope: a role is missing: no role`
	}
	driver := func(verbs, first, name string) string {
		return `status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[` + verbs + `]" permission: resourceclaims.resource.k8s.io "` +
			name + `" is forbidden: User "%" cannot ` + first + ` resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "ns": a role is missing: no role`
	}
	const both = "associated-node:update arbitrary-node:update"
	account := &request.User{Name: "system:serviceaccount:ns:driver", Extra: map[string][]string{request.ExtraNodeName: {"n"}}}
	elsewhere := &request.User{Name: account.Name, Extra: map[string][]string{request.ExtraNodeName: {"m"}}}
	person := &request.User{Name: "alice", Extra: account.Extra}
	for _, tt := range []struct {
		name     string
		now, old string
		user     *request.User
		patch    bool
		rights   string // separated by commas
		asked    string
		want     []string
	}{
		{name: "nothing", now: on + a, old: on + a, user: person},
		{name: "the server itself", now: on + a, old: ``},
		{name: "an allocation", now: on, user: person, asked: "update binding /", want: []string{binding("update")}},
		{name: "an allocation, rightly", now: on, user: person, rights: "update binding /", asked: "update binding /"},
		{name: "a reservation", now: on + reserved, old: on, user: person, patch: true, rights: "update binding /", asked: "patch binding /", want: []string{binding("patch")}},
		{name: "devices", now: on + a, old: on, user: person, asked: "arbitrary-node:update driver ns/a",
			want: []string{driver("arbitrary-node:update", "arbitrary-node:update", "a")}},
		{name: "devices, patched", now: on + a, old: on, user: person, patch: true, rights: "arbitrary-node:patch driver ns/a", asked: "arbitrary-node:patch driver ns/a"},
		{name: "devices of the node", now: on + a, old: on, user: account, rights: "associated-node:update driver ns/a", asked: "associated-node:update driver ns/a"},
		{name: "devices of the node, without the right", now: on + a, old: on, user: account, asked: "associated-node:update driver ns/a,arbitrary-node:update driver ns/a",
			want: []string{driver(both, "associated-node:update", "a")}},
		{name: "devices of another node", now: on + a, old: on, user: elsewhere, asked: "arbitrary-node:update driver ns/a",
			want: []string{driver("arbitrary-node:update", "arbitrary-node:update", "a")}},
		{name: "devices of many nodes", now: anywhere + a, old: anywhere, user: account, rights: "associated-node:update driver ns/a", asked: "arbitrary-node:update driver ns/a",
			want: []string{driver("arbitrary-node:update", "arbitrary-node:update", "a")}},
		{name: "other devices", now: on + more, old: on + a, user: person, rights: "arbitrary-node:update driver ns/a",
			asked: "arbitrary-node:update driver ns/a,arbitrary-node:update driver ns/b", want: []string{driver("arbitrary-node:update", "arbitrary-node:update", "b")}},
		{name: "deallocation", now: ``, old: on + a, user: person, rights: "update binding /", asked: "update binding /"},
	} {
		may := &rightsAuthorizer{rights: strings.Split(tt.rights, ",")}
		attributes := &admission.Attributes{
			Operation: admission.Update, Resource: resourcev1.GroupVersion.WithResource("resourceclaims"), Kind: resourcev1.GroupVersion.WithKind("ResourceClaim"),
			Subresource: "status", Namespace: "ns", Name: "x", Object: claim(tt.now), Old: claim(tt.old), User: tt.user, Options: &meta.UpdateOptions{},
		}
		ctx := t.Context()
		if tt.patch {
			ctx = request.NewContext(ctx, &request.Info{Attributes: request.Attributes{Verb: "patch"}})
		}
		err := admission.NewClaimStatus(may).Validate(ctx, attributes)
		want := ""
		if len(tt.want) > 0 {
			want = `ResourceClaim.resource.k8s.io "x" is invalid: ` + strings.ReplaceAll(strings.Join(tt.want, ", "), "%", tt.user.Name)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, want)
		}
		if asked := strings.Join(may.asked, ","); asked != tt.asked {
			t.Errorf("%s: asked %s, want %s", tt.name, asked, tt.asked)
		}
	}
}
