package authz

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file evaluates the match conditions of webhooks (KEP-3221): CEL expressions over a
// SubjectAccessReview. Webhook asks a matcher before each call.

// maxConditions is the largest number of conditions of one webhook, and conditionsBudget the CEL
// cost that evaluating all of them for one request may have.
const (
	maxConditions    = 64
	conditionsBudget = cel.Budget(10_000_000)
)

// matcher decides whether a webhook is asked about a request.
type matcher struct{ conditions []condition }

// condition is a compiled expression with its text, for errors.
type condition struct {
	text    string
	program *cel.Program
}

// newMatcher compiles conditions. Without conditions it returns nil.
func newMatcher(conditions []string) (*matcher, error) {
	m, errs := compileConditions(nil, conditions)
	return m, errs.ToAggregate()
}

// compileConditions compiles conditions and returns what is wrong with them. path is the path of
// the webhook's configuration in errors. The matcher is nil if there are no conditions: such a
// webhook is asked about all requests.
func compileConditions(path *field.Path, texts []string) (*matcher, field.ErrorList) {
	at := path.Child("matchConditions")
	if len(texts) > maxConditions {
		return nil, field.ErrorList{field.TooMany(at, len(texts), maxConditions)}
	}
	m := new(matcher)
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, text := range texts {
		at := at.Index(i).Child("expression")
		switch {
		case strings.TrimSpace(text) == "":
			errs = append(errs, field.Required(at, ""))
			continue
		case seen[text]:
			errs = append(errs, field.Duplicate(at, text))
			continue
		}
		seen[text] = true
		program, err := compileCondition(text)
		if err != nil {
			errs = append(errs, field.Invalid(at, text, err.Error()))
			continue
		}
		m.conditions = append(m.conditions, condition{text, program})
	}
	if len(m.conditions) == 0 {
		return nil, errs
	}
	return m, errs
}

// compileCondition compiles one expression, which must be of type bool.
func compileCondition(text string) (*cel.Program, error) {
	env, err := conditionEnv()
	if err != nil {
		return nil, err
	}
	x, err := env.Check(text)
	if err != nil {
		return nil, err
	}
	if x.Type() != types.BoolType {
		return nil, fmt.Errorf("must evaluate to bool but got %v", x.Type())
	}
	return x.Program()
}

// matches reports whether all conditions are true of a request. If one is false, the answer is
// false even if others fail; otherwise a failure is an error.
func (m *matcher) matches(ctx context.Context, spec *reviewSpec) (bool, error) {
	vars, err := celgo.NewActivation(map[string]any{requestVar: spec.value()})
	if err != nil {
		return false, err
	}
	var errs []error
	budget := conditionsBudget
	for i := range m.conditions {
		c := &m.conditions[i]
		value, err := c.program.Run(ctx, vars, &budget)
		if err != nil {
			errs = append(errs, fmt.Errorf("cel evaluation error: expression '%v' resulted in error: %w", c.text, err))
			continue
		}
		if value != types.True {
			return false, nil
		}
	}
	return len(errs) == 0, errors.Join(errs...)
}

// requestVar is the variable that holds the spec of a v1 SubjectAccessReview.
const requestVar = "request"

// value returns the spec as conditions see it. An empty text is present as ""; resourceAttributes,
// nonResourceAttributes and selectors that the request does not have are absent (has() is false).
func (s *reviewSpec) value() map[string]any {
	extra := s.Extra
	if extra == nil {
		extra = map[string][]string{}
	}
	v := map[string]any{"user": s.User, "groups": s.Groups, "uid": s.UID, "extra": extra}
	if p := s.NonResourceAttributes; p != nil {
		v["nonResourceAttributes"] = map[string]string{"verb": p.Verb, "path": p.Path}
	}
	if r := s.ResourceAttributes; r != nil {
		resource := map[string]any{
			"namespace": r.Namespace, "verb": r.Verb, "group": r.Group, "version": r.Version,
			"resource": r.Resource, "subresource": r.Subresource, "name": r.Name,
		}
		for name, selector := range map[string]*reviewSelector{
			"fieldSelector": r.FieldSelector, "labelSelector": r.LabelSelector,
		} {
			if selector != nil {
				resource[name] = selector.value()
			}
		}
		v["resourceAttributes"] = resource
	}
	return v
}

// value returns a selector as conditions see it.
func (s *reviewSelector) value() map[string]any {
	list := make([]map[string]any, len(s.Requirements))
	for i, r := range s.Requirements {
		list[i] = map[string]any{"key": r.Key, "operator": r.Operator, "values": r.Values}
	}
	return map[string]any{"requirements": list}
}

// conditionEnv is the CEL environment of conditions: the base library and the variable request.
var conditionEnv = sync.OnceValues(func() (*cel.Env, error) {
	base := cel.Base()
	return base.Extend(celgo.CustomTypeProvider(reviewTypes.Over(base.Types())),
		celgo.Variable(requestVar, celgo.ObjectType(reviewTypePrefix+"SubjectAccessReviewSpec")))
})

// reviewTypePrefix begins the CEL names of the review's types.
const reviewTypePrefix = "kubernetes."

// reviewTypes are the CEL types of a SubjectAccessReview's spec.
var reviewTypes = func() cel.Structs {
	texts := func(names ...string) map[string]*types.Type {
		fields := map[string]*types.Type{}
		for _, name := range names {
			fields[name] = types.StringType
		}
		return fields
	}
	list := types.NewListType(types.StringType)
	object := func(name string) *types.Type { return types.NewObjectType(reviewTypePrefix + name) }
	spec, resource := texts("user", "uid"),
		texts("namespace", "verb", "group", "version", "resource", "subresource", "name")
	spec["groups"], spec["extra"] = list, types.NewMapType(types.StringType, list)
	spec["resourceAttributes"], spec["nonResourceAttributes"] = object("ResourceAttributes"),
		object("NonResourceAttributes")
	resource["fieldSelector"], resource["labelSelector"] = object("FieldSelectorAttributes"),
		object("LabelSelectorAttributes")
	selector, requirement := texts("rawSelector"), texts("key", "operator")
	selector["requirements"], requirement["values"] = types.NewListType(object("SelectorRequirement")), list
	return cel.Structs{
		reviewTypePrefix + "SubjectAccessReviewSpec": spec, reviewTypePrefix + "ResourceAttributes": resource,
		reviewTypePrefix + "NonResourceAttributes":   texts("path", "verb"),
		reviewTypePrefix + "FieldSelectorAttributes": selector, reviewTypePrefix + "LabelSelectorAttributes": selector,
		reviewTypePrefix + "SelectorRequirement": requirement,
	}
}()
