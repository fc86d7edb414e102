package resource

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

var testTime = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	qualified  = checktest.Qualified
	labelValue = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an ` +
		`alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	identifier = `a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' ` +
		`(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')`
	immutable = "field is immutable"
)

func TestDeclarations(t *testing.T) {
	for kind, want := range map[string]registry.MetaChecks{
		"DeviceClass": registry.MetaWhole, "ResourceClaim": registry.MetaWhole, "ResourceClaimTemplate": registry.MetaWhole,
		"ResourceSlice": registry.MetaChange,
	} {
		r := checktest.Resource(t, Resources(), kind)
		if s := r.Strategy; s.AllowCreateOnUpdate || !s.AllowUnconditionalUpdate || s.Metadata != want {
			t.Errorf("%s: got %v, want an object that is replaced without a version, and created by POST", kind, s)
		}
		if counts := kind == "DeviceClass" || kind == "ResourceSlice"; counts != (r.Generation != nil) {
			t.Errorf("%s: counts changes of %v, want it to count: %t", kind, r.Generation, counts)
		}
		if r.Namespaced != strings.HasPrefix(kind, "ResourceClaim") || (r.Status != nil) != (kind == "ResourceClaim") {
			t.Errorf("%s: in a namespace: %t, with a status: %t", kind, r.Namespaced, r.Status != nil)
		}
	}
}

func TestCells(t *testing.T) {
	born := &meta.Time{Time: testTime.Add(-time.Hour)}
	named := func(obj meta.Object) meta.Object {
		m := obj.GetObjectMeta()
		m.Name, m.CreationTimestamp = "x", born
		return obj
	}
	node := "n"
	for _, tt := range []struct {
		kind string
		obj  meta.Object
		want []any
	}{
		{"DeviceClass", &resourcev1.DeviceClass{}, []any{"x", "60m"}},
		{"ResourceClaimTemplate", &resourcev1.ResourceClaimTemplate{}, []any{"x", "60m"}},
		{"ResourceSlice", &resourcev1.ResourceSlice{}, []any{"x", "", "", "", "60m"}},
		{"ResourceSlice", &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: &node, Driver: "d", Pool: resourcev1.ResourcePool{Name: "p"}}},
			[]any{"x", "n", "d", "p", "60m"}},
	} {
		checktest.WantCells(t, checktest.Resource(t, Resources(), tt.kind), named(tt.obj), testTime, tt.want...)
	}
	for want, text := range map[string]string{
		"pending":                    `{}`,
		"allocated":                  `{"status":{"allocation":{}}}`,
		"allocated,reserved":         `{"status":{"allocation":{},"reservedFor":[{"uid":"u"}]}}`,
		"deleted":                    `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"status":{"reservedFor":[{"uid":"u"}]}}`,
		"deleted,allocated":          `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"status":{"allocation":{}}}`,
		"deleted,allocated,reserved": `{"metadata":{"deletionTimestamp":"2030-01-02T03:04:05Z"},"status":{"allocation":{},"reservedFor":[{"uid":"u"}]}}`,
	} {
		claim := checktest.Decode[resourcev1.ResourceClaim](t, text)
		checktest.WantCells(t, checktest.Resource(t, Resources(), "ResourceClaim"), named(claim), testTime, "x", want, "60m")
	}
}

// repeat returns a JSON list of n elements. In each, $ is replaced by its number.
func repeat(n int, text string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(text, "$", string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	return strings.Join(list, ",")
}
