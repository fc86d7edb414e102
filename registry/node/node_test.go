package node

import (
	"slices"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/nodev1"
)

func decode(t *testing.T, text string) *nodev1.RuntimeClass {
	t.Helper()
	return checktest.Decode[nodev1.RuntimeClass](t, text)
}

func TestRuntimeClasses(t *testing.T) {
	s := checktest.Resource(t, Resources(), "RuntimeClass").Strategy
	for text, want := range map[string]string{
		`{"handler":"a"}`: ``,
		`{"handler":"a","overhead":{"podFixed":{"cpu":"1"}},"scheduling":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"a","operator":"Exists"},{"key":"b"}]}}`: ``,
		`{}`:              `handler: Required value`,
		`{"handler":"A"}`: `handler: Invalid value: "A": ` + checktest.Label,
		`{"handler":"a","overhead":{"podFixed":{"pods":"1"}}}`: `overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers`,
		`{"handler":"a","scheduling":{"nodeSelector":{"a":"-"},"tolerations":[{"operator":"Exists","value":"b"}]}}`: `
scheduling.nodeSelector: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and ` +
			`must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is ` +
			`'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
scheduling.tolerations[0].operator: Invalid value: "b": value must be empty when ` + "`operator` is 'Exists'",
		`{"handler":"a","scheduling":{"tolerations":[{"key":"a","effect":"NoExecute"},{"key":"a","effect":"NoExecute","tolerationSeconds":1}]}}`: `scheduling.tolerations[1]: ` +
			`Duplicate value: {"Key":"a","Operator":"","Value":"","Effect":"NoExecute","TolerationSeconds":1}`,
	} {
		checktest.Want(t, s.Validate(decode(t, text), nil), want)
	}
	checktest.Want(t, s.Validate(decode(t, `{"handler":"a"}`), decode(t, `{"handler":"a"}`)), "")
	checktest.Want(t, s.Validate(decode(t, `{"handler":"b"}`), decode(t, `{"handler":"a"}`)), `handler: Invalid value: "b": field is immutable`)
	if !s.AllowCreateOnUpdate || s.AllowUnconditionalUpdate || s.Metadata != registry.MetaRepeat|registry.MetaCompare {
		t.Errorf("got %v, want classes that PUT creates, and replaces with a version", s)
	}
}

func TestWarnings(t *testing.T) {
	s := checktest.Resource(t, Resources(), "RuntimeClass").Strategy
	c := decode(t, `{"scheduling":{"nodeSelector":{"a":"b","beta.kubernetes.io/os":"a","beta.kubernetes.io/arch":"a"}}}`)
	want := []string{`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead`,
		`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead`}
	if got := s.Warnings(c, nil); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.Warnings(decode(t, `{}`), nil); got != nil {
		t.Errorf("got %q, want no warnings", got)
	}
}

func TestTable(t *testing.T) {
	checktest.WantCells(t, checktest.Resource(t, Resources(), "RuntimeClass"), decode(t, `{"handler":"h"}`), time.Now(), "x", "h", "<unknown>")
}
