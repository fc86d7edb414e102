package server_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
)

// demanding is an admission plugin that refuses config maps while there is no resource of a name.
type demanding struct {
	resources registry.Stores
	name      meta.GroupResource
}

func (*demanding) Name() string                        { return "Demanding" }
func (*demanding) Handles(op admission.Operation) bool { return op == admission.Create }

func (d *demanding) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Resource.Resource == "configmaps" && d.resources.Store(d.name) == nil {
		return a.Forbidden("there are no %s", d.name)
	}
	return nil
}

// TestPluginsSeeResourcesComeAndGo has a plugin, which is made before there is any resource, look for one that comes and
// goes later.
func TestPluginsSeeResourcesComeAndGo(t *testing.T) {
	p := newInProcess(t, withKinds(1), func(c *server.Config) {
		c.Admission.Plugins = []plugins.Plugin{{Name: "Demanding", Make: func(resources registry.Stores) (admission.Plugin, error) {
			return &demanding{resources, widgetsName}, nil
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

// TestDeviceAdminAccess: a label of a namespace lets claims in it have access to devices as an administrator.
func TestDeviceAdminAccess(t *testing.T) {
	p := newInProcess(t)
	const claims = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims"
	const claim = `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c","adminAccess":true}}]}}}`
	if code, body := p.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"team"}}`); code != http.StatusCreated {
		t.Fatalf("namespace: got %d %s", code, body)
	}
	if code, body := p.do("POST", claims, claim); code != http.StatusUnprocessableEntity {
		t.Errorf("without the label: got %d %s, want %d", code, body, http.StatusUnprocessableEntity)
	}
	code, body := p.do("PATCH", "/api/v1/namespaces/team", `{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`,
		"Content-Type", "application/merge-patch+json")
	if code != http.StatusOK {
		t.Fatalf("label: got %d %s", code, body)
	}
	if code, body := p.do("POST", claims, claim); code != http.StatusCreated {
		t.Errorf("with the label: got %d %s, want %d", code, body, http.StatusCreated)
	}
}

// withoutRight refuses one verb on subresources of claims, which nobody asks for in a path.
type withoutRight struct{ verb, subresource string }

func (f withoutRight) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	if a.Resource == "resourceclaims" && a.Subresource == f.subresource && a.Verb == f.verb {
		return request.Deny, "", nil
	}
	return request.NoOpinion, "", nil
}

// TestClaimStatusRights: a reservation takes the verb of the request on resourceclaims/binding, besides that on the status.
func TestClaimStatusRights(t *testing.T) {
	const status = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a/status"
	reserved := func(uid string) string {
		return `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"a"},"status":{"allocation":{},"reservedFor":[{"resource":"pods","name":"p","uid":"` + uid + `"}]}}`
	}
	for verb, other := range map[string]string{"PUT": "PATCH", "PATCH": "PUT"} {
		p := newInProcess(t, func(cfg *server.Config) {
			cfg.Authorization.Authorizer = withoutRight{map[string]string{"PUT": "update", "PATCH": "patch"}[verb], "binding"}
		})
		if code, body := p.do("POST", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims", `{"metadata":{"name":"a"},"spec":{}}`); code != http.StatusCreated {
			t.Fatalf("claim: got %d %s", code, body)
		}
		if code, body := p.do(verb, status, reserved("1"), "Content-Type", contentTypes[verb]); code != http.StatusUnprocessableEntity ||
			!strings.Contains(body, "resourceclaims/binding") {
			t.Errorf("%s without the right: got %d %s", verb, code, body)
		}
		if code, body := p.do(other, status, reserved("1"), "Content-Type", contentTypes[other]); code != http.StatusOK {
			t.Errorf("%s with the right: got %d %s", other, code, body)
		}
	}
}

var contentTypes = map[string]string{"PUT": "application/json", "PATCH": "application/merge-patch+json"}

// TestAdmissionMetrics times plugins, and all of them together, by what is done and by what they say of it.
func TestAdmissionMetrics(t *testing.T) {
	p := newInProcess(t)
	const pods = "/api/v1/namespaces/ns/pods"
	for class, want := range map[string]int{"": 201, "none": 403} {
		body := `{"metadata":{"name":"a"},"spec":{"priorityClassName":"` + class + `","containers":[{"name":"a","image":"a"}]}}`
		if code, answer := p.do("POST", pods, body); code != want {
			t.Fatalf("got %d %s, want %d", code, answer, want)
		}
	}
	for _, series := range []string{
		`apiserver_admission_controller_admission_duration_seconds_count{name="Priority",operation="CREATE",rejected="false",type="admit"} `,
		`apiserver_admission_controller_admission_duration_seconds_count{name="Priority",operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_controller_admission_duration_seconds_count{name="NamespaceLifecycle",operation="CREATE",rejected="false",type="admit"} `,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="false",type="validate"} `,
	} {
		if got := shownLines(t, p, regexp.QuoteMeta(series)); len(got) != 1 {
			t.Errorf("%s: got %q", series, got)
		}
	}
}

// TestSignersHaveRights: who may write requests for certificates may not for that approve and sign them.
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
