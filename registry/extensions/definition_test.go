package extensions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/registry/extensions"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// kites is a valid definition.
const kites = `{"metadata":{"name":"kites.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
	"names":{"plural":"kites","kind":"Kite"},"versions":[
		{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"size":{"type":"integer"}}}}},
		{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// definition returns the definition kites with defaults, after replacements in its text.
func definition(t testing.TB, replace ...string) *v1.CustomResourceDefinition {
	t.Helper()
	text := kites
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("there is no %s in %s", replace[i], text)
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	d := &v1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	checktest.Scheme().Default(d)
	return d
}

func strategy() registry.Strategy { return extensions.Resources()[0].Strategy }

// judged prepares and validates a definition, and returns the errors.
func judged(d, old *v1.CustomResourceDefinition) []string {
	s, r, before := strategy(), &registry.Request{Context: context.Background()}, meta.Object(nil)
	if old != nil {
		before = old
	}
	s.Prepare(r, d, before)
	var texts []string
	for _, err := range s.ValidateRequest(r, nil, d, before) {
		texts = append(texts, err.Error())
	}
	return texts
}

// TestNewDefinition compares the errors of new definitions with the texts of kube-apiserver. Errors
// in parts that all versions share name the fields of the internal version.
func TestNewDefinition(t *testing.T) {
	const second = `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`
	for _, tt := range []struct {
		name    string
		replace []string
		want    []string
	}{
		{"nothing", nil, nil},
		{"name", []string{`"name":"kites.example.com"`, `"name":"kites"`}, []string{`metadata.name: Invalid value: "kites": must be spec.names.plural+"."+spec.group`}},
		{"group without a dot", []string{`"group":"example.com"`, `"group":"x"`, `kites.example.com`, `kites.x`},
			[]string{`spec.group: Invalid value: "x": should be a domain with at least one dot`}},
		{"scope", []string{`"Namespaced"`, `"<n>"`}, []string{`spec.scope: Unsupported value: "<n>": supported values: "Cluster", "Namespaced"`}},
		{"kinds", []string{`"kind":"Kite"`, `"kind":"Kite","listKind":"Kite"`}, []string{`spec.names.listKind: Invalid value: "Kite": kind and listKind may not be the same`}},
		{"storage", []string{`"storage":true`, `"storage":false`}, []string{
			`must have exactly one version marked as storage version`, `status.storedVersions: Invalid value: null: must have at least one stored version`}},
		{"a schema of one version", []string{`"type":"integer"`, `"type":"int"`}, []string{
			`spec.versions[0].schema.openAPIV3Schema.properties[size].type: Unsupported value: "int": supported values: "array", "boolean", "integer", "number", "object", "string"`}},
		{"the schema of all versions", []string{`,
		` + second, ``, `"type":"integer"`, `"type":"int"`}, []string{
			`spec.validation.openAPIV3Schema.properties[size].type: Unsupported value: "int": supported values: "array", "boolean", "integer", "number", "object", "string"`}},
		{"no schema", []string{second, `{"name":"v2","served":true,"storage":false}`}, []string{`spec.versions[1].schema.openAPIV3Schema: Required value`}},
		{"a column", []string{second, `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}},"additionalPrinterColumns":[{"name":"A","type":"text","jsonPath":"a"}]}`}, []string{
			`spec.versions[1].additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string`,
			`spec.versions[1].additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .`}},
		{"preserveUnknownFields", []string{`"scope"`, `"preserveUnknownFields":true,"scope"`}, []string{
			`spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead`}},
		{"a group of Kubernetes", []string{`example.com`, `batch.k8s.io`}, []string{
			`metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation`}},
		{"a webhook of nobody", []string{`"scope"`, `"conversion":{"strategy":"Webhook"},"scope"`}, []string{
			`spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook`, `spec.conversion.conversionReviewVersions: Required value`}},
		{"int-or-string with less than nothing more", []string{`{"type":"integer"}`,
			`{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer","patternProperties":{}},{"type":"string","enum":[]}]}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judged(definition(t, tt.replace...), nil)
			if !slices.EqualFunc(got, tt.want, strings.Contains) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestChangedDefinition: an update may keep a violation, and may not change an established scope or
// kind.
func TestChangedDefinition(t *testing.T) {
	established := func(d *v1.CustomResourceDefinition) {
		d.Status.Conditions = []v1.CustomResourceDefinitionCondition{{Type: v1.Established, Status: v1.ConditionTrue}}
	}
	webhook := []string{`"scope"`, `"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://a.example","caBundle":"YQ=="},"conversionReviewVersions":["v9"]}},"scope"`}
	for _, tt := range []struct {
		name    string
		old     []string
		before  func(*v1.CustomResourceDefinition)
		replace []string
		want    []string
	}{
		{"nothing", nil, nil, nil, nil},
		{"a kind that is not served", nil, nil, []string{`"Kite"`, `"Glider"`}, nil},
		{"a kind that is", nil, established, []string{`"Kite"`, `"Glider"`}, []string{`spec.names.kind: Invalid value: "Glider": field is immutable`}},
		{"the group", nil, nil, []string{`"group":"example.com"`, `"group":"example.org"`}, []string{`spec.group: Invalid value: "example.org": field is immutable`}},
		{"a type that was wrong", []string{`"type":"integer"`, `"type":"int"`}, nil, []string{`"type":"integer"`, `"type":"int"`}, nil},
		{"a type that was right", nil, nil, []string{`"type":"integer"`, `"type":"int"`}, []string{`properties[size].type: Unsupported value: "int"`}},
		{"reviews that nobody knew", webhook, nil, webhook, nil},
		{"reviews that nobody knows", nil, nil, webhook, []string{`must include at least one of v1, v1beta1`}},
		{"a version that objects are stored in", nil, func(d *v1.CustomResourceDefinition) { d.Status.StoredVersions = []string{"v0", "v1"} }, nil, []string{
			`status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage version, and must remain`}},
		{"preserveUnknownFields as before", []string{`"scope"`, `"preserveUnknownFields":true,"scope"`}, nil, []string{`"scope"`, `"preserveUnknownFields":true,"scope"`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, d := definition(t, tt.old...), definition(t, tt.replace...)
			if tt.before != nil {
				tt.before(old)
			}
			d.Status = old.Status
			if got := judged(d, old); !slices.EqualFunc(got, tt.want, strings.Contains) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestStoredVersion: an update adds the new storage version to status.storedVersions, and keeps the
// former ones.
func TestStoredVersion(t *testing.T) {
	old := definition(t)
	judged(old, nil)
	d := definition(t, `"storage":true`, `"storage":0`, `"storage":false`, `"storage":true`, `"storage":0`, `"storage":false`)
	d.Status = old.Status
	if got := judged(d, old); got != nil || fmt.Sprint(d.Status.StoredVersions) != "[v1 v2]" {
		t.Errorf("got %q and the versions %q, want v1 and v2", got, d.Status.StoredVersions)
	}
}

// TestFormatsNobodyChecks: a client is warned once of each unknown format.
func TestFormatsNobodyChecks(t *testing.T) {
	strange := []string{`"type":"integer"`, `"type":"string","format":"hue"`}
	if got := strategy().Warnings(definition(t, strange...), nil); fmt.Sprintf("%q", got) != `["unrecognized format \"hue\""]` {
		t.Errorf("a new definition: got %q", got)
	}
	if got := strategy().Warnings(definition(t, strange...), definition(t, strange...)); len(got) > 0 {
		t.Errorf("as before: got %q", got)
	}
}

// FuzzDefinition: any definition that decodes can be validated, as a new one and as an update, and
// a definition that is accepted can be declared.
func FuzzDefinition(f *testing.F) {
	f.Add([]byte(kites), []byte(kites))
	f.Add([]byte(`{"metadata":{"name":"a.b.c"},"spec":{"group":"b.c","scope":"Cluster","preserveUnknownFields":true,"names":{"plural":"a","kind":"A"},
		"versions":[{"name":"v1","storage":true,"schema":{"openAPIV3Schema":{"type":"array","items":[{"not":{}}],"default":[null]}},
		"subresources":{"scale":{"specReplicasPath":".spec.a","labelSelectorPath":""}},"selectableFields":[{"jsonPath":".a[0]"}],
		"additionalPrinterColumns":[{"jsonPath":".a[?(@.b==1)]"}]}]}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, old := new(v1.CustomResourceDefinition), new(v1.CustomResourceDefinition)
		if json.Unmarshal(a, d) != nil || json.Unmarshal(b, old) != nil {
			return
		}
		checktest.Scheme().Default(d)
		checktest.Scheme().Default(old)
		strategy().Warnings(d, old)
		changed := *d
		judged(&changed, old)
		if judged(d, nil) != nil {
			return
		}
		stored := 0
		for _, v := range d.Spec.Versions {
			if v.Storage {
				stored++
			}
			if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil || v.Schema.OpenAPIV3Schema.Type != "object" {
				t.Errorf("a version is let through whose objects are none: %s", a)
			}
		}
		if stored != 1 || d.Spec.PreserveUnknownFields || d.Name != "" && d.Name != d.Spec.Names.Plural+"."+d.Spec.Group {
			t.Errorf("let through: %s", a)
		}
		if _, err := extensions.Declare(d, nil); err != nil {
			t.Errorf("let through, and cannot be served: %v: %s", err, a)
		}
	})
}

// BenchmarkValidateDefinition validates a definition of about 80 KB.
func BenchmarkValidateDefinition(b *testing.B) {
	var fields strings.Builder
	for i := range 800 {
		fmt.Fprintf(&fields, `,"f%d":{"type":"object","description":"Some words.","properties":{"a":{"type":"string","default":"b"}}}`, i)
	}
	text := `{"size":{"type":"integer"}`
	d := definition(b, text, text+fields.String())
	old := definition(b, text, text+fields.String())
	judged(old, nil)
	for name, before := range map[string]*v1.CustomResourceDefinition{"create": nil, "update": old} {
		b.Run("verb="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if before != nil {
					d.Status = before.Status
				}
				if got := judged(d, before); got != nil {
					b.Fatal(got)
				}
			}
		})
	}
}
