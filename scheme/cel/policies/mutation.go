package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// A Mutation is an expression whose value says how an object changes. It is immutable and safe for
// concurrent use.
type Mutation struct{ set *Set }

// ApplyConfiguration compiles an expression that returns an object to apply. Apply runs it.
func (s *Scope) ApplyConfiguration(text string, uses Uses) *Mutation {
	uses.Patches = true
	return &Mutation{s.Set(s.Compile(text, uses, ObjectType))}
}

// JSONPatch compiles an expression that returns a JSON patch. Patch runs it.
func (s *Scope) JSONPatch(text string, uses Uses) *Mutation {
	uses.Patches = true
	return &Mutation{s.Set(s.Compile(text, uses, types.NewListType(JSONPatchType)))}
}

// evaluate runs the expression with a budget of its own.
func (m *Mutation) evaluate(ctx context.Context, in *Inputs) (ref.Val, error) {
	if err := m.set.expressions[0].err; err != nil {
		return nil, err
	}
	budget := cel.ObjectBudget
	var result [1]Result
	if err := m.set.evaluate(ctx, in, &budget, result[:]); err != nil {
		return nil, err
	}
	v, err := result[0].Value, result[0].Err
	if err == nil {
		err = fits(v)
	}
	return v, err
}

// Apply runs an expression of ApplyConfiguration. It returns the object to apply as a tree of JSON,
// without apiVersion and kind unless the expression gives them. Values that JSON does not have,
// such as times, are in the tree as Go values. The error texts are Kubernetes'.
func (m *Mutation) Apply(ctx context.Context, in *Inputs) (map[string]any, error) {
	v, err := m.evaluate(ctx, in)
	if err != nil {
		return nil, err
	}
	object, ok := v.(*made)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", v.Type())
	}
	if err := object.misnamed(); err != nil {
		return nil, err
	}
	tree, err := object.tree()
	if err != nil {
		return nil, errors.New("invalid return type: *dynamic.ObjectVal") // the type in Kubernetes
	}
	return tree, nil
}

// Patch runs an expression of JSONPatch. It returns the JSON patch, for package patch. The error
// texts are Kubernetes'.
func (m *Mutation) Patch(ctx context.Context, in *Inputs) ([]byte, error) {
	v, err := m.evaluate(ctx, in)
	if err != nil {
		return nil, err
	}
	operations, ok := v.(traits.Lister)
	if !ok {
		return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	patch := []byte{'['}
	for it := operations.Iterator(); it.HasNext() == types.True; {
		o, ok := it.Next().(*operation)
		if !ok {
			return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
		}
		if len(patch) > 1 {
			patch = append(patch, ',')
		}
		if patch, err = o.append(patch); err != nil {
			return nil, err
		}
	}
	return append(patch, ']'), nil
}

// append appends the JSON of the operation.
func (o *operation) append(dst []byte) ([]byte, error) {
	dst = jsontext.AppendString(append(dst, `{"op":`...), o.op, jsontext.Plain)
	dst = jsontext.AppendString(append(dst, `,"path":`...), o.path, jsontext.Plain)
	if o.from != "" {
		dst = jsontext.AppendString(append(dst, `,"from":`...), o.from, jsontext.Plain)
	}
	if o.value != nil {
		if object, ok := o.value.(*made); ok {
			if err := object.misnamed(); err != nil {
				return nil, err
			}
		}
		text, err := jsonOf(o.value)
		if err != nil {
			return nil, fmt.Errorf("JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w", err)
		}
		dst = append(append(dst, `,"value":`...), text...)
	}
	return append(dst, '}'), nil
}

// jsonOf returns the JSON of a value. A panic of a conversion in cel-go becomes an error.
func jsonOf(v ref.Val) (text []byte, err error) {
	defer func() {
		if wrong := recover(); wrong != nil { // of a conversion in cel-go
			err = fmt.Errorf("internal error: %v", wrong)
		}
	}()
	value, err := v.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
