package cel

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/meta"
)

var quantityType = &valueType[meta.Quantity]{
	Type:  cel.ObjectType("kubernetes.Quantity"),
	short: "Quantity",
	text:  meta.Quantity.String,
	equal: meta.Quantity.Equal,
}

// A computedQuantity is the result of add or sub. It can stand on the left of == and not on the right, where comparing it
// is an error: kube-apiserver has it so, and rules are judged alike.
type computedQuantity struct{ *value[meta.Quantity] }

// quantities has quantity(), isQuantity(), and arithmetic and comparisons of quantities.
func quantities() []cel.EnvOption {
	text, self := []*cel.Type{cel.StringType}, []*cel.Type{quantityType.Type}
	with := func(other *cel.Type) []*cel.Type { return []*cel.Type{quantityType.Type, other} }
	compared := func(name, id string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, with(quantityType.Type), result,
			cel.BinaryBinding(on2(func(q, o meta.Quantity) ref.Val { return f(q.Cmp(o)) }))))
	}
	computed := func(name string, f func(q, o meta.Quantity) meta.Quantity) cel.EnvOption {
		return cel.Function(name,
			cel.MemberOverload("quantity_"+name, with(quantityType.Type), quantityType.Type,
				cel.BinaryBinding(on2(func(q, o meta.Quantity) ref.Val {
					return computedQuantity{quantityType.of(f(q, o))}
				}))),
			cel.MemberOverload("quantity_"+name+"_int", with(cel.IntType), quantityType.Type,
				cel.BinaryBinding(on2(func(q meta.Quantity, o int64) ref.Val {
					return computedQuantity{quantityType.of(f(q, meta.NewQuantity(o, meta.DecimalExponent)))}
				}))))
	}
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", text, quantityType.Type, cel.UnaryBinding(on(toQuantity)))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", text, cel.BoolType, cel.UnaryBinding(on(isQuantity)))),
		cel.Function("sign", cel.Overload("quantity_sign", self, cel.IntType,
			cel.UnaryBinding(on(func(q meta.Quantity) ref.Val { return types.Int(q.Sign()) })))),
		cel.Function("asApproximateFloat", cel.MemberOverload("quantity_get_float", self, cel.DoubleType,
			cel.UnaryBinding(on(func(q meta.Quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) })))),
		cel.Function("asInteger", cel.MemberOverload("quantity_get_int", self, cel.IntType,
			cel.UnaryBinding(on(quantityInt)))),
		cel.Function("isInteger", cel.MemberOverload("quantity_is_integer", self, cel.BoolType,
			cel.UnaryBinding(on(func(q meta.Quantity) ref.Val { _, ok := q.AsInt64(); return types.Bool(ok) })))),
		compared("isGreaterThan", "quantity_is_greater_than", cel.BoolType, isPositive),
		compared("isLessThan", "quantity_is_less_than", cel.BoolType, isNegative),
		compared("compareTo", "quantity_compare_to", cel.IntType, isInt),
		computed("add", meta.Quantity.Add),
		computed("sub", meta.Quantity.Sub),
	}
}

func toQuantity(s string) ref.Val {
	q, err := meta.ParseQuantity(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return quantityType.of(q)
}

func isQuantity(s string) ref.Val {
	_, err := meta.ParseQuantity(s)
	return types.Bool(err == nil)
}

func quantityInt(q meta.Quantity) ref.Val {
	n, ok := q.AsInt64()
	if !ok {
		return types.WrapErr(errors.New("cannot convert value to integer"))
	}
	return types.Int(n)
}

// What comes of a comparison.
func isPositive(cmp int) ref.Val { return types.Bool(cmp > 0) }
func isNegative(cmp int) ref.Val { return types.Bool(cmp < 0) }
func isInt(cmp int) ref.Val      { return types.Int(cmp) }
