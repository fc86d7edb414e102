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

// The variables of rules.
const (
	selfVar    = "self"
	oldSelfVar = "oldSelf"
)

// A rule is one that has been compiled.
type rule struct {
	*schema.Rule
	program *cel.Program // nil: the rule is empty, or err says what is wrong with it
	err     error
	usesOld bool // it names oldSelf
	// cost is the estimated cost of running it once.
	cost uint64

	// message makes what is said if the rule does not hold; nil if there is no expression for that, or it is wrong.
	message     *cel.Program
	messageErr  error
	messageCost uint64

	path string // of the field that is at fault, from the value; "" is the value itself
}

func (r *rule) optional() bool { return r.OptionalOldSelf != nil && *r.OptionalOldSelf }

// text is what is said of the rule itself.
func (r *rule) text() string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Rule.Rule)
}

// environments are those of the rules about one value: with what it was, and with what it may have been.
type environments struct {
	shape          *shape
	plain, perhaps *cel.Env
}

// of returns the environment for a rule.
func (e *environments) of(r *rule) (_ *cel.Env, err error) {
	env := &e.plain
	if r.optional() {
		env = &e.perhaps
	}
	if *env == nil {
		*env, err = environment(e.shape, r.optional())
	}
	return *env, err
}

// environment makes the environment for rules about values of a shape. The types of objects have another name each time, so that nobody
// comes to depend on it.
func environment(sh *shape, optional bool) (*cel.Env, error) {
	p := &provider{Provider: cel.Base().Types(), objects: map[string]*shape{}}
	self := sh.typeOf(fmt.Sprint("selfType", time.Now().Nanosecond()), p.name)
	old := self
	if optional {
		old = celgo.OptionalType(self)
	}
	return cel.Base().Extend(celgo.CustomTypeProvider(p), celgo.Variable(selfVar, self), celgo.Variable(oldSelfVar, old))
}

// compile compiles the rules about values of a shape, with their estimates if anybody wants them.
func compile(sh *shape, s *schema.Schema, estimate bool) ([]rule, error) {
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
		if r.err = r.compile(env, sh, estimate); r.err != nil {
			continue
		}
		if r.MessageExpression != "" {
			r.messageErr = r.compileMessage(env, sh, estimate)
		}
		if r.FieldPath != "" {
			if path, err := FieldPath(s, r.FieldPath); err == nil {
				r.path = path.String()
			}
		}
	}
	return rules, nil
}

func (r *rule) compile(env *cel.Env, sh *shape, estimate bool) error {
	x, err := env.Check(r.Rule.Rule)
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

func (r *rule) compileMessage(env *cel.Env, sh *shape, estimate bool) error {
	x, err := env.Check(r.MessageExpression)
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
