package eventsv1

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schemetest"
)

func newScheme(t *testing.T) *scheme.Scheme {
	t.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRoundTrip(t *testing.T) { schemetest.RoundTrip(t, newScheme(t), nil) }

// TestFields: fields whose names differ from those in the core group have the same values.
func TestFields(t *testing.T) {
	in := &corev1.Event{
		InvolvedObject: corev1.ObjectReference{Name: "about"}, Message: "text", Source: corev1.EventSource{Host: "host"}, Count: 3,
		FirstTimestamp: meta.Now(), LastTimestamp: meta.NewTime(meta.Now().Add(5)), ReportingController: "c", Related: &corev1.ObjectReference{Name: "more"},
	}
	made, err := newScheme(t).ConvertKind(in, GroupVersion.WithKind("Event"))
	if err != nil {
		t.Fatal(err)
	}
	e := made.(*Event)
	if e.Regarding.Name != "about" || e.Note != "text" || e.DeprecatedSource.Host != "host" || e.DeprecatedCount != 3 || e.ReportingController != "c" ||
		e.DeprecatedFirstTimestamp != in.FirstTimestamp || e.DeprecatedLastTimestamp != in.LastTimestamp || e.Related.Name != "more" {
		t.Errorf("got %+v", e)
	}
	if e.Related == in.Related {
		t.Error("memory is shared")
	}
}

func TestFieldLabels(t *testing.T) {
	s := newScheme(t)
	for label, want := range map[string]string{
		"regarding.kind": "involvedObject.kind", "regarding.fieldPath": "involvedObject.fieldPath", "reportingController": "reportingComponent",
		"reason": "reason", "metadata.name": "metadata.name", "involvedObject.kind": "", "source": "", "reportingComponent": "",
	} {
		got, value, err := s.FieldLabel(GroupVersion.WithKind("Event"), label, "v")
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "field label not supported: "+label) {
				t.Errorf("%s: got %q, %v", label, got, err)
			}
		} else if got != want || value != "v" || err != nil {
			t.Errorf("%s: got %q=%q, %v, want %q", label, got, value, err, want)
		}
	}
}
