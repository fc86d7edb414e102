package differential

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
)

// TestOpenAPI compares Coracle's OpenAPI documents with Kubernetes': everything except
// descriptions.
func TestOpenAPI(t *testing.T) {
	o := newOurs(t)
	t.Run("models", func(t *testing.T) { judgeModels(t, o) })
	t.Run("operations", func(t *testing.T) { judgeOperations(t, o, specDir(t)) })
	for _, d := range documentDecisions {
		if !d.seen && !t.Failed() {
			t.Errorf("no difference matches %s: delete it from the list", d.what)
		}
	}
}

// judgeModels compares the models of every document with those that Kubernetes builds of its own
// types.
func judgeModels(t *testing.T, o *ours) {
	namer := openapi.NewDefinitionNamer(legacyscheme.Scheme)
	for path := range child(t, document(t, o, "/openapi/v3"), "paths") {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			ours := schemas(document(t, o, "/openapi/v3/"+path))
			theirs, err := builder3.BuildOpenAPIDefinitionsForResources(genericserver.DefaultOpenAPIV3Config(generated.GetOpenAPIDefinitions, namer),
				slices.Collect(maps.Keys(ours))...)
			if err != nil {
				t.Fatal(err)
			}
			judgeDocument(t, inVersion(tree(theirs).(map[string]any), path), ours)
		})
	}
	t.Run("v2", func(t *testing.T) {
		ours := child(t, document(t, o, "/openapi/v2"), "definitions")
		theirs, err := builder.BuildOpenAPIDefinitionsForResources(genericserver.DefaultOpenAPIConfig(generated.GetOpenAPIDefinitions, namer),
			slices.Collect(maps.Keys(ours))...)
		if err != nil {
			t.Fatal(err)
		}
		judgeDocument(t, tree(handler.PruneDefaults(theirs.Definitions)), ours)
	})
}

// inVersion edits the models that belong to kinds of every group version. It keeps only the kinds
// of the document's own version and of v1, as kube-apiserver does after it has built a document of
// version 3.
func inVersion(models map[string]any, path string) map[string]any {
	gv := strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/")
	for _, name := range []string{"DeleteOptions", "WatchEvent"} {
		model, _ := models["io.k8s.apimachinery.pkg.apis.meta.v1."+name].(map[string]any)
		kinds, _ := model["x-kubernetes-group-version-kind"].([]any)
		kept := slices.DeleteFunc(kinds, func(kind any) bool {
			k := kind.(map[string]any)
			at := strings.TrimPrefix(fmt.Sprint(k["group"], "/", k["version"]), "/")
			return at != "v1" && at != gv
		})
		if len(kinds) > 0 {
			model["x-kubernetes-group-version-kind"] = kept
		}
	}
	return models
}

// judgeOperations compares paths, operations and the names of models with the documents of a
// kube-apiserver. Kubernetes keeps a copy of these with its source.
func judgeOperations(t *testing.T, o *ours, dir string) {
	served := child(t, document(t, o, "/openapi/v3"), "paths")
	t.Run("index", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(dir, "v3", "*_openapi.json"))
		if err != nil || len(files) == 0 {
			t.Fatal("no copy", err)
		}
		theirs, ours := map[string]any{}, map[string]any{}
		for _, file := range files {
			theirs[strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), "_openapi.json"), "__", "/")] = true
		}
		for path := range served {
			ours[path] = true
		}
		judgeDocument(t, theirs, ours)
	})
	for path := range served {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			ours, theirs := document(t, o, "/openapi/v3/"+path), readSpec(t, dir, "v3", strings.ReplaceAll(path, "/", "__")+"_openapi.json")
			withoutContents(schemas(ours))
			withoutContents(schemas(theirs))
			judgeDocument(t, theirs, ours)
		})
	}
	t.Run("v2", func(t *testing.T) {
		ours, theirs := document(t, o, "/openapi/v2"), readSpec(t, dir, "swagger.json")
		for _, doc := range []map[string]any{ours, theirs} {
			withoutContents(child(t, doc, "definitions"))
			resolve(doc["paths"], "#/parameters/", child(t, doc, "parameters"))
			delete(doc, "parameters") // their names contain hashes
		}
		judgeDocument(t, theirs, ours)
	})
}

// schemas are the models of a document of version 3; nil if all its bodies are plain text.
func schemas(doc map[string]any) map[string]any {
	components, _ := doc["components"].(map[string]any)
	models, _ := components["schemas"].(map[string]any)
	return models
}

// specDir is the directory of the copy.
func specDir(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "api", "openapi-spec")
}

func readSpec(t *testing.T, parts ...string) (doc map[string]any) {
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	if err := decode(data, &doc); err != nil {
		t.Fatal(err)
	}
	return withoutCBOR(doc).(map[string]any)
}

// withoutCBOR removes the media types of CBOR from a document. The copy was made with all alpha
// features on, and CBOR is one.
func withoutCBOR(node any) any {
	switch node := node.(type) {
	case map[string]any:
		for key, v := range node {
			if node[key] = withoutCBOR(v); strings.HasPrefix(key, "application/") && strings.Contains(key, "cbor") {
				delete(node, key)
			}
		}
	case []any:
		for i, v := range node {
			node[i] = withoutCBOR(v)
		}
		return slices.DeleteFunc(node, func(v any) bool {
			s, _ := v.(string)
			return strings.HasPrefix(s, "application/") && strings.Contains(s, "cbor")
		})
	}
	return node
}

func document(t *testing.T, o *ours, path string) map[string]any {
	t.Helper()
	a := ask(o, http.MethodGet, path, nil)
	if a.Code != http.StatusOK {
		t.Fatalf("%s: %d", path, a.Code)
	}
	return a.Body
}

func child(t *testing.T, doc map[string]any, name string) map[string]any {
	t.Helper()
	m, ok := doc[name].(map[string]any)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return m
}

// withoutContents empties models, because judgeModels compares their contents.
func withoutContents(models map[string]any) {
	for name := range models {
		models[name] = true
	}
}

// resolve replaces references to parameters, which begin with prefix, by the parameters.
func resolve(node any, prefix string, parameters map[string]any) {
	switch node := node.(type) {
	case map[string]any:
		for _, v := range node {
			resolve(v, prefix, parameters)
		}
	case []any:
		for i, v := range node {
			if m, ok := v.(map[string]any); ok {
				if ref, ok := m["$ref"].(string); ok {
					if p, ok := parameters[strings.TrimPrefix(ref, prefix)]; ok {
						node[i] = p
						continue
					}
				}
			}
			resolve(v, prefix, parameters)
		}
	}
}

// judgeDocument reports the differences for which there is no reason.
func judgeDocument(t *testing.T, theirs, ours any) {
	t.Helper()
	compareDocument("", theirs, ours, func(line string) {
		for _, d := range documentDecisions {
			if d.what.MatchString(line) {
				d.seen = true
				return
			}
		}
		t.Error(line)
	})
}

// compareDocument reports the differences between two trees, except in descriptions.
func compareDocument(at string, theirs, ours any, report func(line string)) {
	switch a := theirs.(type) {
	case map[string]any:
		if b, ok := ours.(map[string]any); ok {
			compareObjects(at, a, b, report)
			return
		}
	case []any:
		b, ok := ours.([]any)
		if !ok {
			break
		}
		if strings.HasSuffix(at, "/x-kubernetes-group-version-kind") {
			compareObjects(at, kindSet(a), kindSet(b), report)
			return
		}
		if len(a) == len(b) {
			for i := range a {
				compareDocument(fmt.Sprint(at, "/", i), a[i], b[i], report)
			}
			return
		}
	}
	if !reflect.DeepEqual(theirs, ours) {
		report(fmt.Sprintf("%s: Kubernetes: %s Coracle: %s", at, encode(theirs), encode(ours)))
	}
}

func compareObjects(at string, theirs, ours map[string]any, report func(line string)) {
	text := func(key string, value any) bool { _, ok := value.(string); return ok && key == "description" }
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		switch value, ok := ours[key]; {
		case text(key, theirs[key]):
		case ok:
			compareDocument(at+"/"+key, theirs[key], value, report)
		default:
			report(fmt.Sprintf("%s/%s: missing: %s", at, key, encode(theirs[key])))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := theirs[key]; !ok && !text(key, ours[key]) {
			report(fmt.Sprintf("%s/%s: extra: %s", at, key, encode(ours[key])))
		}
	}
}

// kindSet makes a set of a list of kinds.
func kindSet(kinds []any) map[string]any {
	set := map[string]any{}
	for _, k := range kinds {
		k, _ := k.(map[string]any)
		set[fmt.Sprint(k["group"], "/", k["version"], " ", k["kind"])] = true
	}
	return set
}

// documentDecision is an intended difference, or one that is left for later. what matches the line
// that reports it.
type documentDecision struct {
	what   *regexp.Regexp
	reason string
	seen   bool
}

func documented(what, reason string) *documentDecision {
	return &documentDecision{what: regexp.MustCompile(what), reason: reason}
}

var documentDecisions = []*documentDecision{
	documented(`^/info/version: `, "The copy was made by a build without a version."),
	documented(`^/io\.k8s\.(api\.networking\.v1\.IngressRule/properties/http|apiextensions-apiserver\.pkg\.apis\.apiextensions\.v1\.JSONSchemaProps`+
		`/properties/(additionalItems|additionalProperties|example|externalDocs|items|not))/(\$ref: missing|allOf: extra): `,
		"Coracle has a description where Kubernetes has none, and nothing can stand beside a reference."),
	documented(`(\bv[0-9]+(alpha|beta)[0-9]+|apis/(internal\.apiserver|storagemigration)|meta\.v1\.GroupResource)\b.*: missing: `,
		"The copy was made with all APIs on; these are off by default."),
	documented(`^/paths//api/v1/namespaces/\{namespace\}/pods/\{name\}/(attach|exec|log|portforward): missing: |/\{name\}/proxy(/\{path\})?: missing: `,
		"Connections to nodes, pods and services are not served yet."),
}
