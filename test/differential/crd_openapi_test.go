package differential

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
)

// TestCustomOpenAPI compares the OpenAPI documents of published definitions with those of
// apiextensions: paths, operations with their parameters, and models.
func TestCustomOpenAPI(t *testing.T) {
	const url = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	o := newOurs(t)
	defs := map[string]*crdv1.CustomResourceDefinition{}
	for _, def := range publishedDefinitions(t) {
		def.Status = crdv1.CustomResourceDefinitionStatus{}
		def.Spec.Conversion = nil // an installer adds the certificate of the conversion webhook; here it is missing
		if ask(o, http.MethodPost, url, encode(def)).Code == http.StatusCreated {
			defs[def.Name] = def
		}
	}
	if len(defs) < 100 {
		t.Fatalf("%d definitions are accepted", len(defs))
	}
	for name, def := range defs { // read each as the server stores it
		established := func() bool {
			return slices.ContainsFunc(def.Status.Conditions, func(c crdv1.CustomResourceDefinitionCondition) bool {
				return c.Type == crdv1.Established && c.Status == crdv1.ConditionTrue
			})
		}
		for end := time.Now().Add(time.Minute); !established(); {
			if time.Now().After(end) {
				t.Fatalf("%s is not established", name)
			}
			if err := decode(encode(ask(o, http.MethodGet, url+"/"+name, nil).Body), def); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := document(t, o, "/openapi/v2")
	resolve(all["paths"], "#/parameters/", child(t, all, "parameters"))
	each := map[string]map[string]any{} // by group version
	for _, def := range defs {
		for _, v := range def.Spec.Versions {
			if !v.Served {
				continue
			}
			at := def.Spec.Group + "/" + v.Name
			v2, err := builder.BuildOpenAPIV2(def, v.Name, builder.Options{V2: true, IncludeSelectableFields: true})
			if err != nil {
				t.Fatal(err)
			}
			v2.Definitions = handler.PruneDefaults(v2.Definitions)
			theirs := tree(v2).(map[string]any)
			resolve(theirs["paths"], "#/parameters/", child(t, theirs, "parameters"))
			judgeCustom(t, "v2/"+at, child(t, theirs, "paths"), child(t, all, "paths"))
			judgeCustom(t, "v2/"+at, customModels(child(t, theirs, "definitions")), child(t, all, "definitions"))

			v3, err := builder.BuildOpenAPIV3(def, v.Name, builder.Options{IncludeSelectableFields: true})
			if err != nil {
				t.Fatal(err)
			}
			theirs = tree(v3).(map[string]any)
			if each[at] == nil {
				each[at] = document(t, o, "/openapi/v3/apis/"+at)
			}
			judgeCustom(t, "v3/"+at, child(t, theirs, "paths"), child(t, each[at], "paths"))
			judgeCustom(t, "v3/"+at, customModels(schemas(theirs)), schemas(each[at]))
		}
	}
}

// customModels removes the models of built-in kinds.
func customModels(models map[string]any) map[string]any {
	for name := range models {
		if strings.HasPrefix(name, "io.k8s.api") {
			delete(models, name)
		}
	}
	return models
}

// judgeCustom compares each entry of theirs with ours, which has entries for other definitions,
// too.
func judgeCustom(t *testing.T, at string, theirs, ours map[string]any) {
	t.Helper()
	for key, want := range theirs {
		compareDocument(at+key, want, ours[key], func(line string) { t.Error(line) })
	}
}
