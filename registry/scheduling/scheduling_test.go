package scheduling

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
)

func decode(t *testing.T, text string) *schedulingv1.PriorityClass {
	t.Helper()
	return checktest.Decode[schedulingv1.PriorityClass](t, text)
}

func TestPriorityClasses(t *testing.T) {
	r := checktest.Resource(t, Resources(), "PriorityClass")
	const reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
	for text, want := range map[string]string{
		`{"value":1000000000}`:                                                                    ``,
		`{"value":1000000001}`:                                                                    `value: Forbidden: maximum allowed value of a user defined priority is 1000000000`,
		`{"value":-2147483648,"preemptionPolicy":"Never"}`:                                        ``,
		`{"preemptionPolicy":"PreemptLowerPriority"}`:                                             ``,
		`{"preemptionPolicy":"Odd"}`:                                                              `preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"`,
		`{"preemptionPolicy":""}`:                                                                 `preemptionPolicy: Required value`,
		`{"metadata":{"name":"system-node-critical"},"value":2000001000}`:                         ``,
		`{"metadata":{"name":"system-cluster-critical"},"value":2000000000}`:                      ``,
		`{"metadata":{"name":"system-node-critical"},"value":2000000000}`:                         reserved + `value of system-node-critical PriorityClass must be 2000001000`,
		`{"metadata":{"name":"system-cluster-critical"},"value":2000000000,"globalDefault":true}`: reserved + `globalDefault of system-cluster-critical PriorityClass must be false`,
		`{"metadata":{"name":"system-odd"},"value":2000000000}`:                                   reserved + `system-odd is not a known system priority class`,
	} {
		checktest.Want(t, r.Strategy.Validate(decode(t, text), nil), want)
	}
	old := decode(t, `{"value":1}`)
	checktest.Want(t, r.Strategy.Validate(decode(t, `{"value":1,"globalDefault":true,"description":"d"}`), old), "")
	checktest.Want(t, r.Strategy.Validate(decode(t, `{"value":2,"preemptionPolicy":"Never"}`), old), `
value: Forbidden: may not be changed in an update.
preemptionPolicy: Invalid value: "Never": field is immutable`)
	if !r.Strategy.AllowUnconditionalUpdate || r.Strategy.Metadata != registry.MetaChange || len(r.Generation) == 0 {
		t.Errorf("got %v, want classes that are replaced without a version, and counted", r.Strategy)
	}
}

func TestTable(t *testing.T) {
	r := checktest.Resource(t, Resources(), "PriorityClass")
	checktest.WantCells(t, r, decode(t, `{"value":7,"globalDefault":true}`), time.Now(), "x", int64(7), true, "<unknown>", "PreemptLowerPriority")
	checktest.WantCells(t, r, &schedulingv1.PriorityClass{}, time.Now(), "", int64(0), false, "<unknown>", "")
}

// TestPermanent: the classes of the system cannot be deleted, even if they do not exist.
func TestPermanent(t *testing.T) {
	permanent := checktest.Resource(t, Resources(), "PriorityClass").Strategy.Permanent
	for name, want := range map[string]string{
		"system-node-critical":    "this is a system priority class and cannot be deleted",
		"system-cluster-critical": "this is a system priority class and cannot be deleted",
		"system-odd":              "", "high": "",
	} {
		if got := permanent(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
