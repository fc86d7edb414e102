package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/server"
)

const registrationPath = "/apis/admissionregistration.k8s.io/v1/"

// manifests are directories of hooks for all four plugins that have one, and what the log says
// about them.
type manifests struct {
	t    *testing.T
	dir  string
	logs chan string
}

// The plugins that have directories, by the names of their directories.
var manifestPlugins = map[string]string{
	"vap": "ValidatingAdmissionPolicy", "map": "MutatingAdmissionPolicy",
	"vwh": "ValidatingAdmissionWebhook", "mwh": "MutatingAdmissionWebhook",
}

func newManifestDirs(t *testing.T) *manifests {
	m := &manifests{t, t.TempDir(), make(chan string, 100)}
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for dir, plugin := range manifestPlugins {
		kind := plugin + "Configuration"
		if strings.HasSuffix(plugin, "Webhook") {
			kind = "WebhookAdmissionConfiguration"
		}
		if err := os.Mkdir(filepath.Join(m.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		config += fmt.Sprintf("- {name: %s, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %s}}\n",
			plugin, kind, filepath.Join(m.dir, dir))
	}
	m.write("admission.yaml", config)
	return m
}

// write writes a file at once, so that nobody reads a part of it.
func (m *manifests) write(name, text string) {
	m.t.Helper()
	file := filepath.Join(m.dir, name)
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		m.t.Fatal(err)
	}
}

// configure is for newInProcess.
func (m *manifests) configure(c *server.Config) {
	c.Admission.ConfigFile, c.Admission.Manifests = filepath.Join(m.dir, "admission.yaml"), true
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zap.InfoLevel)
	c.Log = zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if strings.Contains(e.Message, "manifests of an admission plugin") {
			m.logs <- e.Message
		}
		return nil
	}))
}

// await waits for a line of the log.
func (m *manifests) await(want string) {
	m.t.Helper()
	if got := <-m.logs; !strings.HasPrefix(got, want) {
		m.t.Fatalf("the log says %q, want %q", got, want)
	}
}

// The head of an object of admissionregistration.k8s.io in a file, without its closing brace.
func manifestOf(kind, object string) string {
	return fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":%q,%s`, kind, object[1:])
}

// everything is a rule for all creates.
const everything = `[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE"],"resources":["*"]}]`

// refusing returns a validating policy with its binding that refuses objects of a name.
func refusing(name string) string {
	policy := fmt.Sprintf(`{"metadata":{"name":"refuse.static.k8s.io"},"spec":{"matchConstraints":{"resourceRules":%s},`+
		`"validations":[{"expression":"object.metadata.name != '%s'","message":"not %s"}]}}`, everything, name, name)
	return manifestOf("ValidatingAdmissionPolicy", policy) + "\n---\n" +
		manifestOf("ValidatingAdmissionPolicyBinding", bindingOf("refuse.static.k8s.io", `,"validationActions":["Deny"]`))
}

// marking returns a mutating policy, or its binding, that adds a mark to the annotation marks.
func marking(name, mark string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"matchConstraints":{"resourceRules":%s},"reinvocationPolicy":"Never",`+
		`"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":`+
		`"Object{metadata: Object.metadata{annotations: {'marks': (has(object.metadata.annotations) ? object.metadata.annotations[?'marks'].orValue('') : '') + '%s'}}}"}}]}}`,
		name, everything, mark)
}

// asking returns a configuration of webhooks that sends all creates to h.
func asking(h *patching, kind string) string {
	all := strings.NewReplacer(`"name":"w"`, `"name":"w.static.k8s.io"`, `"apiGroups":[""]`, `"apiGroups":["*"]`, `"configmaps"`, `"*"`, `"operations":["*"]`, `"operations":["CREATE"]`)
	return manifestOf(kind, all.Replace(h.configuration()))
}

// TestManifests has a server with hooks in files for all four plugins. They are in force from the
// first request, run before the hooks of the API, and see the objects that configure hooks.
func TestManifests(t *testing.T) {
	m, mutating, validating := newManifestDirs(t), newPatching(t), newPatching(t)
	validating.set("")
	m.write("vap/a.yaml", refusing("bad"))
	m.write("map/a.yaml", manifestOf("MutatingAdmissionPolicy", marking("mark.static.k8s.io", "file"))+"\n---\n"+
		manifestOf("MutatingAdmissionPolicyBinding", bindingOf("mark.static.k8s.io", "")))
	m.write("mwh/a.json", asking(mutating, "MutatingWebhookConfiguration"))
	m.write("vwh/a.json", asking(validating, "ValidatingWebhookConfiguration"))
	p := newInProcess(t, m.configure) // it creates the namespace ns
	if _, body := p.do("GET", "/api/v1/namespaces/ns", ""); !strings.Contains(body, `"marks":"file"`) ||
		mutating.calls.Load() == 0 || validating.calls.Load() == 0 {
		t.Errorf("the first request: got %s; %d and %d calls of webhooks", body, mutating.calls.Load(), validating.calls.Load())
	}
	refused := func(target, body string) {
		t.Helper()
		if code, answer := p.do("POST", target, body); code != http.StatusUnprocessableEntity || !strings.Contains(answer,
			"ValidatingAdmissionPolicy 'refuse.static.k8s.io' with binding 'refuse.static.k8s.io' denied request: not bad") {
			t.Errorf("%s: got %d %s", target, code, answer)
		}
	}
	refused("/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"bad"}}`)
	configurations := map[string]string{
		"validatingwebhookconfigurations":   `{"metadata":{"name":"bad"}}`,
		"mutatingwebhookconfigurations":     `{"metadata":{"name":"bad"}}`,
		"validatingadmissionpolicies":       policyOf("bad", "", "pods", `"validations":[{"expression":"true"}]`),
		"mutatingadmissionpolicies":         policyOf("bad", "", "pods", benchMutations),
		"validatingadmissionpolicybindings": bindingOf("bad", `,"validationActions":["Deny"]`),
		"mutatingadmissionpolicybindings":   bindingOf("bad", ""),
	}
	for resource, object := range configurations {
		before := mutating.calls.Load()
		refused(registrationPath+resource, object)
		good := strings.Replace(object, `"name":"bad"`, `"name":"good"`, 1)
		if code, answer := p.do("POST", registrationPath+resource+"?dryRun=All", good); code != http.StatusCreated || !strings.Contains(answer, `"marks":"file"`) {
			t.Errorf("%s: got %d %s", resource, code, answer)
		}
		if got := mutating.calls.Load() - before; got != 2 {
			t.Errorf("%s: a webhook was called %d times, want 2", resource, got)
		}
		static := strings.Replace(object, `"name":"bad"`, `"name":"good.static.k8s.io"`, 1)
		if code, answer := p.do("POST", registrationPath+resource+"?dryRun=All", static); code != http.StatusUnprocessableEntity || !strings.Contains(answer,
			`metadata.name: Invalid value: \"good.static.k8s.io\": names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and cannot be managed via the API`) {
			t.Errorf("%s: got %d %s", resource, code, answer)
		}
	}
	p.must("POST", registrationPath+"mutatingadmissionpolicies", marking("a", "api"))
	p.must("POST", registrationPath+"mutatingadmissionpolicybindings", bindingOf("a", ""))
	if _, body := p.do("POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"x"}}`); !strings.Contains(body, `"marks":"fileapi"`) {
		t.Errorf("with a policy of the API: got %s", body)
	}
	if _, body := p.do("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get"}}}`); strings.Contains(body, "marks") {
		t.Errorf("a policy judged a review: %s", body)
	}
}

// TestManifestsReload changes the files of a running server. Files with a mistake change nothing.
func TestManifestsReload(t *testing.T) {
	m, hook := newManifestDirs(t), newPatching(t)
	hook.set("")
	m.write("vap/a.yaml", refusing("bad"))
	p := newInProcess(t, m.configure)
	for range manifestPlugins {
		m.await("read the manifests")
	}
	const configMaps = "/api/v1/namespaces/ns/configmaps?dryRun=All"
	refuses := func(name string) {
		t.Helper()
		for _, other := range []string{"bad", "worse", ""} {
			want := http.StatusCreated
			if other == name {
				want = http.StatusUnprocessableEntity
			}
			if code, answer := p.do("POST", configMaps, fmt.Sprintf(`{"metadata":{"name":"%s","generateName":"x"}}`, other)); code != want {
				t.Errorf("%q: got %d %s, want %d", other, code, answer, want)
			}
		}
	}
	refuses("bad")
	m.write("vap/a.yaml", refusing("worse"))
	m.await("read the manifests")
	refuses("worse")
	m.write("vap/a.yaml", strings.Replace(refusing("bad"), ".static.k8s.io", "", 1))
	m.await("cannot use the manifests")
	refuses("worse")
	m.write("vap/a.yaml", refusing("bad"))
	m.await("read the manifests")
	refuses("bad")
	if err := os.Remove(filepath.Join(m.dir, "vap/a.yaml")); err != nil {
		t.Fatal(err)
	}
	m.await("read the manifests")
	refuses("nothing")
	m.write("vwh/a.yaml", asking(hook, "ValidatingWebhookConfiguration"))
	m.await("read the manifests")
	p.must("POST", configMaps, `{"metadata":{"name":"x"}}`)
	if hook.calls.Load() != 1 {
		t.Errorf("a webhook of a file that came later was called %d times", hook.calls.Load())
	}
	_, metrics := p.do("GET", "/metrics", "")
	for _, part := range []string{
		`apiserver_manifest_admission_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:ID",plugin="ValidatingAdmissionPolicy",status="success"} 4`,
		`apiserver_manifest_admission_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:ID",plugin="ValidatingAdmissionPolicy",status="failure"} 1`,
		`apiserver_manifest_admission_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:ID",plugin="MutatingAdmissionWebhook",status="success"} 1`,
		`apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash="sha256:ID",hash="",plugin="ValidatingAdmissionPolicy"} 1`,
		`apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash="sha256:ID",hash="sha256:`,
		`apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash="sha256:ID",plugin="MutatingAdmissionPolicy",status="success"} `,
	} {
		if !strings.Contains(metrics, strings.Replace(part, "sha256:ID", idHash(metrics), 1)) {
			t.Errorf("the metrics lack %s", part)
		}
	}
}

// idHash returns the hash by which metrics name the server.
func idHash(metrics string) string {
	_, rest, _ := strings.Cut(metrics, `apiserver_id_hash="`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
