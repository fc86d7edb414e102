package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
)

// soundings is an own plugin with a configuration of its own kind.
type soundings struct {
	meta.TypeMeta `json:",inline"`
	Depth         int32 `json:"depth,omitempty"`
}

func (*soundings) Name() string                                          { return "Soundings" }
func (*soundings) Handles(admission.Operation) bool                      { return false }
func (*soundings) Mutate(context.Context, *admission.Attributes) error   { return nil }
func (*soundings) Validate(context.Context, *admission.Attributes) error { return nil }

// TestConfigFile configures an own plugin in an AdmissionConfiguration: in the file itself, in a
// file with a path relative to the folder of the first one, and with mistakes.
func TestConfigFile(t *testing.T) {
	const (
		head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
		own  = "apiVersion: sea.io/v1\nkind: Soundings\ndepth: 7\n"
	)
	for name, tt := range map[string]struct {
		main, beside string // the file and, if not "", own.yaml beside it
		want         int32  // the depth that the plugin gets
		err          string // a part of the error; FILE stands for the file's name
	}{
		"inside":                {main: head + "- name: Soundings\n  configuration: {apiVersion: sea.io/v1, kind: Soundings, depth: 7}\n", want: 7},
		"an older version":      {main: strings.Replace(head, "apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1", 1) + "- name: Soundings\n  path: own.yaml\n", beside: own, want: 7},
		"by path":               {main: head + "- name: Soundings\n  path: own.yaml\n", beside: own, want: 7},
		"the first counts":      {main: head + "- name: Soundings\n  path: own.yaml\n- name: Soundings\n  path: nowhere.yaml\n", beside: own, want: 7},
		"of another":            {main: head + "- name: Other\n  path: nowhere.yaml\n", want: -1},
		"of one without a kind": {main: "podNodeSelectorPluginConfig: {a: b=c}\n", want: -1},
		"no file beside":        {main: head + "- name: Soundings\n  path: nowhere.yaml\n", err: "nowhere.yaml: no such file"},
		"an unknown field":      {main: head + "- name: Soundings\n  paths: own.yaml\n", err: `FILE: strict decoding error: unknown field "plugins[0].paths"`},
		"a repeated field":      {main: head + "- name: Soundings\n  name: Soundings\n", err: `FILE: strict decoding error: yaml: unmarshal errors:`},
		"another kind":          {main: "apiVersion: v1\nkind: Pod\n", err: `FILE: no kind "Pod" is registered for version "v1": want AdmissionConfiguration of apiserver.config.k8s.io/v1`},
		"no kind":               {main: "plugins: []\n", err: "FILE: Object 'Kind' is missing in"},
		"no content":            {main: "\n", err: "FILE: the configuration is empty"},
		"no YAML":               {main: "a: [", err: "FILE: yaml: line 1: did not find expected node content"},
		"wrong for the plugin": {main: head + "- name: Soundings\n  configuration: {apiVersion: sea.io/v1, kind: Soundings, width: 7}\n",
			err: `admission plugin Soundings: FILE: strict decoding error: unknown field "width"`},
		"wrong in its own file": {main: head + "- name: Soundings\n  path: own.yaml\n", beside: own + "depth: 8\n", err: "own.yaml: strict decoding error"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "admission.yaml")
			for name, text := range map[string]string{"admission.yaml": tt.main, "own.yaml": tt.beside} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := soundings{Depth: -1}
			c := Config{ConfigFile: file, Plugins: []Plugin{{Name: "Soundings", Make: func(_ registry.Stores, configuration []byte) (admission.Plugin, error) {
				if configuration == nil {
					return &got, nil
				}
				return &got, admission.DecodeStrict(configuration, &got, meta.GroupVersionKind{Group: "sea.io", Version: "v1", Kind: "Soundings"})
			}}}}
			_, err := New(&c, Needs{Stores: noResources{}, Metrics: prometheus.NewRegistry(), OnClose: func(func() error) {}})
			if want := strings.ReplaceAll(tt.err, "FILE", file); want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			if err != nil || got.Depth != tt.want {
				t.Errorf("got depth %d, %v, want %d", got.Depth, err, tt.want)
			}
		})
	}
	if _, err := New(&Config{ConfigFile: "nowhere"}, Needs{Stores: noResources{}, Metrics: prometheus.NewRegistry(), OnClose: func(func() error) {}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: got %v", err)
	}
}

// FuzzConfigFile: nothing in the file makes New panic.
func FuzzConfigFile(f *testing.F) {
	f.Add("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: A, path: b}]\n")
	f.Add("imagePolicy: {defaultAllow: true}\n")
	f.Add(`{"plugins":[{"configuration":{"a":1}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readConfigurations(file); err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

// TestManifestMistakes: a directory of manifests that cannot be used is an error.
func TestManifestMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("apiVersion: v1\nkind: Pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for plugin, kind := range map[string]string{
		"ValidatingAdmissionPolicy": "ValidatingAdmissionPolicyConfiguration", "MutatingAdmissionPolicy": "MutatingAdmissionPolicyConfiguration",
		"ValidatingAdmissionWebhook": "WebhookAdmissionConfiguration", "MutatingAdmissionWebhook": "WebhookAdmissionConfiguration",
	} {
		what := "policy"
		if strings.HasSuffix(plugin, "Webhook") {
			what = "webhook"
		}
		file := filepath.Join(t.TempDir(), "admission.yaml")
		text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: %s, configuration: "+
			"{apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %s}}]\n", plugin, kind, dir)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for allowed, want := range map[bool]string{
			false: "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled",
			true: fmt.Sprintf(`failed to load static %s manifests from %q: error loading %s/a.yaml: no kind "Pod" is registered for version "v1" in scheme "coracle"`,
				what, dir, dir),
		} {
			var ends []func() error
			_, err := New(&Config{ConfigFile: file, Manifests: allowed}, Needs{Stores: noResources{}, Metrics: prometheus.NewRegistry(), Log: zap.NewNop(),
				OnClose: func(end func() error) { ends = append(ends, end) }})
			for _, end := range ends {
				if err := end(); err != nil {
					t.Error(err)
				}
			}
			if want = fmt.Sprintf("server: admission plugin %s: %s: %s", plugin, file, want); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
