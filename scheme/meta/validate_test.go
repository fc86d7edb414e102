package meta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

func ptr[T any](v T) *T { return &v }

func texts(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func wantErrors(t *testing.T, name string, errs field.ErrorList, want ...string) {
	t.Helper()
	if got := texts(errs); !slices.Equal(got, want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const subdomainRule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
	"with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

func TestValidateObjectMeta(t *testing.T) {
	for _, tt := range []struct {
		name       string
		meta       ObjectMeta
		namespaced bool
		want       []string
	}{
		{"right", ObjectMeta{Name: "a", Namespace: "n", Labels: Set{"k": "v"}, Annotations: Set{"Example.com/K": "v"}}, true, nil},
		{"no name", ObjectMeta{Namespace: "n"}, true, []string{"metadata.name: Required value: name or generateName is required"}},
		{"no namespace", ObjectMeta{Name: "a"}, true, []string{"metadata.namespace: Required value"}},
		{"namespace not allowed", ObjectMeta{Name: "a", Namespace: "n"}, false, []string{"metadata.namespace: Forbidden: not allowed on this type"}},
		{"bad names", ObjectMeta{Name: "B_1", GenerateName: "B_", Namespace: "a.b", Generation: -1}, true, []string{
			`metadata.generateName: Invalid value: "B_": ` + subdomainRule,
			`metadata.name: Invalid value: "B_1": ` + subdomainRule,
			`metadata.namespace: Invalid value: "a.b": must not contain dots`,
			`metadata.generation: Invalid value: -1: must be greater than or equal to 0`}},
		{"generateName may end in a dash", ObjectMeta{Name: "a-1", GenerateName: "a-"}, false, nil},
		{"labels", ObjectMeta{Name: "a", Labels: Set{"a b": "v", "k": "c d", "l": strings.Repeat("a", 64)}}, false, []string{
			`metadata.labels: Invalid value: "a b": ` + wrongQName,
			`metadata.labels: Invalid value: "c d": ` + wrongLabel,
			`metadata.labels: Invalid value: "` + strings.Repeat("a", 64) + `": must be no more than 63 bytes`}},
		{"annotations", ObjectMeta{Name: "a", Annotations: Set{"a b": strings.Repeat("x", MaxAnnotationsSize)}}, false, []string{
			`metadata.annotations: Invalid value: "a b": ` + wrongQName,
			`metadata.annotations: Too long: may not be more than 262144 bytes`}},
		{"finalizers", ObjectMeta{Name: "a", Finalizers: []string{"x y", "orphan", "foregroundDeletion"}}, false, []string{
			`metadata.finalizers: Invalid value: "x y": ` + wrongQName,
			`metadata.finalizers: Invalid value: ["x y","orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set`}},
		{"owner", ObjectMeta{Name: "a", OwnerReferences: []OwnerReference{{}}}, false, []string{
			`metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty`,
			`metadata.ownerReferences.kind: Invalid value: "": must not be empty`,
			`metadata.ownerReferences.name: Invalid value: "": must not be empty`,
			`metadata.ownerReferences.uid: Invalid value: "": must not be empty`}},
		{"event as owner", ObjectMeta{Name: "a", OwnerReferences: []OwnerReference{{APIVersion: "v1", Kind: "Event", Name: "p", UID: "u"}}}, false, []string{
			`metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: /v1, Kind=Event is disallowed from being an owner`}},
		{"two controllers", ObjectMeta{Name: "a", OwnerReferences: []OwnerReference{
			{APIVersion: "v1", Kind: "A", Name: "a", UID: "1", Controller: ptr(true)}, {APIVersion: "v1", Kind: "A", Name: "b", UID: "2", Controller: ptr(true)}}}, false, []string{
			`metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"A","name":"a","uid":"1","controller":true},{"apiVersion":"v1","kind":"A","name":"b","uid":"2","controller":true}]: ` +
				`Only one reference can have Controller set to true. Found "true" in references for A/a and A/b`}},
		{"managed fields", ObjectMeta{Name: "a", ManagedFields: []ManagedFieldsEntry{
			{Manager: "m\x01", Operation: "x", FieldsType: "y", Subresource: strings.Repeat("s", 257)}}}, false, []string{
			"metadata.managedFields[0].operation: Invalid value: \"x\": must be `Apply` or `Update`",
			"metadata.managedFields[0].fieldsType: Invalid value: \"y\": must be `FieldsV1`",
			`metadata.managedFields[0].manager: Invalid value: "m\x01": invalid character U+0001 (at position 1)`,
			"metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes"}},
	} {
		errs := ValidateObjectMeta(&tt.meta, tt.namespaced, names.DNSSubdomainName, field.NewPath("metadata"))
		wantErrors(t, tt.name, errs, tt.want...)
	}
	wantErrors(t, "finalizer names", ValidateFinalizerNames([]string{"orphan", "plain", "a.b/c"}, field.NewPath("f")),
		`f[1]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`)
}

func TestValidateObjectMetaUpdate(t *testing.T) {
	moment := NewTime(time.Unix(1e9, 0))
	old := ObjectMeta{Name: "a", Namespace: "n", UID: "u", ResourceVersion: "1", Generation: 2, CreationTimestamp: &moment}
	deleted := old
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &moment, ptr(int64(5))
	for _, tt := range []struct {
		name   string
		old    ObjectMeta
		change func(*ObjectMeta)
		want   []string
	}{
		{"none", old, func(*ObjectMeta) {}, nil},
		{"same moment", old, func(m *ObjectMeta) { m.CreationTimestamp = ptr(moment) }, nil},
		{"no version", old, func(m *ObjectMeta) { m.ResourceVersion = "" },
			[]string{`metadata.resourceVersion: Invalid value: "": must be specified for an update`}},
		{"all", old, func(m *ObjectMeta) {
			*m = ObjectMeta{Name: "b", Namespace: "o", UID: "v", ResourceVersion: "1", Generation: 1,
				DeletionTimestamp: &moment, DeletionGracePeriodSeconds: ptr(int64(1))}
		}, []string{
			`metadata.generation: Invalid value: 1: must not be decremented`,
			`metadata.name: Invalid value: "b": field is immutable`,
			`metadata.namespace: Invalid value: "o": field is immutable`,
			`metadata.uid: Invalid value: "v": field is immutable`,
			`metadata.creationTimestamp: Invalid value: null: field is immutable`,
			`metadata.deletionTimestamp: Invalid value: "2001-09-09T01:46:40Z": field is immutable`,
			`metadata.deletionGracePeriodSeconds: Invalid value: 1: field is immutable`}},
		{"finalizer while terminating", deleted, func(m *ObjectMeta) { m.Finalizers = []string{"z.a/b", "a.a/b"} },
			[]string{`metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.a/b", "z.a/b"}`}},
	} {
		updated := tt.old
		tt.change(&updated)
		wantErrors(t, tt.name, ValidateObjectMetaUpdate(&updated, &tt.old, field.NewPath("metadata")), tt.want...)
	}
}

func TestValidateLabelSelector(t *testing.T) {
	errs := ValidateLabelSelector(&LabelSelector{
		MatchLabels: Set{"a": "-"},
		MatchExpressions: []LabelSelectorRequirement{
			{Key: "a", Operator: LabelSelectorOpIn},
			{Key: "b", Operator: "Like", Values: []string{"x"}},
			{Key: "c", Operator: LabelSelectorOpExists, Values: []string{"x"}},
			{Key: "-", Operator: LabelSelectorOpNotIn, Values: []string{"x", "-"}},
		},
	}, field.NewPath("s"))
	wantErrors(t, "selector", errs,
		`s.matchLabels: Invalid value: "-": `+wrongLabel,
		"s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
		`s.matchExpressions[1].operator: Invalid value: "Like": not a valid selector operator`,
		"s.matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
		`s.matchExpressions[3].key: Invalid value: "-": `+wrongQName,
		`s.matchExpressions[3].values[1]: Invalid value: "-": `+wrongLabel)
	wantErrors(t, "nil", ValidateLabelSelector(nil, field.NewPath("s")))
}

func TestValidateWriteOptions(t *testing.T) {
	want := []string{
		"fieldManager: Too long: may not be more than 128 bytes",
		`dryRun: Unsupported value: ["All","Some"]: supported values: "All"`,
		`fieldValidation: Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"`,
	}
	long, dryRun := strings.Repeat("m", 129), []string{"All", "Some"}
	wantErrors(t, "create", ValidateCreateOptions(&CreateOptions{FieldManager: long, DryRun: dryRun, FieldValidation: "Foo"}), want...)
	wantErrors(t, "update", ValidateUpdateOptions(&UpdateOptions{FieldManager: long, DryRun: dryRun, FieldValidation: "Foo"}), want...)
	wantErrors(t, "patch", ValidatePatchOptions(&PatchOptions{FieldManager: long, DryRun: dryRun, FieldValidation: "Foo"}, true), want...)
	wantErrors(t, "right", ValidateCreateOptions(&CreateOptions{FieldManager: "m", DryRun: []string{"All"}, FieldValidation: "Warn"}))
	wantErrors(t, "force", ValidatePatchOptions(&PatchOptions{Force: ptr(false)}, false), "force: Forbidden: may not be specified for non-apply patch")
	wantErrors(t, "apply", ValidatePatchOptions(&PatchOptions{Force: ptr(true)}, true), "fieldManager: Required value: is required for apply patch")
}

func TestValidateDeleteOptions(t *testing.T) {
	wantErrors(t, "right", ValidateDeleteOptions(&DeleteOptions{PropagationPolicy: ptr(DeletePropagationOrphan), DryRun: []string{"All"}}))
	wantErrors(t, "both", ValidateDeleteOptions(&DeleteOptions{PropagationPolicy: ptr(DeletePropagationOrphan), OrphanDependents: ptr(true)}),
		`propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`)
	wantErrors(t, "unknown", ValidateDeleteOptions(&DeleteOptions{PropagationPolicy: ptr(DeletionPropagation("Foo"))}),
		`propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil"`)
	errs := ValidateDeleteOptions(&DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr(true), GracePeriodSeconds: ptr(int64(0))})
	wantErrors(t, "ignore", errs,
		`ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .gracePeriodSeconds`)
}

func TestValidateListOptions(t *testing.T) {
	const (
		noVersion  = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
		noContinue = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
		noWatch    = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
	)
	for _, tt := range []struct {
		opts ListOptions
		want []string
	}{
		{ListOptions{}, nil},
		{ListOptions{ResourceVersion: "5", ResourceVersionMatch: "Exact"}, nil},
		{ListOptions{ResourceVersionMatch: "Exact", Continue: "c"}, []string{noVersion, noContinue}},
		{ListOptions{ResourceVersion: "5", ResourceVersionMatch: "Foo"},
			[]string{`resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`}},
		{ListOptions{ResourceVersion: "0", ResourceVersionMatch: "Exact"},
			[]string{`resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`}},
		{ListOptions{SendInitialEvents: ptr(true)}, []string{"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"}},
		{ListOptions{Watch: true, SendInitialEvents: ptr(true), ResourceVersionMatch: "NotOlderThan"}, nil},
		{ListOptions{Watch: true, SendInitialEvents: ptr(true)},
			[]string{"resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"}},
		{ListOptions{Watch: true, ResourceVersion: "5", ResourceVersionMatch: "Exact"},
			[]string{noWatch, `resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"`}},
	} {
		wantErrors(t, fmt.Sprintf("%+v", tt.opts), ValidateListOptions(&tt.opts, true), tt.want...)
	}
}
