package policies_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
)

// TestCheck checks what expressions may name and which types they may have. test/differential
// compares many more expressions with Kubernetes.
func TestCheck(t *testing.T) {
	all := policies.Uses{Params: true, Authorizer: true, Patches: true}
	patch := types.NewListType(policies.JSONPatchType)
	for _, tt := range []struct {
		text  string
		uses  policies.Uses
		types []*types.Type
		wrong string // the end of the first line of the error
	}{
		{"object.a == oldObject.a && request.kind.kind == namespaceObject.metadata.name", policies.Uses{}, []*types.Type{types.BoolType}, ""},
		{"request.kind.resource == ''", policies.Uses{}, []*types.Type{types.BoolType}, "undefined field 'resource'"},
		{"params.a == 1", policies.Uses{Params: true}, []*types.Type{types.BoolType}, ""},
		{"params.a == 1", policies.Uses{Authorizer: true}, []*types.Type{types.BoolType}, "undeclared reference to 'params' (in container '')"},
		{"authorizer.requestResource.check('get').allowed()", policies.Uses{Authorizer: true}, []*types.Type{types.BoolType}, ""},
		{"authorizer.path('/').check('get').allowed()", policies.Uses{Params: true}, []*types.Type{types.BoolType}, "undeclared reference to 'authorizer' (in container '')"},
		{"variables.a == 1", all, []*types.Type{types.BoolType}, "undeclared reference to 'variables' (in container '')"},
		{"object.a", all, []*types.Type{types.BoolType}, "must evaluate to bool but got dyn"},
		{"1", all, []*types.Type{types.StringType, types.NullType}, "must evaluate to one of [string null_type] but got int"},
		{"[JSONPatch{op: 'add', path: jsonpatch.escapeKey('a/b'), value: 1}]", all, []*types.Type{patch}, ""},
		{"[JSONPatch{op: 'add', path: 1}]", all, []*types.Type{patch}, "expected type of field 'path' is 'string' but provided type is 'int'"},
		{"[JSONPatch{at: 1}]", all, []*types.Type{patch}, "undefined field 'at'"},
		{"Object{spec: Object.spec{a: [1]}}", all, []*types.Type{policies.ObjectType}, ""},
		{"Object{} == Object{}", policies.Uses{}, []*types.Type{types.BoolType}, "undeclared reference to 'Object' (in container '')"},
		{"'a'.find('(') == ''", all, []*types.Type{types.BoolType}, "program instantiation failed: error parsing regexp: missing closing ): `(`"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			err := policies.New(t.Context()).Check(field.NewPath("at"), tt.text, tt.uses, tt.types...)
			checkError(t, err, tt.wrong)
		})
	}
}

func checkError(t *testing.T, err *field.Error, wrong string) {
	t.Helper()
	switch {
	case err == nil && wrong == "":
	case err == nil || wrong == "":
		t.Errorf("got %v, want %q", err, wrong)
	default:
		if line, _, _ := strings.Cut(err.Detail, "\n"); !strings.HasSuffix(line, wrong) || err.Field != "at" {
			t.Errorf("got %s: %s, want %q", err.Field, line, wrong)
		}
	}
}

// TestDeclare: a variable is known to the expressions after it.
func TestDeclare(t *testing.T) {
	s, at := policies.WithVariables(t.Context()), field.NewPath("at")
	checkError(t, s.Declare(at, "early", "variables.number", policies.Uses{}), "undefined field 'number'")
	checkError(t, s.Declare(at, "number", "1", policies.Uses{}), "")
	checkError(t, s.Declare(at, "list", "[variables.number]", policies.Uses{}), "")
	checkError(t, s.Declare(at, "quantity", "quantity('1')", policies.Uses{}), "")
	for text, wrong := range map[string]string{
		"variables.number == 1":             "",
		"variables.number == ''":            "found no matching overload for '_==_' applied to '(int, string)'",
		"variables.list[0] == ''":           "found no matching overload for '_==_' applied to '(int, string)'",
		"variables.early == ''":             "", // the type of a variable with an error is unknown
		"variables.quantity.isInteger()":    "",
		"variables.quantity == 'a'":         "", // a type of a library counts as unknown
		"variables.late == 1":               "undefined field 'late'",
		"variables.number == params.number": "undeclared reference to 'params' (in container '')",
	} {
		t.Run(text, func(t *testing.T) {
			checkError(t, s.Check(at, text, policies.Uses{}, types.BoolType), wrong)
		})
	}
}

// TestEnds: nothing is compiled for a request that has ended.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkError(t, policies.New(ctx).Check(field.NewPath("at"), "true", policies.Uses{}, types.BoolType), context.Canceled.Error())
}

// BenchmarkCheck compiles a condition of a webhook, and a policy's expression that names a
// variable.
func BenchmarkCheck(b *testing.B) {
	for name, scope := range map[string]func() *policies.Scope{
		"without": func() *policies.Scope { return policies.New(b.Context()) },
		"with":    func() *policies.Scope { return policies.WithVariables(b.Context()) },
	} {
		b.Run("variables="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := scope().Check(nil, "!('system:nodes' in request.userInfo.groups)", policies.Uses{Authorizer: true}, types.BoolType); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
