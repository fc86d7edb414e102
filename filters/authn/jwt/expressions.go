package jwt

import (
	"context"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file compiles and evaluates CEL expressions. validate.go compiles them when a Config is
// read, and claims.go evaluates them for each token.

// The variable of an expression: the claims of a token, or the user made of them.
const (
	aboutClaims = "claims"
	aboutUser   = "user"
)

// compiled holds the compiled expressions of an issuer. Those that the issuer does not have are
// nil.
type compiled struct {
	username, groups, uid *expression
	extra                 []extra
	claimRules, userRules []rule
}

// usesClaims reports whether any expression is about claims.
func (c *compiled) usesClaims() bool {
	return c.username != nil || c.groups != nil || c.uid != nil || len(c.extra) > 0 || len(c.claimRules) > 0
}

// extra is the expression for a key in the user's extra.
type extra struct {
	key string
	*expression
}

// rule is an expression that must be true, with the message if it is not.
type rule struct {
	*expression
	message string
}

// expression is a compiled expression.
type expression struct {
	text            string
	about           string // aboutClaims or aboutUser
	program         *cel.Program
	email, verified bool // it uses claims.email, claims.email_verified
}

// expression compiles an expression; a condition must be of type bool. If it cannot be compiled, it
// reports the error and returns nil.
func (x *compiler) expression(about, text string, condition bool, path *field.Path) *expression {
	env, err := environments()
	if err != nil {
		x.fail(field.InternalError(path, err))
		return nil
	}
	checked, err := env[about].Check(text)
	if err == nil && condition && checked.Type() != celgo.BoolType {
		err = fmt.Errorf("must evaluate to %v", celgo.BoolType)
	}
	if err != nil {
		x.fail(field.Invalid(path, text, err.Error()))
		return nil
	}
	e := &expression{
		text: text, about: about, email: checked.Selects(aboutClaims, "email"),
		verified: checked.Selects(aboutClaims, "email_verified"),
	}
	if e.program, err = checked.Program(); err != nil {
		x.fail(field.InternalError(path, err))
		return nil
	}
	return e
}

// environments returns the CEL environments by variable. They are made on first use, because most
// servers have no expressions.
var environments = sync.OnceValues(func() (map[string]*cel.Env, error) {
	claims, err := cel.Base().Extend(celgo.Variable(aboutClaims, celgo.MapType(celgo.StringType, celgo.AnyType)))
	if err != nil {
		return nil, err
	}
	user, err := cel.Base().Extend(
		celgo.CustomTypeProvider(userTypes{cel.Base().Types()}), celgo.Variable(aboutUser, celgo.ObjectType(userType)),
	)
	return map[string]*cel.Env{aboutClaims: claims, aboutUser: user}, err
})

const (
	userType   = "kubernetes.UserInfo"
	claimsType = "kubernetes.claims"
)

// userFields are the fields of the variable user.
var userFields = map[string]*types.Type{
	"username": types.StringType, "uid": types.StringType, "groups": types.NewListType(types.StringType),
	"extra": types.NewMapType(types.StringType, types.NewListType(types.StringType)),
}

// userTypes adds the type of the variable user to other types.
type userTypes struct{ types.Provider }

// FindStructType implements types.Provider.
func (p userTypes) FindStructType(name string) (*types.Type, bool) {
	if name == userType {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider. It finds nothing, so expressions cannot construct
// users.
func (p userTypes) FindStructFieldNames(string) ([]string, bool) { return nil, false }

// FindStructFieldType implements types.Provider.
func (p userTypes) FindStructFieldType(name, ident string) (*types.FieldType, bool) {
	if name != userType {
		return p.Provider.FindStructFieldType(name, ident)
	}
	t, ok := userFields[ident]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: t}, true
}

// activation binds the one variable of an expression.
type activation struct {
	name  string
	value ref.Val
}

// ResolveName implements celgo.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	if name != a.name {
		return nil, false
	}
	return a.value, true
}

// Parent implements celgo.Activation.
func (a *activation) Parent() celgo.Activation { return nil }

// eval evaluates the expression with value as its variable.
func (e *expression) eval(ctx context.Context, value ref.Val, budget *cel.Budget) (ref.Val, error) {
	v, err := e.program.Run(ctx, &activation{e.about, value}, budget)
	if err != nil {
		return nil, fmt.Errorf("expression '%s' resulted in error: %w", e.text, err)
	}
	return v, nil
}

// holds returns an error unless all rules are true. All rules are evaluated first, as in
// kube-apiserver, so an evaluation error is reported rather than a false rule.
func holds(ctx context.Context, rules []rule, value ref.Val, budget *cel.Budget) error {
	results := make([]ref.Val, len(rules))
	for i := range rules {
		var err error
		if results[i], err = rules[i].eval(ctx, value, budget); err != nil {
			return err
		}
	}
	for i := range rules {
		switch results[i] {
		case types.True:
		case types.False:
			return fmt.Errorf("validation expression '%s' failed: %s", rules[i].text, rules[i].message)
		default:
			return fmt.Errorf("validation expression must return a boolean")
		}
	}
	return nil
}
