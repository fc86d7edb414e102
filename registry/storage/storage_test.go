package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

var testTime = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func declared(t *testing.T, name string) *registry.Resource {
	t.Helper()
	for _, r := range Resources() {
		if r.GroupResource.Resource == name {
			return &r
		}
	}
	t.Fatalf("no resource %s", name)
	return nil
}

// write runs an object through the strategy, as a new object or as an update of old.
func write[T meta.Object](t *testing.T, name string, obj, old T) field.ErrorList {
	t.Helper()
	s := declared(t, name).Strategy
	var was meta.Object
	if any(old) != any(*new(T)) {
		was = old
	}
	if s.Prepare != nil {
		s.Prepare(&registry.Request{Now: testTime}, obj, was)
	}
	return s.Validate(obj, was)
}

func TestResourcesAreComplete(t *testing.T) {
	for _, r := range Resources() {
		obj, err := checktest.Scheme().NewObject(storagev1.GroupVersion.WithKind(r.Kind))
		if err != nil {
			t.Fatal(err)
		}
		r.Strategy.Validate(obj.(meta.Object), nil) // clients can send empty objects, on which nothing may panic
		if r.Table == nil {
			continue
		}
		if cells := r.Table.Cells(obj.(meta.Object), testTime); len(cells) != len(r.Table.Columns) {
			t.Errorf("%s: got %d cells for %d columns", r.Kind, len(cells), len(r.Table.Columns))
		}
		for _, c := range r.Table.Columns {
			if c.Description == "" || c.Type == "" {
				t.Errorf("%s: column %q lacks a type or description", r.Kind, c.Name)
			}
		}
	}
}

func TestTables(t *testing.T) {
	decode := map[string]func(text string) meta.Object{
		"storageclasses":          func(s string) meta.Object { return checktest.Decode[storagev1.StorageClass](t, s) },
		"volumeattributesclasses": func(s string) meta.Object { return checktest.Decode[storagev1.VolumeAttributesClass](t, s) },
		"volumeattachments":       func(s string) meta.Object { return checktest.Decode[storagev1.VolumeAttachment](t, s) },
		"csidrivers":              func(s string) meta.Object { return checktest.Decode[storagev1.CSIDriver](t, s) },
		"csinodes":                func(s string) meta.Object { return checktest.Decode[storagev1.CSINode](t, s) },
	}
	for _, tt := range []struct{ resource, in, want string }{
		{"storageclasses", `{"provisioner":"p"}`, `x|p|Delete|Immediate|false|<unknown>`},
		{"storageclasses", `{"provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer","allowVolumeExpansion":true,
			"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}`, `x (default)|p|Retain|WaitForFirstConsumer|true|<unknown>`},
		{"storageclasses", `{"allowVolumeExpansion":false,"metadata":{"annotations":{"storageclass.beta.kubernetes.io/is-default-class":"true"}}}`, `x (default)||Delete|Immediate|false|<unknown>`},
		{"storageclasses", `{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"false"}}}`, `x||Delete|Immediate|false|<unknown>`},
		{"volumeattributesclasses", `{"driverName":"d"}`, `x|d|<unknown>`},
		{"volumeattachments", `{"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"v"}},"status":{"attached":true}}`, `x|a|v|n|true|<unknown>`},
		{"volumeattachments", `{"spec":{"source":{"inlineVolumeSpec":{}}}}`, `x||||false|<unknown>`},
		{"csidrivers", `{}`, `x|true|false|false|<unset>|false|Persistent|<unknown>`},
		{"csidrivers", `{"spec":{"attachRequired":false,"podInfoOnMount":true,"storageCapacity":true,"tokenRequests":[{"audience":"a"},{"audience":"b"}],
			"requiresRepublish":true,"volumeLifecycleModes":["Persistent","Ephemeral"]}}`, `x|false|true|true|a,b|true|Persistent,Ephemeral|<unknown>`},
		{"csinodes", `{"spec":{"drivers":[{"name":"a"},{"name":"b"}]}}`, `x|2|<unknown>`},
	} {
		var texts []string
		for _, cell := range declared(t, tt.resource).Table.Cells(decode[tt.resource](tt.in), testTime) {
			texts = append(texts, fmt.Sprint(cell))
		}
		if got := strings.Join(texts, "|"); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.resource, tt.in, got, tt.want)
		}
	}
	bare := driverCells(&storagev1.CSIDriver{}, testTime) // without a name, as in a bookmark
	if bare[1] != true || bare[6] != "<none>" {
		t.Errorf("an empty driver: got %v, want it to need attachment and to have no modes", bare)
	}
}

func TestAllowUnconditionalUpdate(t *testing.T) {
	for _, r := range Resources() {
		want := r.Kind == "StorageClass" || r.Kind == "VolumeAttributesClass"
		if r.Strategy.AllowUnconditionalUpdate != want || r.Strategy.AllowCreateOnUpdate {
			t.Errorf("%s: got unconditional updates %v, want %v, and no create by update", r.Kind, r.Strategy.AllowUnconditionalUpdate, want)
		}
	}
}

// wantWarnings compares warnings with the lines of want.
func wantWarnings(t *testing.T, got []string, want string) {
	t.Helper()
	var list []string
	if want != "" {
		list = strings.Split(want, "\n")
	}
	if !slices.Equal(got, list) {
		t.Errorf("warnings: got %q, want %q", got, list)
	}
}
