package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ownerRights is an authorizer that allows some requests and notes each question.
type ownerRights struct{ allowed, asked []string }

func (r *ownerRights) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	what := fmt.Sprintf("%s %s/%s/%s/%s %s/%s", a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name)
	r.asked = append(r.asked, what)
	if slices.Contains(r.allowed, what) {
		return request.Allow, "", nil
	}
	return request.NoOpinion, "no role", errors.New("a role is missing")
}

// ownerResources maps two kinds to their resources: a namespaced kind and a cluster-scoped one.
func ownerResources(gvk meta.GroupVersionKind) (resource string, namespaced, ok bool) {
	switch gvk {
	case meta.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}:
		return "deployments", true, true
	case meta.GroupVersionKind{Version: "v1", Kind: "Node"}:
		return "nodes", false, true
	}
	return "", false, false
}

func TestOwnerReferencesPermissionEnforcement(t *testing.T) {
	const mayDelete, all = "delete /v1/configmaps/ ns/c", "update */*/*/finalizers /*"
	const node, web = "update /v1/nodes/finalizers /n", "update apps/v1/deployments/finalizers ns/web"
	yes := true
	owner := func(apiVersion, kind, name string, block *bool) meta.OwnerReference {
		return meta.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: meta.UID(name), BlockOwnerDeletion: block}
	}
	plain, blocking := owner("apps/v1", "Deployment", "web", nil), owner("apps/v1", "Deployment", "web", &yes)
	onNode, unknown := owner("v1", "Node", "n", &yes), owner("a.io/v1", "Ox", "o", &yes)
	const forbidden = `403 Forbidden: configmaps "c" is forbidden: `
	type owners = []meta.OwnerReference
	for _, tt := range []struct {
		name           string
		now, old       owners
		create         bool
		allowed, asked []string
		want           string
	}{
		{"new with owners", owners{plain}, nil, true, nil, nil, ""},
		{"new without owners", nil, nil, true, nil, nil, ""},
		{"the same owners", owners{blocking}, owners{blocking}, false, nil, nil, ""},
		{"an owner more", owners{plain}, nil, false, []string{mayDelete}, []string{mayDelete}, ""},
		{"an owner less", nil, owners{plain}, false, nil, []string{mayDelete}, forbidden + "cannot set an ownerRef on a resource you can't delete: no role, a role is missing"},
		{"new and blocking", owners{blocking}, nil, true, []string{web}, []string{all, web}, ""},
		{"may update all finalizers", owners{unknown}, nil, true, []string{all}, []string{all}, ""},
		{"blocking from now on", owners{blocking}, owners{plain}, false, []string{mayDelete}, []string{mayDelete, all, web},
			forbidden + "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no role, a role is missing"},
		{"blocked before", owners{blocking, plain}, owners{blocking}, false, []string{mayDelete}, []string{mayDelete}, ""},
		{"an owner in no namespace", owners{onNode}, nil, true, []string{node}, []string{all, node}, ""},
		{"an unknown kind", owners{onNode, unknown}, nil, true, []string{node}, []string{all, node},
			forbidden + `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion a.io/v1 Kind Ox: no matches for kind "Ox" in version "a.io/v1"`},
	} {
		may := &ownerRights{allowed: tt.allowed}
		a := &admission.Attributes{
			Operation: admission.Create, Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "ns", Name: "c",
			Object: &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "c", OwnerReferences: tt.now}}, User: &request.User{Name: "alice"},
		}
		if !tt.create {
			a.Operation, a.Old = admission.Update, &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{OwnerReferences: tt.old}}
		}
		plugin := admission.NewOwnerReferencesPermissionEnforcement(may, ownerResources)
		if got := message(plugin.Validate(t.Context(), a)); got != tt.want || !slices.Equal(may.asked, tt.asked) {
			t.Errorf("%s:\n got %s\nwant %s\n got asked %q\nwant asked %q", tt.name, got, tt.want, may.asked, tt.asked)
		}
		a.User = nil // a write of the server itself
		if err := plugin.Validate(t.Context(), a); err != nil {
			t.Errorf("%s: the server: %v", tt.name, err)
		}
	}
	status := &admission.Attributes{
		Operation: admission.Update, Resource: meta.GroupVersionResource{Version: "v1", Resource: "pods"}, Subresource: "status", User: &request.User{},
		Object: &corev1.Pod{ObjectMeta: meta.ObjectMeta{OwnerReferences: owners{plain}}}, Old: &corev1.Pod{},
	}
	if err := admission.NewOwnerReferencesPermissionEnforcement(&ownerRights{}, ownerResources).Validate(t.Context(), status); err != nil {
		t.Errorf("the status of a pod: %v", err)
	}
}
