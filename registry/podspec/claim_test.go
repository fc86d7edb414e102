package podspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// claim returns the spec of a valid claim with more JSON in it.
func claim(t *testing.T, more string) *corev1.PersistentVolumeClaimSpec {
	t.Helper()
	return &checktest.Decode[corev1.PersistentVolumeClaim](t,
		`{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}`+more+`}}`).Spec
}

func TestAccessModes(t *testing.T) {
	for _, tt := range []struct {
		modes []corev1.PersistentVolumeAccessMode
		want  string
	}{
		{[]corev1.PersistentVolumeAccessMode{"ReadWriteOncePod", "ReadWriteOncePod"}, ""},
		{[]corev1.PersistentVolumeAccessMode{"ReadWriteOncePod", "Odd"},
			`p: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
		{[]corev1.PersistentVolumeAccessMode{"ReadOnlyMany", "ReadWriteOncePod"},
			"p: Forbidden: may not use ReadWriteOncePod with other access modes"},
	} {
		checktest.Want(t, checkAccessModes(field.NewPath("p"), tt.modes), tt.want)
	}
}

// TestDataSources checks dataSource and dataSourceRef, alone and together. In want, $ is the path
// of the spec.
func TestDataSources(t *testing.T) {
	const grouped = `,"dataSource":{"apiGroup":"example.com","kind":"K","name":"n"}`
	for _, tt := range []struct{ name, old, more, want string }{
		{"both", "", `,"dataSource":{"apiGroup":"g","kind":"K","name":"n"},"dataSourceRef":{"apiGroup":"g","kind":"K","name":"n"}`, ""},
		{"both in the core group", "", `,"dataSource":{"kind":"PersistentVolumeClaim","name":"n"},
			"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"n","namespace":""}`, ""},
		{"core group in two ways", "", `,"dataSource":{"kind":"PersistentVolumeClaim","name":"n"},
			"dataSourceRef":{"apiGroup":"","kind":"PersistentVolumeClaim","name":"n"}`, `$: Invalid value: {}: must match dataSourceRef`},
		{"other group", "", `,"dataSource":{"apiGroup":"g","kind":"K","name":"n"},"dataSourceRef":{"apiGroup":"h","kind":"K","name":"n"}`,
			`$: Invalid value: {}: must match dataSourceRef`},
		{"other kind", "", `,"dataSource":{"apiGroup":"g","kind":"K","name":"n"},"dataSourceRef":{"apiGroup":"g","kind":"L","name":"n"}`,
			`$: Invalid value: {}: must match dataSourceRef`},
		{"other name", "", `,"dataSource":{"apiGroup":"g","kind":"K","name":"n"},"dataSourceRef":{"apiGroup":"g","kind":"K","name":"m"}`,
			`$: Invalid value: {}: must match dataSourceRef`},
		{"elsewhere", "", `,"dataSourceRef":{"apiGroup":"g","kind":"K","name":"n","namespace":"s"}`, ""},
		{"elsewhere, both", "", `,"dataSource":{"apiGroup":"g","kind":"K","name":"n"},"dataSourceRef":{"apiGroup":"g","kind":"K","name":"n","namespace":"S"}`, `
$.dataSourceRef.namespace: Invalid value: "S": ` + checktest.Label + `
$: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified`},
		{"bad group", `,"dataSource":{"kind":"K","name":"n"}`, `,"dataSource":{"apiGroup":"G_","kind":"K","name":"n"}`,
			`$.dataSource.apiGroup: Invalid value: "G_": ` + checktest.Subdomain},
		{"bad group of an old claim with a group", grouped, `,"dataSource":{"apiGroup":"G_","kind":"K","name":"n"}`, ""},
		{"bad group of an old claim with a group in its reference", strings.Replace(grouped, "dataSource", "dataSourceRef", 1),
			`,"dataSourceRef":{"apiGroup":"G_","kind":"K","name":"n"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var old *corev1.PersistentVolumeClaimSpec
			if tt.old != "" {
				old = claim(t, tt.old)
			}
			checktest.Want(t, Claim(field.NewPath("spec"), claim(t, tt.more), old), strings.ReplaceAll(tt.want, "$", "spec"))
		})
	}
}

func TestClaimWarnings(t *testing.T) {
	spec := claim(t, `,"resources":{"requests":{"storage":"1500m"},"limits":{"storage":"1m"}}`)
	got := ClaimWarnings(field.NewPath("spec"), spec)
	want := []string{
		`spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
		`spec.resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("ClaimWarnings: got %q, want %q", got, want)
	}
	if got := ClaimWarnings(nil, claim(t, `,"resources":{"requests":{"storage":"4294967296Gi"}}`)); got != nil {
		t.Errorf("ClaimWarnings: got %q, want none", got)
	}
}
