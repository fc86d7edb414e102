// Package cel evaluates expressions in the Common Expression Language (CEL) for validation rules of
// custom resources, admission policies, match conditions and authentication. The language is that
// of cel-go, with the functions, limits and costs of Kubernetes 1.36.
//
// Words:
//   - An Env says what an expression may name. Base has the functions; Extend adds variables
//     and the types of objects.
//   - An Expression is a parsed and type-checked expression. Cost estimates it, Program plans
//     it.
//   - A Program is an expression that can be run, any number of times and by many goroutines at
//     once.
//   - Cost is the unit in which Kubernetes counts the work of an expression. The estimate, made
//     of the sizes that a schema allows, keeps expensive expressions out of a schema. At run
//     time CallLimit bounds one run, and a Budget bounds all runs about one object.
//   - Work is what a run does that its cost does not count (work.go). maxWork bounds it.
//
// Laws:
//   - Costs and limits are part of the API: an expression has the same estimate and the same
//     cost as in kube-apiserver.
//   - Expressions and values come from clients. The only loops of CEL are over values, and
//     nothing here panics out of the package.
//   - Whatever a client asks ends in about a second and takes at most some hundred megabytes.
//     Check refuses expressions whose type check would take too long (bounds.go). A run ends
//     with ErrCallLimit before a call that would do too much for its cost (guard.go, work.go).
//     No expression written for people to read meets these bounds.
//   - Nothing is initialized before the first use of Base, so that a server without CEL pays
//     nothing.
//
// Env, Expression and Program are immutable and safe for concurrent use. A Budget belongs to one
// goroutine.
//
// Not here: which expressions an object has and what happens with their results
// (registry/extensions, admission plugins). Package rules has the rules of schemas and of the tags
// of Go types, package policies the expressions of admission policies, package objects the objects
// that they read.
//
// Read: cel.go, expression.go with bounds.go, program.go, tally.go with watch.go and price.go,
// cost.go with estimate.go, guard.go with work.go; value.go, then the libraries, one per file.
package cel

import (
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// An Env is the set of functions, variables and types that an expression may name. It is immutable.
type Env struct {
	env *cel.Env
}

// Base returns the Env that all others extend: all functions but jsonpatch.escapeKey, and no
// variable.
func Base() *Env { return base() }

// base builds the base Env on first use, which takes milliseconds.
var base = sync.OnceValue(func() *Env {
	env, err := cel.NewEnv(slices.Concat([]cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true), // done once here, so that Extend checks only what it adds
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
		panic("cel: " + err.Error()) // only if two libraries declare the same overload
	}
	return &Env{env}
})

// Extend returns an Env that also has what options add: variables (cel.Variable), and types by a
// provider that falls back to Types for types that it does not know (cel.CustomTypeProvider,
// cel.CustomTypeAdapter).
func (e *Env) Extend(options ...cel.EnvOption) (*Env, error) {
	env, err := e.env.Extend(options...)
	if err != nil {
		return nil, err
	}
	return &Env{env}, nil
}

// Types returns the provider of the types that e knows.
func (e *Env) Types() types.Provider { return e.env.CELTypeProvider() }
