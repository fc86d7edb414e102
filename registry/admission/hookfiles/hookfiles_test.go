package hookfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// The head of each object, with a name.
const (
	headPolicy  = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: %s}\n"
	headBinding = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: %s}\n"
	headHook    = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: %s}\n"
	specPolicy  = "spec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n" +
		"  validations: [{expression: 'true'}]\n"
	specHook = "webhooks: [{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a'}}]\n"
)

func policy(name, more string) string { return fmt.Sprintf(headPolicy, name) + specPolicy + more }

func binding(name, policy, more string) string {
	return fmt.Sprintf(headBinding, name) + "spec: {policyName: " + policy + ", validationActions: [Deny]" + more + "}\n"
}

func hook(name string) string { return fmt.Sprintf(headHook, name) + specHook }

// list returns a List of objects.
func list(objects ...string) string {
	text := "apiVersion: v1\nkind: List\nitems:\n"
	for _, o := range objects {
		text += "- " + strings.TrimSpace(strings.ReplaceAll(o, "\n", "\n  ")) + "\n"
	}
	return text
}

// directory makes a directory of files. Each argument is the name of a file and its text.
func directory(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestValidatingPolicies reads directories of policies and bindings. The texts of errors are
// kube-apiserver's; DIR stands for the directory.
func TestValidatingPolicies(t *testing.T) {
	const (
		a, b = "a.static.k8s.io", "b.static.k8s.io"
		json = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",` +
			`"metadata":{"name":"b.static.k8s.io"},"spec":{"policyName":"a.static.k8s.io","validationActions":["Deny"]}}`
		typed = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBindingList\nitems:\n" +
			"- {metadata: {name: b.static.k8s.io}, spec: {policyName: a.static.k8s.io, validationActions: [Deny]}}\n"
	)
	for name, tt := range map[string]struct {
		files []string
		want  string // the names of policies and bindings
		err   string
	}{
		"nothing":                {},
		"other files":            {files: []string{"a.txt", "x", "yaml", "x"}},
		"empty files":            {files: []string{"a.yaml", "", "b.json", " \n"}},
		"no binding":             {files: []string{"a.yaml", policy(a, "")}, want: a + " | "},
		"three extensions":       {files: []string{"1.YML", policy(b, ""), "2.yaml", policy(a, ""), "3.json", json}, want: a + " " + b + " | " + b},
		"documents":              {files: []string{"a.yaml", "---\n" + policy(a, "") + "---  # more\n" + json + "\n---\n\n---\n" + policy(b, "")}, want: a + " " + b + " | " + b},
		"lines that end in CRLF": {files: []string{"a.yaml", strings.ReplaceAll(policy(a, "")+"---\n"+policy(b, ""), "\n", "\r\n")}, want: a + " " + b + " | "},
		"a List":                 {files: []string{"a.yaml", list(binding(a, b, ""), list(policy(b, "")))}, want: b + " | " + a},
		"a List of any version":  {files: []string{"a.yaml", strings.Replace(list(policy(b, "")), "v1", "x/y", 1)}, want: b + " | "},
		"a typed list":           {files: []string{"a.yaml", typed, "b.yaml", policy(a, "")}, want: a + " | " + b},
		"the same name twice":    {files: []string{"a.yaml", policy(a, ""), "b.yaml", binding(a, a, "")}, want: a + " | " + a},

		"no YAML":                   {files: []string{"a.yaml", "a: [\n"}, err: "error loading DIR/a.yaml: yaml: line 1: did not find expected node content"},
		"no JSON":                   {files: []string{"a.yaml", "{a: b}\n"}, err: "error loading DIR/a.yaml: couldn't get version/kind; json parse error: invalid character 'a' looking for beginning of object key string"},
		"two JSON objects":          {files: []string{"a.json", json + json}, err: "error loading DIR/a.json: couldn't get version/kind; json parse error: invalid character '{' after top-level value"},
		"a comment":                 {files: []string{"a.yaml", "# only a comment\n---\n" + policy(a, "")}, err: "error loading DIR/a.yaml: Object 'Kind' is missing in '# only a comment'"},
		"two separators":            {files: []string{"a.yaml", "---\n---\n" + policy(a, "")}, err: "error loading DIR/a.yaml: Object 'Kind' is missing in '---'"},
		"no version":                {files: []string{"a.yaml", "kind: List\n"}, err: "error loading DIR/a.yaml: Object 'apiVersion' is missing in 'kind: List'"},
		"a bad separator":           {files: []string{"a.yaml", policy(a, "") + "--- x\n"}, err: `failed to split YAML documents in file "DIR/a.yaml": invalid Yaml document separator: x`},
		"an unknown field":          {files: []string{"a.yaml", policy(a, "  params: x\n")}, err: `error loading DIR/a.yaml: strict decoding error: unknown field "spec.params"`},
		"a repeated field":          {files: []string{"a.yaml", policy(a, "kind: ValidatingAdmissionPolicy\n")}, err: "error loading DIR/a.yaml: strict decoding error: yaml: unmarshal errors:\n  line 7: key \"kind\" already set in map"},
		"a repeated field of JSON":  {files: []string{"a.yaml", json[:len(json)-1] + `,"metadata":{"name":"b.static.k8s.io"}}`}, err: `error loading DIR/a.yaml: strict decoding error: duplicate field "metadata"`},
		"another kind":              {files: []string{"a.yaml", "apiVersion: v1\nkind: Pod\n"}, err: `error loading DIR/a.yaml: no kind "Pod" is registered for version "v1" in scheme "coracle"`},
		"of another plugin":         {files: []string{"a.yaml", hook(a)}, err: "error loading DIR/a.yaml: unsupported resource type *v1.ValidatingWebhookConfiguration"},
		"of another plugin, a list": {files: []string{"a.yaml", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyList\n"}, err: "error loading DIR/a.yaml: unsupported resource type *v1.MutatingAdmissionPolicyList"},
		"an old version":            {files: []string{"a.yaml", strings.Replace(policy(a, ""), "/v1", "/v1beta1", 1)}, err: "error loading DIR/a.yaml: unsupported resource type *v1beta1.ValidatingAdmissionPolicy"},
		"a Status":                  {files: []string{"a.yaml", "apiVersion: v1\nkind: Status\n"}, err: "error loading DIR/a.yaml: unsupported resource type *v1.Status"},
		"an item":                   {files: []string{"a.yaml", list("apiVersion: v1")}, err: `error loading DIR/a.yaml: failed to decode list item: Object 'Kind' is missing in '{"apiVersion":"v1"}'`},
		"an item of null":           {files: []string{"a.yaml", list("null")}, err: `error loading DIR/a.yaml: failed to decode list item: Object 'Kind' is missing in ''`},
		"no name":                   {files: []string{"a.yaml", policy(`""`, "")}, err: `error loading DIR/a.yaml: ValidatingAdmissionPolicy "": metadata.name: Required value: name or generateName is required`},
		"mistakes":                  {files: []string{"a.yaml", fmt.Sprintf(headPolicy, "A") + "spec: {failurePolicy: x}\n"}, err: `error loading DIR/a.yaml: ValidatingAdmissionPolicy "A": [metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), spec.failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore", spec.matchConstraints: Required value, spec.validations: Required value: validations or auditAnnotations must contain at least one item, spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]`},
		"an expression":             {files: []string{"a.yaml", strings.Replace(policy(a, ""), "'true'", "'1'", 1)}, err: `error loading DIR/a.yaml: ValidatingAdmissionPolicy "a.static.k8s.io": spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`},
		"another name":              {files: []string{"a.yaml", policy("a", "")}, err: `error loading DIR/a.yaml: "a" in file "DIR/a.yaml" must have a name ending with ".static.k8s.io"`},
		"another policy":            {files: []string{"a.yaml", policy(a, ""), "b.yaml", binding(a, "a", "")}, err: `error loading DIR/b.yaml: binding "a.static.k8s.io": spec.policyName "a" must end with ".static.k8s.io"`},
		"a policy elsewhere":        {files: []string{"a.yaml", policy(a, ""), "b.yaml", binding(b, b, "") + "---\n" + binding(a, b, "")}, err: `binding "b.static.k8s.io" references policy "b.static.k8s.io" which does not exist in the manifest directory`},
		"twice":                     {files: []string{"a.yaml", policy(a, ""), "b.yaml", list(policy(b, ""), policy(a, ""))}, err: `error loading DIR/b.yaml: duplicate name "a.static.k8s.io" found in file "DIR/b.yaml" (previously seen in "DIR/a.yaml")`},
		"a kind of params":          {files: []string{"a.yaml", policy(a, "  paramKind: {apiVersion: v1, kind: ConfigMap}\n")}, err: `error loading DIR/a.yaml: ValidatingAdmissionPolicy "a.static.k8s.io": spec.paramKind is not supported for static manifests`},
		"params":                    {files: []string{"a.yaml", binding(a, a, ", paramRef: {name: x, parameterNotFoundAction: Deny}")}, err: `error loading DIR/a.yaml: binding "a.static.k8s.io": spec.paramRef is not supported for static manifests`},
		"the first counts":          {files: []string{"b.yaml", policy("b", ""), "a.yaml", policy("a", "")}, err: `error loading DIR/a.yaml: "a" in file "DIR/a.yaml" must have a name ending with ".static.k8s.io"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, tt.files...)
			found, content, err := ValidatingPolicies(dir)
			if got := strings.ReplaceAll(text(err), dir, "DIR"); got != tt.err {
				t.Fatalf("got error\n%s, want\n%s", got, tt.err)
			}
			if got := names(found.Policies) + " | " + names(found.Bindings); tt.err == "" && got != tt.want && tt.want+got != " | " {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if tt.err != "" && (content != nil || found.Policies != nil || found.Bindings != nil) {
				t.Errorf("got %v and %q beside an error", found, content)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// names returns the names of objects.
func names[T meta.Object](objects []T) string {
	var list []string
	for _, obj := range objects {
		list = append(list, obj.GetObjectMeta().Name)
	}
	return strings.Join(list, " ")
}

// TestWebhooks reads directories of webhooks.
func TestWebhooks(t *testing.T) {
	const service = "clientConfig: {service: {namespace: a, name: b}}"
	for name, tt := range map[string]struct {
		files     []string
		want, err string
	}{
		"two":       {files: []string{"1.yaml", hook("b.static.k8s.io"), "2.yaml", hook("a.static.k8s.io")}, want: "a.static.k8s.io b.static.k8s.io"},
		"a service": {files: []string{"a.yaml", strings.Replace(hook("a.static.k8s.io"), "clientConfig: {url: 'https://a'}", service, 1)}, err: `error loading DIR/a.yaml: webhook "a.b.c" in "a.static.k8s.io" (file "DIR/a.yaml"): clientConfig.service is not supported for static manifests; use clientConfig.url instead`},
		"no URL":    {files: []string{"a.yaml", strings.Replace(hook("a.static.k8s.io"), "url: 'https://a'", "", 1)}, err: `error loading DIR/a.yaml: ValidatingWebhookConfiguration "a.static.k8s.io": webhooks[0].clientConfig: Required value: exactly one of url or service is required`},
		"a policy":  {files: []string{"a.yaml", policy("a.static.k8s.io", "")}, err: "error loading DIR/a.yaml: unsupported resource type *v1.ValidatingAdmissionPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, tt.files...)
			validating, content, err := ValidatingWebhooks(dir)
			if got := strings.ReplaceAll(text(err), dir, "DIR"); got != tt.err || names(validating) != tt.want {
				t.Errorf("got %s and error\n%s, want\n%s", names(validating), got, tt.err)
			}
			other := strings.NewReplacer("ValidatingWebhook", "MutatingWebhook")
			for i := 1; i < len(tt.files); i += 2 {
				tt.files[i] = other.Replace(tt.files[i])
			}
			dir = directory(t, tt.files...)
			mutating, _, err := MutatingWebhooks(dir)
			if got := strings.ReplaceAll(text(err), dir, "DIR"); got != other.Replace(tt.err) || names(mutating) != tt.want {
				t.Errorf("mutating: got %s and error\n%s, want\n%s", names(mutating), got, tt.err)
			}
			if tt.err == "" && string(content) != hook("b.static.k8s.io")+"\x00"+hook("a.static.k8s.io")+"\x00" {
				t.Errorf("got content %q", content)
			}
		})
	}
}

// TestDefaults: an object in a file has the defaults of its kind.
func TestDefaults(t *testing.T) {
	list, _, err := ValidatingWebhooks(directory(t, "a.yaml", hook("a.static.k8s.io")))
	if err != nil || list[0].Webhooks[0].FailurePolicy == nil || *list[0].Webhooks[0].TimeoutSeconds != 10 {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestNoDirectory: a directory and a file that cannot be read are errors.
func TestNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if _, _, err := MutatingPolicies(dir); text(err) != fmt.Sprintf("failed to read manifest directory %q: open %s: no such file or directory", dir, dir) {
		t.Errorf("got %v", err)
	}
	dir = directory(t)
	file := filepath.Join(dir, "a.yaml")
	if err := os.Symlink("nowhere", file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := MutatingPolicies(dir); text(err) != fmt.Sprintf("failed to read file %q: open %s: no such file or directory", file, file) {
		t.Errorf("got %v", err)
	}
}

// TestConfiguration reads the configuration of a plugin, and checks the directory that it names.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	head := "apiVersion: apiserver.config.k8s.io/v1\nkind: ValidatingAdmissionPolicyConfiguration\n"
	for _, tt := range []struct {
		data    string
		allowed bool
		want    string
		err     string
	}{
		{head, false, "", ""},
		{head + "staticManifestsDir: " + dir, true, dir, ""},
		{head + "staticManifestsDir: " + dir, false, dir, "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled"},
		{head + "staticManifestsDir: d", true, "d", `staticManifestsDir: Invalid value: "d": must be an absolute file path`},
		{head + "staticManifestsDir: " + file, true, file, fmt.Sprintf("staticManifestsDir: Invalid value: %q: must be a directory", file)},
		{head + "staticManifestsDir: " + file + "x", true, file + "x", fmt.Sprintf("staticManifestsDir: Invalid value: %q: unable to read: stat %s: no such file or directory", file+"x", file+"x")},
		{head + "dir: x", true, "", `strict decoding error: unknown field "dir"`},
		{strings.Replace(head, "kind: V", "kind: X", 1), true, "", `no kind "XalidatingAdmissionPolicyConfiguration" is registered for version "apiserver.config.k8s.io/v1": want ValidatingAdmissionPolicyConfiguration of apiserver.config.k8s.io/v1`},
		{"", true, "", "the configuration is empty"},
	} {
		got, err := ReadPolicyConfiguration("ValidatingAdmissionPolicy", []byte(tt.data))
		if err == nil {
			err = CheckDir(got, tt.allowed)
		}
		if got != tt.want || text(err) != tt.err {
			t.Errorf("%q: got %q, %v; want error %s", tt.data, got, err, tt.err)
		}
	}
	if got, err := ReadPolicyConfiguration("ValidatingAdmissionPolicy", nil); got != "" || err != nil {
		t.Errorf("no configuration: got %q, %v", got, err)
	}
}

// FuzzFile: nothing in a file makes the reader panic. What it accepts has a reserved name.
func FuzzFile(f *testing.F) {
	f.Add(policy("a.static.k8s.io", "") + "---\n" + binding("b.static.k8s.io", "a.static.k8s.io", ""))
	f.Add(list(policy("a.static.k8s.io", ""), list()))
	f.Add(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyList","items":[null,{}]}`)
	f.Add("---\n---x")
	f.Fuzz(func(t *testing.T, text string) {
		texts, err := split([]byte(text))
		r := &reader{kinds: []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}, files: map[string]string{}}
		for i := 0; i < len(texts) && err == nil; i++ {
			err = r.document(document{"f", texts[i]})
		}
		for _, obj := range r.found {
			if !strings.HasSuffix(obj.GetObjectMeta().Name, ".static.k8s.io") {
				t.Errorf("got %s", obj.GetObjectMeta().Name)
			}
		}
	})
}
