package rules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Compiling the rules of one schema. node.compiled calls compile when the rules are first needed
// for an object, Scope.Check when a schema is defined; only the latter asks for estimates.

// The variables of rules.
const (
	selfVar    = "self"
	oldSelfVar = "oldSelf"
)

// A rule is a compiled validation rule.
type rule struct {
	*schema.Rule
	program *cel.Program // nil if the rule is empty or err is set
	// What is wrong with the expression of the rule.
	err     error
	usesOld bool // the expression names oldSelf
	// cost is the estimated cost of one run, 0 unless estimates were asked for. messageCost is that
	// of message.
	cost uint64

	// message is the program of messageExpression; nil if the rule has none, or messageErr is set.
	message     *cel.Program
	messageErr  error
	messageCost uint64

	path string // the path of the field at fault (fieldPath), from the value; "" for the value itself
}

// optional reports whether the rule has optionalOldSelf: oldSelf is an optional then, and the rule
// also runs without an old value.
func (r *rule) optional() bool { return r.OptionalOldSelf != nil && *r.OptionalOldSelf }

// text returns what error messages show of the rule: its message, or else its expression.
func (r *rule) text() string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Rule.Rule)
}

// environments are the Envs for the rules about one value: plain for most rules, optional for rules
// with optionalOldSelf. Each is made when it is first needed.
type environments struct {
	shape           *shape
	plain, optional *cel.Env
}

// of returns the Env for a rule.
func (e *environments) of(r *rule) (_ *cel.Env, err error) {
	env := &e.plain
	if r.optional() {
		env = &e.optional
	}
	if *env == nil {
		*env, err = environment(e.shape, r.optional())
	}
	return *env, err
}

// environment makes the Env for rules about values of a shape. The name of the object type contains
// the time, as in Kubernetes, so that no expression can depend on it.
func environment(sh *shape, optional bool) (*cel.Env, error) {
	p := &provider{Provider: cel.Base().Types(), objects: map[string]*shape{}}
	self := sh.typeOf(fmt.Sprint("selfType", time.Now().Nanosecond()), p.name)
	old := self
	if optional {
		old = celgo.OptionalType(self)
	}
	return cel.Base().Extend(celgo.CustomTypeProvider(p),
		celgo.Variable(selfVar, self), celgo.Variable(oldSelfVar, old))
}

// compile compiles the rules of the schema s, whose shape is sh, and estimates them if estimate is
// set. patterns counts their regular expressions. The error concerns all rules. What is wrong with
// a single rule is in its fields err and messageErr.
func compile(sh *shape, s *schema.Schema, patterns *cel.Patterns, estimate bool) ([]rule, error) {
	if !sh.exposed {
		return nil, errors.New("failed to convert to declType for CEL validation rules")
	}
	envs := &environments{shape: sh}
	rules := make([]rule, len(s.Limits.Rules))
	for i := range rules {
		r := &rules[i]
		r.Rule = &s.Limits.Rules[i]
		if strings.TrimSpace(r.Rule.Rule) == "" {
			continue
		}
		env, err := envs.of(r)
		if err != nil {
			return nil, err
		}
		if r.err = r.compile(env, sh, patterns, estimate); r.err != nil {
			continue
		}
		if r.MessageExpression != "" {
			r.messageErr = r.compileMessage(env, sh, patterns, estimate)
		}
		if r.FieldPath != "" {
			if path, err := FieldPath(s, r.FieldPath); err == nil {
				r.path = path.String()
			}
		}
	}
	return rules, nil
}

// compile compiles the expression of the rule.
func (r *rule) compile(env *cel.Env, sh *shape, patterns *cel.Patterns, estimate bool) error {
	x, err := env.CheckOneOf(patterns, r.Rule.Rule)
	if err != nil {
		return err
	}
	if x.Type() != celgo.BoolType {
		return errors.New("cel expression must evaluate to a bool")
	}
	r.usesOld = x.Uses(oldSelfVar)
	program, err := x.Program()
	if err != nil {
		return err
	}
	if estimate {
		cost, err := x.Cost(sh.sizes)
		if err != nil {
			return fmt.Errorf("cost estimation failed: %w", err)
		}
		r.cost = cost.Max
	}
	r.program = program
	return nil
}

// compileMessage compiles the messageExpression of the rule. The error texts are Kubernetes'.
func (r *rule) compileMessage(env *cel.Env, sh *shape, patterns *cel.Patterns, estimate bool) error {
	x, err := env.CheckOneOf(patterns, r.MessageExpression)
	if err != nil {
		return fmt.Errorf("messageExpression %w", err)
	}
	if x.Type() != celgo.StringType {
		return errors.New("messageExpression must evaluate to a string")
	}
	program, err := x.Program()
	if err != nil {
		return fmt.Errorf("messageExpression %s", strings.TrimPrefix(err.Error(), "program "))
	}
	if estimate {
		cost, err := x.Cost(sh.sizes)
		if err != nil {
			return fmt.Errorf("cost estimation failed for messageExpression: %w", err)
		}
		r.messageCost = cost.Max
	}
	r.message = program
	return nil
}
