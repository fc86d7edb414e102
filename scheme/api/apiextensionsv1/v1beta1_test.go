package apiextensionsv1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
)

// TestBeta reads definitions of v1beta1. spec and want are specs of v1beta1 and v1 without group
// and names; status is the stored one.
func TestBeta(t *testing.T) {
	s := scheme.New()
	v1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	codecs := codec.NewFactory(s)
	const (
		none   = `"conversion":{"strategy":"None"}`
		first  = `{"openAPIV3Schema":{"type":"object","properties":{"a":{"default":{"b":[1,null]},"enum":[{"b":[1,null]},null],"nullable":true,"items":{"type":"string"},"additionalProperties":false,"x-kubernetes-int-or-string":true}}}}`
		second = `{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}`
	)
	for _, tt := range []struct{ name, spec, status, want, stored string }{
		{
			name: "one version", spec: `"version":"v1"`,
			want: `"scope":"Namespaced",` + none + `,"preserveUnknownFields":true,"versions":[{"name":"v1","served":true,"storage":true}]`, stored: `["v1"]`,
		}, {
			name: "no version", spec: `"scope":"Cluster","preserveUnknownFields":false,"validation":` + first,
			want: `"scope":"Cluster",` + none + `,"versions":null`, stored: `null`,
		}, {
			name: "all in common", spec: `"preserveUnknownFields":false,"version":"v2","versions":[{"name":"v2","served":true,"storage":false,"deprecated":true,
				"deprecationWarning":""},{"name":"v1","served":false,"storage":true}],"validation":` + first + `,"subresources":{"status":{},
				"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},"additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".a"}],
				"selectableFields":[{"jsonPath":".a"}]`,
			want: `"scope":"Namespaced",` + none + `,"versions":[{"name":"v2","served":true,"storage":false,"deprecated":true,"deprecationWarning":"",
				"schema":` + first + `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},
				"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}],"selectableFields":[{"jsonPath":".a"}]},
				{"name":"v1","served":false,"storage":true,
				"schema":` + first + `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},
				"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}],"selectableFields":[{"jsonPath":".a"}]}]`, stored: `["v1"]`,
		}, {
			name: "nothing in common", status: `"storedVersions":["v1"]`, spec: `"preserveUnknownFields":false,"versions":[
				{"name":"v1","served":true,"storage":false,"schema":` + first + `,"subresources":{"status":{}},"selectableFields":[{"jsonPath":".a"}]},
				{"name":"v2","served":true,"storage":true,"schema":` + second + `,"additionalPrinterColumns":[{"name":"A","type":"date","JSONPath":".a","priority":1}]}]`,
			want: `"scope":"Namespaced",` + none + `,"versions":[
				{"name":"v1","served":true,"storage":false,"schema":` + first + `,"subresources":{"status":{}},"selectableFields":[{"jsonPath":".a"}]},
				{"name":"v2","served":true,"storage":true,"schema":` + second + `,"additionalPrinterColumns":[{"name":"A","type":"date","jsonPath":".a","priority":1}]}]`,
			stored: `["v1"]`,
		}, {
			name: "what is in common wins", spec: `"version":"v1","versions":[{"name":"v1","served":true,"storage":true,"schema":` + first + `,
				"additionalPrinterColumns":[{"name":"B","type":"date","JSONPath":".b"}]}],"additionalPrinterColumns":[],"validation":` + second,
			want:   `"scope":"Namespaced",` + none + `,"preserveUnknownFields":true,"versions":[{"name":"v1","served":true,"storage":true,"schema":` + second + `}]`,
			stored: `["v1"]`,
		}, {
			name: "webhook", spec: `"version":"v1","conversion":{"strategy":"Webhook","webhookClientConfig":{"caBundle":"AA==","service":{"namespace":"n","name":"s"}}}`,
			want: `"scope":"Namespaced","preserveUnknownFields":true,"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1beta1"],
				"clientConfig":{"caBundle":"AA==","service":{"namespace":"n","name":"s","port":443}}}},"versions":[{"name":"v1","served":true,"storage":true}]`,
			stored: `["v1"]`,
		}, {
			name: "webhook by URL", spec: `"version":"v1","conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1","v2"]}`,
			want: `"scope":"Namespaced","preserveUnknownFields":true,"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1","v2"],
				"clientConfig":{"url":"https://a"}}},"versions":[{"name":"v1","served":true,"storage":true}]`,
			stored: `["v1"]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status := "{" + tt.status + "}"
			decoded, err := codecs.DecodeStored([]byte(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"a.b.c",
				"labels":{"x":"y"}},"spec":{"group":"b.c","names":{"plural":"a","kind":"A"},` + tt.spec + `},"status":` + status + `}`))
			if err != nil {
				t.Fatal(err)
			}
			s.Default(decoded.Object)
			hub, err := s.ConvertTo(decoded.Object, v1.GroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.AppendJSON(nil, hub)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"a.b.c","labels":{"x":"y"}},
				"spec":{"group":"b.c","names":{"plural":"a","kind":"A","singular":"a","listKind":"AList"},` + tt.want + `},
				"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":` + tt.stored + `}}`
			if !reflect.DeepEqual(tree(t, got), tree(t, []byte(want))) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func tree(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}
