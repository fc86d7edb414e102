package cel

import (
	"errors"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/meta"
)

// A quantity knows whether kube-apiserver can give it as an integer. What is written with a fraction, in thousandths or with
// very many digits it cannot, even if it is one: quantity("1000m").isInteger() is false, and 1.5Gi is none either.
type quantity struct {
	meta.Quantity
	whole bool
}

var quantityType = &valueType[quantity]{
	Type:  cel.ObjectType("kubernetes.Quantity"),
	short: "Quantity",
	text:  func(q quantity) string { return q.String() },
	equal: func(a, b quantity) bool { return a.Equal(b.Quantity) },
}

// A computedQuantity is the result of add or sub. It can stand on the left of == and not on the right, where comparing it
// is an error: kube-apiserver has it so, and rules are judged alike.
type computedQuantity struct{ *value[quantity] }

// quantities has quantity(), isQuantity(), and arithmetic and comparisons of quantities.
func quantities() []cel.EnvOption {
	text, self := []*cel.Type{cel.StringType}, []*cel.Type{quantityType.Type}
	with := func(other *cel.Type) []*cel.Type { return []*cel.Type{quantityType.Type, other} }
	compared := func(name, id string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, with(quantityType.Type), result,
			cel.BinaryBinding(on2(func(q, o quantity) ref.Val { return f(q.Cmp(o.Quantity)) }))))
	}
	computed := func(name string, f func(q, o meta.Quantity) meta.Quantity) cel.EnvOption {
		compute := func(q, o quantity) ref.Val {
			return computedQuantity{quantityType.of(quantity{f(q.Quantity, o.Quantity), q.whole && o.whole})}
		}
		return cel.Function(name,
			cel.MemberOverload("quantity_"+name, with(quantityType.Type), quantityType.Type, cel.BinaryBinding(on2(compute))),
			cel.MemberOverload("quantity_"+name+"_int", with(cel.IntType), quantityType.Type,
				cel.BinaryBinding(on2(func(q quantity, o int64) ref.Val {
					return compute(q, quantity{meta.NewQuantity(o, meta.DecimalExponent), true})
				}))))
	}
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", text, quantityType.Type, cel.UnaryBinding(on(toQuantity)))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", text, cel.BoolType, cel.UnaryBinding(on(isQuantity)))),
		cel.Function("sign", cel.Overload("quantity_sign", self, cel.IntType,
			cel.UnaryBinding(on(func(q quantity) ref.Val { return types.Int(q.Sign()) })))),
		cel.Function("asApproximateFloat", cel.MemberOverload("quantity_get_float", self, cel.DoubleType,
			cel.UnaryBinding(on(func(q quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) })))),
		cel.Function("asInteger", cel.MemberOverload("quantity_get_int", self, cel.IntType,
			cel.UnaryBinding(on(quantityInt)))),
		cel.Function("isInteger", cel.MemberOverload("quantity_is_integer", self, cel.BoolType,
			cel.UnaryBinding(on(func(q quantity) ref.Val { _, ok := q.integer(); return types.Bool(ok) })))),
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
	return quantityType.of(quantity{q, isWhole(s)})
}

func isQuantity(s string) ref.Val {
	_, err := meta.ParseQuantity(s)
	return types.Bool(err == nil)
}

// isWhole reports whether a quantity is written without a fraction, and short enough: by 18 digits, or 14 less those of the
// power of two.
func isWhole(s string) bool {
	digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0")
	n := 0
	for n < len(digits) && '0' <= digits[n] && digits[n] <= '9' {
		n++
	}
	suffix := strings.TrimPrefix(digits[n:], ".")
	n = max(n, 1)
	switch {
	case suffix == "":
		return n <= 18
	case strings.ContainsAny(suffix[:1], "0123456789num"), strings.Contains(suffix, "-"):
		return false
	case strings.HasSuffix(suffix, "i"):
		return n+3*(1+strings.Index("KMGTPE", suffix[:1])) <= 14
	}
	return n <= 18
}

// integer returns q as an integer, if it is whole and fits.
func (q quantity) integer() (int64, bool) {
	if !q.whole {
		return 0, false
	}
	return q.AsInt64()
}

func quantityInt(q quantity) ref.Val {
	n, ok := q.integer()
	if !ok {
		return types.WrapErr(errors.New("cannot convert value to integer"))
	}
	return types.Int(n)
}

// What comes of a comparison.
func isPositive(cmp int) ref.Val { return types.Bool(cmp > 0) }
func isNegative(cmp int) ref.Val { return types.Bool(cmp < 0) }
func isInt(cmp int) ref.Val      { return types.Int(cmp) }
