package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestConditions(t *testing.T) {
	good := meta.Condition{Type: "example.com/Ready", Status: "True", LastTransitionTime: meta.Time{Time: time.Unix(1, 0)}, Reason: "Up"}
	const reason = ": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters " +
		"or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or " +
		"'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
	for _, tt := range []struct {
		change func(c *meta.Condition)
		want   string
	}{
		{func(*meta.Condition) {}, ""},
		{func(c *meta.Condition) { c.Status = "Unknown" }, ""},
		{func(c *meta.Condition) { c.Status = "False" }, ""},
		{func(c *meta.Condition) { c.Status = "" }, `c[1].status: Unsupported value: "": supported values: "False", "True", "Unknown"`},
		{func(c *meta.Condition) { c.Type = "Ready" }, `c[1].type: Duplicate value: "Ready"`},
		{func(c *meta.Condition) { c.ObservedGeneration = -1 },
			"c[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero"},
		{func(c *meta.Condition) { c.LastTransitionTime = meta.Time{} }, "c[1].lastTransitionTime: Required value"},
		{func(c *meta.Condition) { c.Reason = "" }, "c[1].reason: Required value"},
		{func(c *meta.Condition) { c.Reason = "A:B,c_9_" }, ""},
		{func(c *meta.Condition) { c.Reason = "a:" }, `c[1].reason: Invalid value: "a:"` + reason},
		{func(c *meta.Condition) { c.Reason = strings.Repeat("a", 1024) }, ""},
		{func(c *meta.Condition) { c.Reason = strings.Repeat("a", 1025) }, "c[1].reason: Too long: may not be more than 1024 bytes"},
		{func(c *meta.Condition) { c.Message = strings.Repeat("a", 32<<10) }, ""},
		{func(c *meta.Condition) { c.Message = strings.Repeat("a", 32<<10+1) }, "c[1].message: Too long: may not be more than 32768 bytes"},
	} {
		first, second := good, good
		first.Type = "Ready"
		tt.change(&second)
		checktest.Want(t, check.Conditions(field.NewPath("c"), []meta.Condition{first, second}), tt.want)
	}
	bad := good
	bad.Type = "a b"
	if errs := check.Conditions(field.NewPath("c"), []meta.Condition{bad}); len(errs) != 1 || errs[0].Field != "c[0].type" {
		t.Errorf("got %v, want a wrong type", errs)
	}
}
