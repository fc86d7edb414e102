package server_test

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
)

// refusingPlugin is an admission plugin that refuses config maps until a certain resource exists.
type refusingPlugin struct {
	resources registry.Stores
	name      meta.GroupResource
}

func (*refusingPlugin) Name() string                        { return "Demanding" }
func (*refusingPlugin) Handles(op admission.Operation) bool { return op == admission.Create }

func (d *refusingPlugin) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Resource.Resource == "configmaps" && d.resources.Store(d.name) == nil {
		return a.Forbidden("there are no %s", d.name)
	}
	return nil
}

// TestPluginsSeeResourcesComeAndGo: a plugin that was made before any resource existed finds one
// that is added and removed later.
func TestPluginsSeeResourcesComeAndGo(t *testing.T) {
	p := newInProcess(t, withKinds(1), func(c *server.Config) {
		c.Admission.Plugins = []plugins.Plugin{{Name: "Demanding", Make: func(resources registry.Stores, _ []byte) (admission.Plugin, error) {
			return &refusingPlugin{resources, widgetsName}, nil
		}}}
	})
	create := func(name string, want int) {
		t.Helper()
		if code, body := p.do("POST", maps, `{"metadata":{"name":"`+name+`"}}`); code != want {
			t.Errorf("create %s: got %d %s, want %d", name, code, body, want)
		}
	}
	create("before", http.StatusForbidden)
	p.install(widgets("test0.io", "widgets"))
	create("during", http.StatusCreated)
	p.remove(widgetsName)
	create("after", http.StatusForbidden)
}

// TestSignersHaveRights: a user who may create requests for certificates may not therefore approve
// or sign them.
func TestSignersHaveRights(t *testing.T) {
	p := newByRoles(t)
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	example, err := os.ReadFile(examples + "/certificatesigningrequests.certificates.k8s.io.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.want(201, "", "root", "POST", requests, string(example), "Content-Type", "application/yaml")
	grant := func(role, rules string) {
		t.Helper()
		p.want(201, "", "root", "POST", rbacPath+"/clusterroles", roleBody(role, rules))
		p.want(201, "", "root", "POST", rbacPath+"/clusterrolebindings", bindBody(role, "ClusterRole", role, "alice"))
	}
	const write = `"resources":["certificatesigningrequests/approval","certificatesigningrequests/status"],"verbs":["patch"]`
	grant("writer", `{"apiGroups":["certificates.k8s.io"],`+write+`}`)
	const approval = `{"status":{"conditions":[{"type":"Approved","status":"True"}]}}`
	const failure = `{"status":{"conditions":[{"type":"Failed","status":"True"}]}}`
	merge := []string{"Content-Type", "application/merge-patch+json"}
	p.want(403, `user not permitted to approve requests with signerName \"example.com/signer.one\"`, "alice", "PATCH", requests+"/example/approval", approval, merge...)
	p.want(403, `user not permitted to sign requests with signerName \"example.com/signer.one\"`, "alice", "PATCH", requests+"/example/status", failure, merge...)
	grant("signer", `{"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["example.com/*"],"verbs":["approve","sign"]}`)
	p.want(200, "", "alice", "PATCH", requests+"/example/status", failure, merge...)
	p.want(200, "", "alice", "PATCH", requests+"/example/approval", `{"status":{"conditions":[{"type":"Failed","status":"True"},{"type":"Approved","status":"True"}]}}`, merge...)
}
