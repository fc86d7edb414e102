// Package cel evaluates expressions in the Common Expression Language, as the rules of custom resources, admission
// policies and authentication have them: the language that cel-go implements, with the functions, limits and costs
// that Kubernetes 1.36 gives it.
//
// An Env says what an expression may name. Base has the functions; Extend adds variables and the types of objects.
// Check parses an expression and finds its type. An Expression can be estimated (Cost) and planned (Program), and a
// Program is run, as often and by as many goroutines as one likes.
//
// Work is counted in units of cost. The estimate, made of the sizes that a schema allows, keeps dear expressions out;
// at run time the real cost of each call is bounded by CallLimit, and that of all calls about one object by a Budget.
// The numbers are part of the API: an expression that fits into a budget here fits there.
//
// Expressions come from clients, and so do values. The language has no loops but those over values, and nothing here
// panics. What cost does not count is bounded otherwise, so that whatever is asked ends in about a second and takes
// less than some hundred megabytes: Check refuses expressions whose types would take too long to find (bounds.go), and
// a run ends with ErrCallLimit before a call that would do too much for its price (guard.go, work.go). No such bound is
// met by an expression that somebody has written to be understood. Nothing happens before the first use of Base, either:
// there are no variables of this package whose initialization costs anything.
//
// Not here: which expressions an object has and what is said about their results (registry/extensions, admission).
//
// Read: cel.go, expression.go with bounds.go, program.go, tally.go with watch.go and price.go,
// cost.go with estimate.go, guard.go with work.go; value.go, then a library a file. Package rules
// has the rules of schemas and of the tags of Go types.
package cel

import (
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// An Env is what an expression may name: functions, variables, and the fields of types. It is immutable.
type Env struct {
	env *cel.Env
}

// Base returns the environment that all others extend, with every function and no variable.
func Base() *Env { return base() }

var base = sync.OnceValue(func() *Env {
	env, err := cel.NewEnv(slices.Concat([]cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true), // once here, so that Extend only looks at what is new
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
	}, lists(), regex(), urls(), quantities(), ips(), cidrs(), formats(), semvers(), authorization())...)
	if err != nil {
		panic("cel: " + err.Error()) // two libraries declare the same overload
	}
	return &Env{env}
})

// Extend returns an environment that also has what options add: variables (cel.Variable), and types by a provider that
// asks Types for what it does not know itself (cel.CustomTypeProvider, cel.CustomTypeAdapter).
func (e *Env) Extend(options ...cel.EnvOption) (*Env, error) {
	env, err := e.env.Extend(options...)
	if err != nil {
		return nil, err
	}
	return &Env{env}, nil
}

// Types returns the types that e knows.
func (e *Env) Types() types.Provider { return e.env.CELTypeProvider() }
