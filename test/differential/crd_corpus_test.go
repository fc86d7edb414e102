package differential

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// published are modules with definitions that people install, and the directories of the
// definitions.
var published = []struct {
	module string
	dirs   []string
}{
	{"github.com/argoproj/argo-cd/v2@v2.14.21", []string{"manifests/crds"}},
	{"github.com/argoproj/argo-workflows/v3@v3.7.0", []string{"manifests/base/crds/full", "manifests/base/crds/minimal"}},
	{"github.com/cert-manager/cert-manager@v1.21.2", []string{"deploy/crds"}},
	{"github.com/crossplane/crossplane@v1.20.0", []string{"cluster/crds"}},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", []string{"example/prometheus-operator-crd", "example/prometheus-operator-crd-full"}},
	{"istio.io/api@v1.31.1", []string{"kubernetes"}},
	{"knative.dev/eventing@v0.46.0", []string{"config/core/resources", "config/channels/in-memory-channel/resources"}},
	{"knative.dev/serving@v0.51.0", []string{"config/core/300-resources", "third_party/contour-latest", "third_party/cert-manager-latest"}},
	{"sigs.k8s.io/cluster-api@v1.13.6", []string{"config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "controlplane/kubeadm/config/crd/bases",
		"cmd/clusterctl/config/crd/bases"}},
	{"sigs.k8s.io/gateway-api@v1.6.3", []string{"config/crd/standard", "config/crd/experimental"}},
}

// publishedDefinitions reads the definitions of all modules. The go command downloads missing
// modules.
func publishedDefinitions(t testing.TB) []*crdv1.CustomResourceDefinition {
	t.Helper()
	var all []*crdv1.CustomResourceDefinition
	for _, p := range published {
		root := moduleDir(t, p.module)
		before := len(all)
		for _, dir := range p.dirs {
			err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, ".yaml") {
					all = append(all, definitionsIn(t, path)...)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d definitions", p.module, len(all)-before)
	}
	if len(all) < 150 {
		t.Fatalf("%d definitions, which are too few", len(all))
	}
	return all
}

func moduleDir(t testing.TB, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if json.Unmarshal(out, &answer) != nil || answer.Dir == "" {
		t.Fatalf("go mod download %s: %v: %s", module, err, answer.Error)
	}
	return answer.Dir
}

// definitionsIn reads the definitions in a file of YAML documents.
func definitionsIn(t testing.TB, path string) []*crdv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []*crdv1.CustomResourceDefinition
	for _, document := range bytes.Split(append([]byte("\n"), data...), []byte("\n---")) {
		if !bytes.Contains(document, []byte("\nkind: CustomResourceDefinition")) {
			continue
		}
		crd := &crdv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(document, crd); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if crd.APIVersion == "apiextensions.k8s.io/v1" {
			out = append(out, crd)
		}
	}
	return out
}
