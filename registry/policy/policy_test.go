package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
)

// TestBudgets validates valid and invalid budgets. In want, $ is the path of the spec.
func TestBudgets(t *testing.T) {
	s := checktest.Resource(t, Resources(), "PodDisruptionBudget").Strategy
	for spec, want := range map[string]string{
		``: ``,
		`"minAvailable":0,"selector":{},"unhealthyPodEvictionPolicy":"AlwaysAllow"`: ``,
		`"maxUnavailable":"100%","unhealthyPodEvictionPolicy":"IfHealthyBudget"`:    ``,
		`"minAvailable":1,"maxUnavailable":"1%"`: `$: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"1%",` +
			`"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set`,
		`"minAvailable":-1`:       `$.minAvailable: Invalid value: -1: must be greater than or equal to 0`,
		`"minAvailable":"101%"`:   `$.minAvailable: Invalid value: "101%": must not be greater than 100%`,
		`"maxUnavailable":-1`:     `$.maxUnavailable: Invalid value: -1: must be greater than or equal to 0`,
		`"maxUnavailable":"101%"`: `$.maxUnavailable: Invalid value: "101%": must not be greater than 100%`,
		`"maxUnavailable":"1"`: `$.maxUnavailable: Invalid value: "1": a valid percent string must be a numeric string followed by an ending '%' ` +
			`(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`,
		`"selector":{"matchExpressions":[{"key":"a","operator":"In"}]}`: "$.selector.matchExpressions[0].values: Required value: " +
			"must be specified when `operator` is 'In' or 'NotIn'",
		`"unhealthyPodEvictionPolicy":""`: `$.unhealthyPodEvictionPolicy: Unsupported value: "": supported values: "AlwaysAllow", "IfHealthyBudget"`,
	} {
		t.Run(spec, func(t *testing.T) {
			b := checktest.Decode[policyv1.PodDisruptionBudget](t, `{"spec":{`+spec+`}}`)
			checktest.Want(t, s.Validate(b, nil), strings.ReplaceAll(want, "$", "spec"))
			checktest.Want(t, s.Validate(b, b), strings.ReplaceAll(want, "$", "spec"))
		})
	}
	if s.AllowUnconditionalUpdate || len(s.ValidateName("A b", false)) > 0 {
		t.Error("got a budget that is replaced without a version, or names that are checked; want neither")
	}
}

func TestBudgetStatus(t *testing.T) {
	b := checktest.Decode[policyv1.PodDisruptionBudget](t, `{"status":{"disruptionsAllowed":-1,"currentHealthy":-2,"desiredHealthy":-3,
		"expectedPods":-4,"conditions":[{}]}}`)
	checktest.Want(t, checktest.Resource(t, Resources(), "PodDisruptionBudget").Status.Validate(b, b), `
status.conditions[0].type: Invalid value: "": name part must be non-empty
status.conditions[0].type: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an `+
		`alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
status.conditions[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"
status.conditions[0].lastTransitionTime: Required value
status.conditions[0].reason: Required value
status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0
status.currentHealthy: Invalid value: -2: must be greater than or equal to 0
status.desiredHealthy: Invalid value: -3: must be greater than or equal to 0
status.expectedPods: Invalid value: -4: must be greater than or equal to 0`)
}

func TestTable(t *testing.T) {
	r, now := checktest.Resource(t, Resources(), "PodDisruptionBudget"), time.Now()
	b := checktest.Decode[policyv1.PodDisruptionBudget](t, `{"spec":{"minAvailable":"5%"},"status":{"disruptionsAllowed":7}}`)
	checktest.WantCells(t, r, b, now, "x", "5%", "N/A", int64(7), "<unknown>")
	b = checktest.Decode[policyv1.PodDisruptionBudget](t, `{"spec":{"maxUnavailable":5}}`)
	checktest.WantCells(t, r, b, now, "x", "N/A", "5", int64(0), "<unknown>")
}
