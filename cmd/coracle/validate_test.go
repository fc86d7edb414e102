package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shipDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.quay.example.com}
spec:
  group: quay.example.com
  scope: Namespaced
  names: {plural: ships, kind: Ship}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/convert"}}
  versions:
  - {name: v1, served: true, storage: true, schema: &schema {openAPIV3Schema: {type: object, properties: {spec: {
      type: object, x-kubernetes-validations: [{rule: "self.sails <= 9", message: too many sails}],
      required: [sails, rig], properties: {
        sails: {type: integer, minimum: 1}, rig: {type: string, default: lug},
        crew: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {
          type: object, required: [name], properties: {name: {type: string}}}}}}}}}}
  - {name: v2, served: true, storage: false, schema: *schema}
  - {name: v3, served: false, storage: false, schema: *schema}
`

const ship = "\n---\napiVersion: quay.example.com/v1\nkind: Ship\nmetadata: {name: a}\nspec:\n  sails: 2\n"

const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "%s"}]
`

const hook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://example.com"}
  matchConditions: [{name: a, expression: "%s"}]
`

// TestValidate checks files, and that each mistake is printed on a line of its own.
func TestValidate(t *testing.T) {
	about := func(path string) string { return `ship.yaml: Ship "a": ` + path }
	for name, tt := range map[string]struct {
		text string
		want []string // nil: the file is valid
	}{
		"good":               {text: shipDefinition + ship},
		"definition behind":  {text: ship + "---" + shipDefinition},
		"another version":    {text: shipDefinition + strings.Replace(ship, "/v1", "/v2", 1)},
		"not served":         {shipDefinition + strings.Replace(ship, "/v1", "/v3", 1), []string{about(`no matches for kind "Ship" in version "quay.example.com/v3"`)}},
		"no definition":      {ship, []string{about(`no matches for kind "Ship" in version "quay.example.com/v1"`)}},
		"unknown field":      {shipDefinition + ship + "  mast: 1\n", []string{about(`Ship in version "v1" cannot be handled as a Ship: strict decoding error: unknown field "spec.mast"`)}},
		"several":            {shipDefinition + strings.Replace(ship, "2", "0\n  rig: 1", 1), []string{about("spec.sails: Invalid value: 0:"), about("spec.rig: Invalid value:")}},
		"missing":            {shipDefinition + strings.Replace(ship, "sails", "crew: []\n# ", 1), []string{about("spec.sails: Required value")}},
		"a key twice":        {shipDefinition + ship + "  crew: [{name: x}, {name: x}]\n", []string{about("spec.crew[1]: Duplicate value:")}},
		"broken rule":        {shipDefinition + strings.Replace(ship, "2", "10", 1), []string{about("spec: Invalid value: too many sails")}},
		"bad rule":           {strings.Replace(shipDefinition, "self.sails <=", "self.nails <=", 1), []string{"compilation failed: ERROR: <input>:1:5: undefined field 'nails'"}},
		"bad name":           {shipDefinition + strings.Replace(ship, "name: a", "name: A", 1), []string{`ship.yaml: Ship "A": metadata.name: Invalid value:`}},
		"bad definition":     {strings.Replace(shipDefinition, "{type: string, default: lug}", "{type: string, pattern: '('}", 1), []string{`ship.yaml: CustomResourceDefinition "ships.quay.example.com": `}},
		"two definitions":    {shipDefinition + "---" + shipDefinition, []string{`"ships.quay.example.com": there is another definition of ships.quay.example.com`}},
		"built-in":           {text: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}"},
		"mistake in that":    {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80, protocol: X}]}", []string{`ship.yaml: Service "a": spec.ports[0].protocol: Unsupported value: "X"`}},
		"policy":             {text: fmt.Sprintf(policy, "object.metadata.name != 'a'")},
		"bad policy":         {fmt.Sprintf(policy, "object.nme =="), []string{`ValidatingAdmissionPolicy "a": spec.validations[0].expression: Invalid value: "object.nme ==": compilation failed`}},
		"bad condition":      {fmt.Sprintf(hook, "object.nme =="), []string{`ValidatingWebhookConfiguration "a": webhooks[0].matchConditions[0].expression: Invalid value: "object.nme ==": compilation failed`}},
		"no YAML":            {"\t{", []string{"ship.yaml: document 1: yaml: "}},
		"finalizer, warning": {shipDefinition + strings.Replace(ship, "name: a", "name: a, finalizers: [x.y]", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("ship.yaml", []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			printed, err := validate(t, "", "-f", "ship.yaml")
			if (err == nil) != (tt.want == nil) {
				t.Errorf("got %v and %q, want %q", err, printed, tt.want)
			}
			if tt.want == nil && !strings.Contains(printed, "valid") {
				t.Errorf("got %q, want a word about it", printed)
			}
			for _, line := range tt.want {
				if !strings.Contains(printed, line) {
					t.Errorf("got %q, want %s", printed, line)
				}
			}
		})
	}
}

// TestValidateInput takes definitions from a folder and objects from the standard input.
func TestValidateInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ships.yaml"), []byte(shipDefinition), 0o644); err != nil {
		t.Fatal(err)
	}
	if printed, err := validate(t, ship, "-d", dir, "-f", "-"); err != nil || printed != "2 objects are valid\n" {
		t.Errorf("got %q, %v", printed, err)
	}
	if printed, err := validate(t, strings.Replace(ship, "2", "0", 1), "-d", dir, "-f", "-"); err == nil || !strings.HasPrefix(printed, `-: Ship "a": spec.sails: `) {
		t.Errorf("got %q, %v", printed, err)
	}
	// The folder has an example of every built-in kind.
	if printed, err := validate(t, "", "-f", "../../server/testdata/kinds"); err != nil {
		t.Errorf("built-in kinds: got %q, %v", printed, err)
	}
	for _, args := range [][]string{nil, {"-f", filepath.Join(dir, "none")}, {"-f", "-", "-d", filepath.Join(dir, "none")}} {
		if printed, err := validate(t, ship, args...); err == nil {
			t.Errorf("%q: got no error and %q", args, printed)
		}
	}
}

// validate runs the command and returns what it prints, errors first.
func validate(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := newCommand()
	cmd.SilenceErrors = true
	cmd.SetArgs(append([]string{"validate"}, args...))
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err := cmd.ExecuteContext(t.Context())
	return errs.String() + out.String(), err
}
