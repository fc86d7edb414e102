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

// condition is a valid one.
func condition(change func(*meta.Condition)) []meta.Condition {
	c := meta.Condition{Type: "Ready", Status: "True", Reason: "AsExpected", LastTransitionTime: meta.Time{Time: time.Unix(1, 0)}}
	if change != nil {
		change(&c)
	}
	return []meta.Condition{c}
}

func TestConditions(t *testing.T) {
	p := field.NewPath("c")
	const reason = `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', ` +
		`and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or ` +
		`'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`
	for want, list := range map[string][]meta.Condition{
		"":                                      condition(nil),
		"c[1].type: Duplicate value: \"Ready\"": append(condition(nil), condition(nil)...),
		"c[0].status: Unsupported value: \"Odd\": supported values: \"False\", \"True\", \"Unknown\"": condition(func(c *meta.Condition) { c.Status = "Odd" }),
		"c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero":           condition(func(c *meta.Condition) { c.ObservedGeneration = -1 }),
		"c[0].lastTransitionTime: Required value":                                                     condition(func(c *meta.Condition) { c.LastTransitionTime = meta.Time{} }),
		"c[0].message: Too long: may not be more than 32768 bytes":                                    condition(func(c *meta.Condition) { c.Message = strings.Repeat("a", 32769) }),
		"c[0].reason: Too long: may not be more than 1024 bytes":                                      condition(func(c *meta.Condition) { c.Reason = strings.Repeat("a", 1025) }),
		"c[0].reason: Required value":                                                                 condition(func(c *meta.Condition) { c.Reason = "" }),
		"c[0].reason: Invalid value: \"a:\": " + reason:                                               condition(func(c *meta.Condition) { c.Reason = "a:" }),
		"c[0].reason: Invalid value: \"1a\": " + reason:                                               condition(func(c *meta.Condition) { c.Reason = "1a" }),
		"c[0].reason: Invalid value: \"a-b\": " + reason:                                              condition(func(c *meta.Condition) { c.Reason = "a-b" }),
	} {
		checktest.Want(t, check.Conditions(p, list), want)
	}
	for _, right := range []string{"a", "A_", "a1", "a:b,c", strings.Repeat("a", 1024)} {
		checktest.Want(t, check.Conditions(p, condition(func(c *meta.Condition) { c.Reason = right })), "")
	}
	checktest.Want(t, check.Conditions(p, condition(func(c *meta.Condition) { c.Message = strings.Repeat("a", 32768) })), "")
}
