package webhooks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestFiles: hooks in files run before those of the API, also if their names are the same, and they
// alone see writes of configurations.
func TestFiles(t *testing.T) {
	k := newKit(t)
	k.configure("c", k.mutates("x", func(w *v1.MutatingWebhook) { ifNeeded(w); w.ClientConfig = k.client("api") }))
	k.configureChecks("c", k.validates("api"))
	inFiles := webhooks.NewFileCompiler(k.pool)
	file := func(path string) *webhooks.Hooks {
		hook := k.mutates("x", func(w *v1.MutatingWebhook) { ifNeeded(w); w.ClientConfig = k.client(path) })
		return inFiles.Mutating([]*v1.MutatingWebhookConfiguration{{ObjectMeta: meta.ObjectMeta{Name: "c"}, Webhooks: []v1.MutatingWebhook{hook}}})
	}
	checks := webhooks.NewFileCompiler(k.pool).Validating([]*v1.ValidatingWebhookConfiguration{
		{ObjectMeta: meta.ObjectMeta{Name: "c"}, Webhooks: []v1.ValidatingWebhook{k.validates("check")}},
	})
	now := file("file")
	k.hooks["api"] = addsTo("x", "a") // so the hook in the file runs again
	means := webhooks.Means{World: k.world}
	chain := admission.Chain{
		webhooks.NewMutating(func(context.Context) (*webhooks.Hooks, error) { return k.compilers[0].Mutating(k.mutating), nil }, means).
			WithFiles(func() *webhooks.Hooks { return now }),
		webhooks.NewValidating(func(context.Context) (*webhooks.Hooks, error) { return checks, nil }, means).
			WithFiles(func() *webhooks.Hooks { return checks }),
	}
	run := func(a *admission.Attributes, want string) {
		t.Helper()
		if err := chain.Mutate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if got := k.called(); got != want {
			t.Errorf("got calls %s, want %s", got, want)
		}
	}
	run(k.write(admission.Create, configMap("x", ""), nil), "file api file")
	if got := k.notes["mutation.webhook.admission.k8s.io/round_0_index_1"]; !strings.Contains(got, `"mutated":true`) {
		t.Errorf("got annotations %v", k.notes)
	}
	configuration := func() *admission.Attributes {
		a := k.write(admission.Create, configMap("x", ""), nil)
		a.Kind = v1.GroupVersion.WithKind("MutatingAdmissionPolicyBinding")
		return a
	}
	run(configuration(), "file")
	if err := chain.Validate(t.Context(), configuration()); err != nil || k.called() != "check" {
		t.Errorf("a validating hook in a file does not see configurations: %v", err)
	}
	now = file("other")
	run(k.write(admission.Create, configMap("x", ""), nil), "other api other")
	now = inFiles.Mutating(nil)
	run(k.write(admission.Create, configMap("x", ""), nil), "api")
	run(configuration(), "")
}

// TestReadConfiguration reads configurations of the plugins.
func TestReadConfiguration(t *testing.T) {
	const (
		v1       = "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n"
		v1alpha1 = "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: WebhookAdmission\n"
	)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		data string
		want webhooks.Configuration
		err  string
	}{
		{v1, webhooks.Configuration{}, ""},
		{v1 + "kubeConfigFile: " + file, webhooks.Configuration{KubeConfigFile: file}, ""},
		{v1alpha1 + "kubeConfigFile: " + file, webhooks.Configuration{KubeConfigFile: file}, ""},
		{v1 + "staticManifestsDir: d", webhooks.Configuration{StaticManifestsDir: "d"}, ""},
		{v1alpha1 + "staticManifestsDir: d", webhooks.Configuration{}, `strict decoding error: unknown field "staticManifestsDir"`},
		{v1 + "kubeConfigFile: f", webhooks.Configuration{KubeConfigFile: "f"}, `kubeConfigFile: Invalid value: "f": must be an absolute file path`},
	} {
		got, err := webhooks.ReadConfiguration([]byte(tt.data))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != tt.err || err == nil && got != tt.want {
			t.Errorf("%q: got %+v, %v", tt.data, got, err)
		}
	}
}
