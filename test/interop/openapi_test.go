package interop

import (
	"maps"
	"slices"
	"testing"

	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/schemaconv"
	protoschema "k8s.io/kube-openapi/pkg/util/proto"
)

// TestOpenAPI reads every document with the clients of client-go: version 3 as JSON and as
// protobuf, version 2 as protobuf; and parses it as clients do that compare or apply objects by
// schema.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	client := discovery.NewDiscoveryClientForConfigOrDie(shared.config(t))
	paths, err := client.OpenAPIV3().Paths()
	if err != nil || len(paths) < 20 {
		t.Fatalf("got %d paths, %v", len(paths), err)
	}
	for path, version := range paths {
		data, err := version.Schema("application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var form openapi_v3.Document
		if err := proto.Unmarshal(data, &form); err != nil || form.Openapi != "3.0.0" || len(form.Paths.Path) == 0 {
			t.Errorf("%s: got a document of %q, %v", path, form.Openapi, err)
		}
		text, err := version.Schema("application/json")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		same, err := openapi_v3.ParseDocument(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		names := func(d *openapi_v3.Document) (names []string) {
			for _, s := range d.Components.GetSchemas().GetAdditionalProperties() {
				names = append(names, s.Name)
			}
			return names
		}
		if !slices.Equal(names(&form), names(same)) {
			t.Errorf("%s: other models as protobuf than as JSON", path)
		}
	}
	spec, err := openapi3.NewRoot(client.OpenAPIV3()).GVSpec(schema.GroupVersion{Group: "apps", Version: "v1"})
	if err != nil || spec.Components.Schemas["io.k8s.api.apps.v1.Deployment"] == nil {
		t.Fatalf("apps/v1: got %v, %v", slices.Sorted(maps.Keys(spec.Components.Schemas)), err)
	}
	if types, err := schemaconv.ToSchemaFromOpenAPI(spec.Components.Schemas, false); err != nil || len(types.Types) == 0 {
		t.Errorf("apps/v1: as types of structured merge: %v", err)
	}
	document, err := client.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	models, err := protoschema.NewOpenAPIData(document)
	if err != nil || models.LookupModel("io.k8s.api.core.v1.Pod") == nil {
		t.Fatalf("version 2: %v", err)
	}
	if _, err := schemaconv.ToSchema(models); err != nil {
		t.Errorf("version 2: as types of structured merge: %v", err)
	}
}
