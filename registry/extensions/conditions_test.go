package extensions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/extensions"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

var at = meta.Time{Time: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)}

// conditions returns the conditions that UpdateStatus gives a definition in a group, and whether
// the status changed.
func conditions(d *v1.CustomResourceDefinition, now meta.Time, group ...*v1.CustomResourceDefinition) (list []string, changed bool) {
	changed = extensions.UpdateStatus(d, &d.Spec, slices.Values(group), now)
	for _, c := range d.Status.Conditions {
		list = append(list, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return list, changed
}

// TestConditions compares the conditions of new definitions, in order.
func TestConditions(t *testing.T) {
	accepted := []string{"NamesAccepted True NoConflicts: no conflicts found", "Established True InitialNamesAccepted: the initial names have been accepted"}
	webhook := func(bundle string) []string {
		return []string{`"scope"`, `"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://a.example","caBundle":"` + bundle +
			`"},"conversionReviewVersions":["v1"]}},"scope"`}
	}
	approved := func(text string) []string {
		return []string{`example.com`, `batch.k8s.io`, `"metadata":{`, `"metadata":{"annotations":{"api-approved.kubernetes.io":"` + text + `"},`}
	}
	for _, tt := range []struct {
		name    string
		replace []string
		want    []string
	}{
		{"plain", nil, accepted},
		{"certificates that are none", webhook("YQ=="), []string{accepted[0], "Established False InvalidCABundle: The conversion webhook CABundle is invalid"}},
		{"no certificates", webhook(""), accepted},
		{"approved", approved("https://example.com/a"), append(accepted[:2:2],
			"KubernetesAPIApprovalPolicyConformant True ApprovedAnnotation: approved in https://example.com/a")},
		{"not approved", approved("unapproved, so far"), append(accepted[:2:2],
			`KubernetesAPIApprovalPolicyConformant False UnapprovedAnnotation: not approved: "unapproved, so far"`)},
		{"approved nowhere", approved("yes"), append(accepted[:2:2], "KubernetesAPIApprovalPolicyConformant False InvalidAnnotation: protected groups must have")},
		{"older than structural schemas", []string{`"scope"`, `"preserveUnknownFields":true,"scope"`, `"type":"integer"`, `"type":""`}, append(accepted[:2:2],
			"NonStructuralSchema True Violations: [spec.preserveUnknownFields: Invalid value: true: must be false, "+
				"spec.versions[0].schema.openAPIV3Schema.properties[size].type: Required value: must not be empty for specified object fields]")},
		{"and not to be understood", []string{`"scope"`, `"preserveUnknownFields":true,"scope"`, `"type":"integer"`, `"id":"x"`}, append(accepted[:2:2],
			"NonStructuralSchema Unknown StructuralError: failed to check validation schema for version v1: OpenAPIV3Schema 'id' is not supported")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := definition(t, tt.replace...)
			got, changed := conditions(d, at)
			if !changed || !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("got %q, new: %v, want %q", got, changed, tt.want)
			}
			if again, changed := conditions(d, meta.Time{Time: at.Add(time.Hour)}); changed || !slices.Equal(again, got) {
				t.Errorf("a second update: got %q, new: %v", again, changed)
			}
		})
	}
}

// TestNamesAreGivenOnce: of two definitions that want the same names, the second gets only the
// names that are free. Its condition tells which names were refused.
func TestNamesAreGivenOnce(t *testing.T) {
	first := definition(t, `"kind":"Kite"`, `"kind":"Kite","shortNames":["k","ki"]`)
	conditions(first, at)
	second := definition(t, `"plural":"kites","kind":"Kite"`, `"plural":"others","kind":"Other","shortNames":["k","o","ki"]`)
	want := []string{`NamesAccepted False ShortNamesConflict: ["k" is already in use, "ki" is already in use]`, "Established False NotAccepted: not all names are accepted"}
	if got, _ := conditions(second, at, first, second); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := second.Status.AcceptedNames; n.Plural != "others" || n.Kind != "Other" || n.ShortNames != nil || extensions.Served(second) {
		t.Errorf("got the names %+v, served: %v", n, extensions.Served(second))
	}
	if got, _ := conditions(second, at, second); !slices.Equal(second.Status.AcceptedNames.ShortNames, second.Spec.Names.ShortNames) {
		t.Errorf("when the first is gone: got %q", got)
	}

	// An established definition keeps its accepted names, and is not given new ones that are taken.
	first.Spec.Names.ShortNames = []string{"o"}
	got, _ := conditions(first, at, first, second)
	if got[0] != `NamesAccepted False ShortNamesConflict: "o" is already in use` || !extensions.Served(first) {
		t.Errorf("got %q, served: %v", got, extensions.Served(first))
	}
	if text := fmt.Sprint(first.Status.AcceptedNames.ShortNames); text != "[k ki]" {
		t.Errorf("it has the short names %s", text)
	}
}

// TestEmptying compares the conditions of a definition that is being deleted. Other finalizers
// stay.
func TestEmptying(t *testing.T) {
	d := definition(t)
	conditions(d, at)
	d.Finalizers = []string{"example.com/mine"}
	d.DeletionTimestamp = &meta.Time{Time: at.Time}
	strategy().Terminate(d)
	says := func(want string) {
		t.Helper()
		c := extensions.Condition(d, v1.Terminating)
		if got := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	says("True InstanceDeletionPending: CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon")
	if !extensions.NeedsInstanceDeletion(d) {
		t.Error("it is not emptied")
	}
	extensions.BeginInstanceDeletion(d, at)
	says("True InstanceDeletionInProgress: CustomResource deletion is in progress")
	extensions.FailInstanceDeletion(d, fmt.Errorf("no"), at)
	says("True InstanceDeletionFailed: no")
	extensions.FinishInstanceDeletion(d, false, at)
	says("False InstanceDeletionCompleted: removed all instances")
	if got := fmt.Sprint(d.Finalizers); got != "[example.com/mine]" || extensions.NeedsInstanceDeletion(d) {
		t.Errorf("in the end: finalizers %s, to be emptied: %v", got, extensions.NeedsInstanceDeletion(d))
	}
}
