package filters

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// TestEachRightOfImpersonation walks the rights that a request needs in each mode of
// impersonation. With all of them the request is served; without any single one it is refused.
func TestEachRightOfImpersonation(t *testing.T) {
	const agent = "system:serviceaccount:kube-system:agent"
	const authentication = ".authentication.k8s.io/"
	bob := &request.User{Name: "bob", Groups: []string{"dev"}}
	onNode := &request.User{Name: agent, Extra: map[string][]string{request.ExtraNodeName: {"n1"}}}
	everything := []string{
		"Impersonate-User", "jane", "Impersonate-Group", "ops", "Impersonate-Group", "dev", "Impersonate-Uid", "7",
		"Impersonate-Extra-Example.com%2fkey", "v1", "Impersonate-Extra-Example.com%2fkey", "v2", "Impersonate-Extra-Example.com%2fmore", "v3",
	}
	for _, tt := range []struct {
		mode    string
		by      *request.User
		headers []string
		rights  []string // verb and object of each
	}{
		{"legacy", bob, everything, []string{
			"impersonate users.//jane", "impersonate groups.//ops", "impersonate groups.//dev", "impersonate uids" + authentication + "/7",
			"impersonate userextras/example.com/key" + authentication + "/v1", "impersonate userextras/example.com/key" + authentication + "/v2",
			"impersonate userextras/example.com/more" + authentication + "/v3",
		}},
		{"legacy service account", bob, []string{"Impersonate-User", "system:serviceaccount:ns:robot", "Impersonate-Uid", "7"}, []string{
			"impersonate serviceaccounts./ns/robot", "impersonate uids" + authentication + "/7",
		}},
		{"user-info", bob, everything, []string{
			"impersonate-on:user-info:list pods./n/", "impersonate:user-info users" + authentication + "/jane",
			"impersonate:user-info groups" + authentication + "/ops", "impersonate:user-info groups" + authentication + "/dev",
			"impersonate:user-info uids" + authentication + "/7",
			"impersonate:user-info userextras/example.com/key" + authentication + "/v1",
			"impersonate:user-info userextras/example.com/key" + authentication + "/v2",
			"impersonate:user-info userextras/example.com/more" + authentication + "/v3",
		}},
		{"serviceaccount", bob, []string{"Impersonate-User", "system:serviceaccount:ns:robot"}, []string{
			"impersonate-on:serviceaccount:list pods./n/", "impersonate:serviceaccount serviceaccounts" + authentication + "ns/robot",
		}},
		{"arbitrary-node", bob, []string{"Impersonate-User", "system:node:n1"}, []string{
			"impersonate-on:arbitrary-node:list pods./n/", "impersonate:arbitrary-node nodes" + authentication + "/n1",
		}},
		{"associated-node", onNode, []string{"Impersonate-User", "system:node:n1"}, []string{
			"impersonate-on:associated-node:list pods./n/", "impersonate:associated-node nodes" + authentication + "/*",
		}},
	} {
		var all rights
		for _, right := range tt.rights {
			all = append(all, tt.by.Name+" "+right)
		}
		if got, w := impersonated(all, nil, tt.by, pods, tt.headers...); got == nil || got.by != tt.by {
			t.Errorf("%s with every right: got %v, %s", tt.mode, got, w.Body)
		}
		for i, right := range all {
			got, w := impersonated(slices.Delete(slices.Clone(all), i, i+1), nil, tt.by, pods, tt.headers...)
			if got != nil || !strings.Contains(w.Body.String(), "forbidden") {
				t.Errorf("%s without %q: got %v, %s, want a refusal", tt.mode, right, got, w.Body)
			}
		}
	}
}
