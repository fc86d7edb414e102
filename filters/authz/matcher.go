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

// Bounds of the conditions of one webhook: how many there are, and what judging a request by them may cost.
const (
	maxConditions    = 64
	conditionsBudget = cel.Budget(10_000_000)
)

// matcher judges whether a webhook is asked about a request.
type matcher struct{ conditions []condition }

type condition struct {
	text    string
	program *cel.Program
}

// newMatcher compiles conditions, none to nil.
func newMatcher(conditions []string) (*matcher, error) {
	m, errs := compileConditions(nil, conditions)
	return m, errs.ToAggregate()
}

// compileConditions compiles conditions, and says what is wrong with those of a webhook at a path.
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

// matches reports whether all conditions are true of what is asked. One that is false decides, also beside others that cannot be judged.
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

// requestVar is what conditions call the request, as a SubjectAccessReview of v1 describes it.
const requestVar = "request"

// value is what conditions see. Every text is there, also an empty one; what a request has not, is not.
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
		for name, selector := range map[string]*reviewSelector{"fieldSelector": r.FieldSelector, "labelSelector": r.LabelSelector} {
			if selector != nil {
				resource[name] = selector.value()
			}
		}
		v["resourceAttributes"] = resource
	}
	return v
}

func (s *reviewSelector) value() map[string]any {
	list := make([]map[string]any, len(s.Requirements))
	for i, r := range s.Requirements {
		list[i] = map[string]any{"key": r.Key, "operator": r.Operator, "values": r.Values}
	}
	return map[string]any{"requirements": list}
}

// conditionEnv is what conditions may speak of.
var conditionEnv = sync.OnceValues(func() (*cel.Env, error) {
	base := cel.Base()
	return base.Extend(celgo.CustomTypeProvider(reviewTypes.Over(base.Types())), celgo.Variable(requestVar, celgo.ObjectType(reviewTypePrefix+"SubjectAccessReviewSpec")))
})

const reviewTypePrefix = "kubernetes."

// reviewTypes are the types that conditions see.
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
	spec, resource := texts("user", "uid"), texts("namespace", "verb", "group", "version", "resource", "subresource", "name")
	spec["groups"], spec["extra"] = list, types.NewMapType(types.StringType, list)
	spec["resourceAttributes"], spec["nonResourceAttributes"] = object("ResourceAttributes"), object("NonResourceAttributes")
	resource["fieldSelector"], resource["labelSelector"] = object("FieldSelectorAttributes"), object("LabelSelectorAttributes")
	selector, requirement := texts("rawSelector"), texts("key", "operator")
	selector["requirements"], requirement["values"] = types.NewListType(object("SelectorRequirement")), list
	return cel.Structs{
		reviewTypePrefix + "SubjectAccessReviewSpec": spec, reviewTypePrefix + "ResourceAttributes": resource,
		reviewTypePrefix + "NonResourceAttributes":   texts("path", "verb"),
		reviewTypePrefix + "FieldSelectorAttributes": selector, reviewTypePrefix + "LabelSelectorAttributes": selector,
		reviewTypePrefix + "SelectorRequirement": requirement,
	}
}()
