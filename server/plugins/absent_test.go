package plugins_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// absentAtStart returns the plugins that a server names as absent in its log, line by line.
func absentAtStart(t *testing.T, change func(*server.Config)) (lines [][]string) {
	t.Helper()
	seen, logs := observer.New(zapcore.WarnLevel)
	cfg := server.Config{
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Log: zap.New(seen),
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
	}
	change(&cfg)
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, entry := range logs.FilterMessageSnippet("admission plugins").All() {
		var names []string
		for _, name := range entry.ContextMap()["absent"].([]any) {
			names = append(names, name.(string))
		}
		lines = append(lines, names)
	}
	return lines
}

// TestAbsentPluginsAtStart checks the line of the log that names the absent plugins that
// kube-apiserver has by default, except the disabled ones. A server without Kubernetes' groups, or
// with few of them, has no objects that these plugins would check.
func TestAbsentPluginsAtStart(t *testing.T) {
	var all, butOne []string
	for _, p := range plugins.Table() {
		if p.Default && !p.Here {
			all = append(all, p.Name)
		}
	}
	butOne = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "MutatingAdmissionWebhook" })
	for _, tt := range []struct {
		name   string
		change func(*server.Config)
		want   [][]string
	}{
		{"all", func(*server.Config) {}, [][]string{all}},
		{"all but one", func(c *server.Config) { c.Admission.Disable = []string{"MutatingAdmissionWebhook", "Priority"} }, [][]string{butOne}},
		{"all disabled", func(c *server.Config) { c.Admission.Disable = all }, nil},
		{"groups of one's own", func(c *server.Config) { c.API.Groups = ownGroup() }, nil},
		{"only definitions", func(c *server.Config) { c.API.Profile = server.ProfileCRDOnly }, nil},
	} {
		if got := absentAtStart(t, tt.change); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestAbsentPluginCannotBeEnabled enables each absent plugin: the configuration is invalid.
func TestAbsentPluginCannotBeEnabled(t *testing.T) {
	for _, p := range plugins.Table() {
		admission := plugins.Config{Enable: []string{p.Name}, Disable: []string{"Nope"}}
		_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Admission: admission})
		if got := strings.Contains(fmt.Sprint(err), "the admission plugin "+p.Name+" cannot be enabled: it is not here"); got == p.Here {
			t.Errorf("%s: got %v", p.Name, err)
		}
	}
}

// unheededObjects are objects that would configure an absent plugin, and patches of them, by
// resource.
var unheededObjects = map[string]struct{ path, object, change string }{
	"validatingwebhookconfigurations": {registrations + "validatingwebhookconfigurations",
		registered("ValidatingWebhookConfiguration", `"webhooks":[]`), labelled},
	"mutatingwebhookconfigurations": {registrations + "mutatingwebhookconfigurations",
		registered("MutatingWebhookConfiguration", `"webhooks":[]`), labelled},
	"validatingadmissionpolicies": {registrations + "validatingadmissionpolicies", registered("ValidatingAdmissionPolicy",
		`"spec":{"matchConstraints":{"resourceRules":[`+anyRule+`]},"validations":[{"expression":"true"}]}`), labelled},
	"validatingadmissionpolicybindings": {registrations + "validatingadmissionpolicybindings", registered("ValidatingAdmissionPolicyBinding",
		`"spec":{"policyName":"a","validationActions":["Deny"]}`), labelled},
	"mutatingadmissionpolicies": {registrations + "mutatingadmissionpolicies", registered("MutatingAdmissionPolicy",
		`"spec":{"reinvocationPolicy":"Never",
		"matchConstraints":{"resourceRules":[`+anyRule+`]},"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'remove', path: '/spec/a'}]"}}]}`), labelled},
	"mutatingadmissionpolicybindings": {registrations + "mutatingadmissionpolicybindings", registered("MutatingAdmissionPolicyBinding",
		`"spec":{"policyName":"a"}`), labelled},
}

const (
	registrations = "/apis/admissionregistration.k8s.io/v1/"
	anyRule       = `{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}`
	labelled      = `{"metadata":{"labels":{"a":"b"}}}`
)

// registered returns an object of a kind that registers webhooks or policies, without its name.
func registered(kind, rest string) string {
	return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"NAME"},` + rest + `}`
}

// TestWarningsOfAbsentPlugins writes objects that would configure an absent plugin, in every way
// there is. Each write gets a warning, except writes of the status, and except if the plugin is
// disabled.
func TestWarningsOfAbsentPlugins(t *testing.T) {
	walked := 0
	for _, plugin := range plugins.Table() {
		if plugin.Here || !plugin.Default {
			continue
		}
		p := newInProcess(t)
		quiet := newInProcess(t, func(c *server.Config) { c.Admission.Disable = []string{plugin.Name} })
		for _, gr := range plugin.IgnoredResources {
			example, ok := unheededObjects[gr.Resource]
			if !ok {
				t.Errorf("%s: there is no example", gr)
				continue
			}
			walked++
			warned := func(p *inProcess, method, path, body string, header ...string) bool {
				t.Helper()
				w := p.Serve(p.Request(method, path, strings.NewReader(body), header...))
				if w.Code != http.StatusOK && w.Code != http.StatusCreated {
					t.Fatalf("%s %s %s: got %d %s", method, path, body, w.Code, w.Body)
				}
				got := w.Header().Values("Warning")
				if len(got) > 0 && !slices.Equal(got, []string{`299 - "` + plugin.Absence() + `"`}) {
					t.Errorf("%s %s: got %q", method, path, got)
				}
				return len(got) > 0
			}
			object := func(name string) string { return strings.Replace(example.object, "NAME", name, 1) }
			one := example.path + "/a"
			for _, step := range []struct {
				name, method, path, body, form string
				want                           bool
			}{
				{"create", "POST", example.path, object("a"), "application/json", true},
				{"dry run", "POST", example.path + "?dryRun=All", object("b"), "application/json", true},
				{"update", "PUT", one, "", "application/json", true},
				{"patch", "PATCH", one, example.change, "application/merge-patch+json", true},
				{"apply", "PATCH", example.path + "/c?fieldManager=m", object("c"), "application/apply-patch+yaml", true},
				{"read", "GET", one, "", "application/json", false},
				{"delete", "DELETE", one, "", "application/json", false},
			} {
				if step.method == "PUT" {
					_, step.body = p.do("GET", step.path, "")
				}
				if got := warned(p, step.method, step.path, step.body, "Content-Type", step.form); got != step.want {
					t.Errorf("%s, %s: warned %t, want %t", gr, step.name, got, step.want)
				}
			}
			if warned(quiet, "POST", example.path, object("a")) {
				t.Errorf("%s: warned although %s is disabled", gr, plugin.Name)
			}
		}
	}
	if walked != len(unheededObjects) {
		t.Errorf("%d resources tell absent plugins something, and there are %d examples", walked, len(unheededObjects))
	}
}

// TestNoWarningsOfAbsentPlugins makes writes that would not configure an absent plugin: they get no
// warning.
func TestNoWarningsOfAbsentPlugins(t *testing.T) {
	p := newInProcess(t)
	for _, step := range []struct{ name, method, path, body string }{
		{"pod", "POST", "/api/v1/namespaces/ns/pods",
			`{"metadata":{"name":"a"},"spec":{"hostNetwork":true,"containers":[{"name":"a","image":"a"}]}}`},
		{"config map", "POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"a"}}`},
		{"namespace without labels", "POST", "/api/v1/namespaces", `{"metadata":{"name":"plain"}}`},
		{"namespace that lets pods do everything", "POST", "/api/v1/namespaces",
			`{"metadata":{"name":"free","labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`},
		{"another label of such a namespace", "PATCH", "/api/v1/namespaces/free", `{"metadata":{"labels":{"a":"b"}}}`},
		{"status of a namespace", "PATCH", "/api/v1/namespaces/free/status", `{"status":{"conditions":[{"type":"A","status":"True"}]}}`},
	} {
		w := p.Serve(p.Request(step.method, step.path, strings.NewReader(step.body)))
		if got := w.Header().Values("Warning"); w.Code/100 != 2 || len(got) > 0 {
			t.Errorf("%s: got %d %s, warnings %q", step.name, w.Code, w.Body, got)
		}
	}
	p.must("POST", "/api/v1/namespaces/ns/resourcequotas", `{"metadata":{"name":"a"},"spec":{"hard":{"pods":"1"}}}`)
	w := p.Serve(p.Request("PATCH", "/api/v1/namespaces/ns/resourcequotas/a/status", strings.NewReader(`{"status":{"used":{"pods":"1"}}}`)))
	if got := w.Header().Values("Warning"); w.Code != http.StatusOK || len(got) > 0 {
		t.Errorf("the status of a quota: got %d %s, warnings %q", w.Code, w.Body, got)
	}
}
