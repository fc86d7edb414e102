package extensions_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type ship struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            shipSpec   `json:"spec"`
	Status          shipStatus `json:"status,omitempty"`
}

type shipSpec struct {
	Rig       string              `json:"rig,omitempty" default:"lug" enum:"lug,gaff" check:"enum"`
	Owner     string              `json:"owner" check:"required,format=dns1123Label"`
	Port      string              `json:"port,omitempty" check:"immutable"`
	Code      string              `json:"code,omitempty" check:"minLength=2,maxLength=3,pattern=^[a-z]+$"`
	Sails     int32               `json:"sails" check:"required,min=1,max=9"`
	Masts     int64               `json:"masts" check:"required"`
	Seaworthy bool                `json:"seaworthy" check:"required"`
	Draught   float64             `json:"draught" check:"max=4.5" rule:"self >= 0.0" message:"she floats"`
	Length    *int64              `json:"length" check:"min=2"`
	Afloat    *bool               `json:"afloat,omitempty" default:"false"`
	Crew      []sailor            `json:"crew,omitempty" list:"map,key=name" check:"maxItems=3"`
	Flags     []string            `json:"flags" list:"set" itemEnum:"red,green" check:"enum"`
	Cargo     map[string]string   `json:"cargo,omitempty" check:"minItems=1"`
	Mooring   mooring             `json:"mooring,omitempty"`
	Launched  meta.Time           `json:"launched,omitempty"`
	Lease     *meta.Duration      `json:"lease,omitempty"`
	Door      meta.IntOrString    `json:"door,omitempty"`
	Load      *meta.Quantity      `json:"load,omitempty"`
	Log       []byte              `json:"log,omitempty"`
	Extra     any                 `json:"extra,omitempty"`
	Raw       meta.RawExtension   `json:"raw,omitempty"`
	Selector  *meta.LabelSelector `json:"selector,omitempty"`
}

type sailor struct {
	Name string `json:"name" check:"required"`
	Age  int32  `json:"age,omitempty"`
}

type mooring struct {
	Lines int32 `json:"lines,omitempty" default:"2"`
}

type shipStatus struct {
	Phase      string           `json:"phase,omitempty"`
	Replicas   int32            `json:"replicas,omitempty"`
	Conditions []meta.Condition `json:"conditions,omitempty" list:"map,key=type"`
}

// define makes the definition of ships in one version from one Go type.
func define(t *testing.T, typ meta.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	t.Helper()
	return extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "quay.example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{ShortNames: []string{"sh"}, Kind: "Ship"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Rig", Type: "string", JSONPath: ".spec.rig"}},
			SelectableFields:         []apiextensionsv1.SelectableField{{JSONPath: ".spec.rig"}},
		}},
	}, typ)
}

// goodShip returns a ship that satisfies its own checks.
func goodShip() *ship {
	return &ship{
		TypeMeta:   meta.TypeMeta{APIVersion: "quay.example.com/v1", Kind: "Ship"},
		ObjectMeta: meta.ObjectMeta{Name: "a"},
		Spec:       shipSpec{Owner: "anna", Sails: 2, Masts: 1, Seaworthy: true},
	}
}

// TestDefinitionOfType compares the schema of a type with the checks of the type: both accept an
// object that the type encoded, or both refuse it.
func TestDefinitionOfType(t *testing.T) {
	def, err := define(t, &ship{})
	if err != nil {
		t.Fatal(err)
	}
	s := extensions.CompileSchema(def.Spec.Versions[0].Schema.OpenAPIV3Schema)
	accepted := 0
	for name, change := range map[string]func(*ship){
		"good":            func(*ship) {},
		"status":          func(o *ship) { o.Status = shipStatus{Phase: "x", Conditions: []meta.Condition{{Type: "A"}}} },
		"no owner":        func(o *ship) { o.Spec.Owner = "" },
		"bad owner":       func(o *ship) { o.Spec.Owner = "A_" },
		"enum":            func(o *ship) { o.Spec.Rig = "gaff" },
		"not in enum":     func(o *ship) { o.Spec.Rig = "junk" },
		"no sails":        func(o *ship) { o.Spec.Sails = 0 },
		"most sails":      func(o *ship) { o.Spec.Sails = 9 },
		"many sails":      func(o *ship) { o.Spec.Sails = 10 },
		"negative sails":  func(o *ship) { o.Spec.Sails = -1 },
		"no masts":        func(o *ship) { o.Spec.Masts = 0 },
		"odd masts":       func(o *ship) { o.Spec.Masts = -1 },
		"leaking":         func(o *ship) { o.Spec.Seaworthy = false },
		"short code":      func(o *ship) { o.Spec.Code = "a" },
		"code":            func(o *ship) { o.Spec.Code = "\u00e4\u00e4" },
		"letters":         func(o *ship) { o.Spec.Code = "abc" },
		"long code":       func(o *ship) { o.Spec.Code = "abcd" },
		"draught":         func(o *ship) { o.Spec.Draught = 4.5 },
		"deep":            func(o *ship) { o.Spec.Draught = 4.6 },
		"length":          func(o *ship) { o.Spec.Length = new(int64(2)) },
		"too short":       func(o *ship) { o.Spec.Length = new(int64(1)) },
		"afloat":          func(o *ship) { o.Spec.Afloat = new(false) },
		"crew":            func(o *ship) { o.Spec.Crew = []sailor{{Name: "a"}, {Name: "b", Age: 3}} },
		"crew twice":      func(o *ship) { o.Spec.Crew = []sailor{{Name: "a"}, {Name: "a"}} },
		"nameless crew":   func(o *ship) { o.Spec.Crew = []sailor{{Age: 3}} },
		"large crew":      func(o *ship) { o.Spec.Crew = []sailor{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}} },
		"flags":           func(o *ship) { o.Spec.Flags = []string{"red", "green"} },
		"no flags":        func(o *ship) { o.Spec.Flags = []string{} },
		"flag twice":      func(o *ship) { o.Spec.Flags = []string{"red", "red"} },
		"unknown flag":    func(o *ship) { o.Spec.Flags = []string{"blue"} },
		"cargo":           func(o *ship) { o.Spec.Cargo = map[string]string{"a": ""} },
		"mooring":         func(o *ship) { o.Spec.Mooring.Lines = 1 },
		"launched":        func(o *ship) { o.Spec.Launched = meta.Now() },
		"lease":           func(o *ship) { o.Spec.Lease = &meta.Duration{} },
		"door, a number":  func(o *ship) { o.Spec.Door = meta.IntOrString{IntVal: 3} },
		"door, a name":    func(o *ship) { o.Spec.Door = meta.IntOrString{Type: 1, StrVal: "x"} },
		"load":            func(o *ship) { o.Spec.Load = new(meta.MustParse("1.5Gi")) },
		"log":             func(o *ship) { o.Spec.Log = []byte("abc") },
		"extra, a list":   func(o *ship) { o.Spec.Extra = []any{"a", 1.5} },
		"extra, a number": func(o *ship) { o.Spec.Extra = 3 },
		"raw":             func(o *ship) { o.Spec.Raw.Raw = []byte(`{"a":{"b":[1]}}`) },
		"selector":        func(o *ship) { o.Spec.Selector = &meta.LabelSelector{MatchLabels: map[string]string{"a": "b"}} },
	} {
		o := goodShip()
		change(o)
		own := typeinfo.Validate(o, nil)
		text, err := codec.AppendJSON(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := jsontext.Decode(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if unknown := s.Prune(nil, tree); len(unknown) > 0 {
			t.Errorf("%s: the schema does not know %q", name, unknown)
		}
		if err := s.SetDefaults(nil, tree); err != nil {
			t.Fatal(err)
		}
		if errs := append(s.Validate(nil, nil, tree, nil), s.ValidateLists(nil, nil, tree, nil)...); (len(errs) == 0) != (len(own) == 0) {
			t.Errorf("%s: %s\nthe schema says %v, the type says %v", name, text, errs, own)
		}
		if len(own) == 0 {
			accepted++
		}
	}
	if accepted < 15 {
		t.Errorf("%d objects are good: the type accepts too little to compare", accepted)
	}
}

// TestDefinitionText compares the definition of a type with a stored text.
func TestDefinitionText(t *testing.T) {
	def, err := define(t, &ship{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := extensions.WriteYAML(&out, def); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/ship.yaml"
	want, err := os.ReadFile(golden)
	if err != nil || out.String() != string(want) {
		t.Errorf("got another text than in %s (%v):\n%s", golden, err, out.String())
	}
}

// Types that have no definition.
type (
	endless struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata,omitempty"`
		Spec            knot `json:"spec"`
	}
	knot struct {
		Next *knot `json:"next,omitempty"`
	}
	measured struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata,omitempty"`
		Data            []byte `json:"data" check:"maxLength=3"`
		Key             string `json:"key" check:"format=configMapKey"`
	}
	keyless struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata,omitempty"`
		Items           []named `json:"items" list:"map,key=name"`
	}
	named struct {
		Name string `json:"name,omitempty"`
	}
)

func TestNoDefinition(t *testing.T) {
	for _, tt := range []struct {
		typ  meta.Object
		want string
	}{
		{&endless{}, "spec.next: com.github.coracle-project.coracle.registry.extensions_test.knot contains itself"},
		{&measured{}, "data: a schema cannot limit the number of bytes: remove the limit from the tags"},
		{&measured{}, "key: a schema cannot express the format configMapKey"},
		{&keyless{}, "Required value: this property is in x-kubernetes-list-map-keys"},
	} {
		if _, err := define(t, tt.typ); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: got %v, want %s", tt.typ, err, tt.want)
		}
	}
	if _, err := extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{}, &ship{}); err == nil {
		t.Error("a type without a version: got no error")
	}
}

type ruled struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	_               struct{}   `rule:"self.spec.low > 0"`
	Spec            ruledRange `json:"spec" rule:"self == oldSelf" message:"stays" reason:"FieldValueForbidden"`
}

type ruledRange struct {
	_    struct{} `rule:"self.low < self.high" fieldPath:".low"`
	Low  int64    `json:"low"`
	High int64    `json:"high"`
}

// TestDefinitionRules: a rule in a tag stands in the schema of the struct or field that it checks.
func TestDefinitionRules(t *testing.T) {
	def, err := extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "test.example.com", Scope: apiextensionsv1.NamespaceScoped,
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
	}, &ruled{})
	if err != nil {
		t.Fatal(err)
	}
	root := def.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := root.Properties["spec"].XValidations
	if len(root.XValidations) != 1 || root.XValidations[0].Rule != "self.spec.low > 0" {
		t.Errorf("got %+v at the top", root.XValidations)
	}
	if len(spec) != 2 || spec[0].Rule != "self.low < self.high" || spec[0].FieldPath != ".low" ||
		spec[1].Rule != "self == oldSelf" || spec[1].Message != "stays" || *spec[1].Reason != apiextensionsv1.FieldValueForbidden {
		t.Errorf("got %+v for spec", spec)
	}
}
