package policies

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"

	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel"
)

// Conditions are the match conditions of a policy or of a webhook: expressions that must all be
// true. They are immutable and safe for concurrent use.
type Conditions struct {
	set    *Set
	names  []string
	ignore bool
}

// Conditions compiles match conditions. ignore says that the failure policy is Ignore.
func (s *Scope) Conditions(conditions []v1.MatchCondition, uses Uses, ignore bool) *Conditions {
	c := &Conditions{ignore: ignore, names: make([]string, len(conditions))}
	expressions := make([]*Expression, len(conditions))
	for i, each := range conditions {
		c.names[i] = each.Name
		expressions[i] = s.Compile(each.Expression, uses, types.BoolType)
	}
	c.set = s.Set(expressions...)
	return c
}

// Match is what match conditions say about a request.
type Match struct {
	// Matched says that all conditions are true.
	Matched bool
	// Failed is the name of the first condition that is false, "" if none is.
	Failed string
	// Err says why it is not known whether the request matches. It is nil with the failure policy
	// Ignore, by which such a request does not match.
	Err error
	// Failures is the number of conditions that had an error, for metrics.
	Failures int
}

// Why says in the story of a write why the conditions exclude it. It is for a Match that is neither
// Matched nor an Err.
func (m *Match) Why() string {
	if m.Failed == "" {
		return "a match condition failed, and failurePolicy is Ignore"
	}
	return fmt.Sprintf("the match condition %q is false", m.Failed)
}

// Match evaluates the conditions with a budget of their own (cel.MatchBudget). Conditions do not
// see in.Namespace. A condition that is false decides, whatever error another one has. Nil
// Conditions match everything.
func (c *Conditions) Match(ctx context.Context, in *Inputs) (m Match) {
	if c == nil || len(c.names) == 0 {
		return Match{Matched: true}
	}
	seen := *in
	seen.Namespace = nil
	budget := cel.MatchBudget
	var few [4]Result
	results := few[:]
	if len(c.names) > len(few) {
		results = make([]Result, len(c.names))
	}
	if err := c.set.evaluate(ctx, &seen, &budget, results); err != nil {
		return c.unknown(m, err)
	}
	var failures errorList
	for i := range c.names {
		if err := results[i].Err; err != nil {
			failures = append(failures, err)
			m.Failures++
		}
		if results[i].Value == types.False {
			m.Failed = c.names[i]
			return m
		}
	}
	if len(failures) > 0 {
		return c.unknown(m, failures)
	}
	m.Matched = true
	return m
}

// unknown completes m for a request if an error keeps the conditions from saying whether it
// matches.
func (c *Conditions) unknown(m Match, err error) Match {
	if !c.ignore {
		m.Err = err
	}
	return m
}

// errorList are errors with a text like that of Kubernetes' aggregates.
type errorList []error

// Error implements error. It has each text once.
func (l errorList) Error() string {
	said, texts := map[string]bool{}, []string{}
	for _, err := range l {
		if text := err.Error(); !said[text] {
			said[text] = true
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("[%s]", strings.Join(texts, ", "))
}

// Unwrap returns the errors.
func (l errorList) Unwrap() []error { return l }
