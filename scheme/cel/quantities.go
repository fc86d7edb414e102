package cel

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/meta"
)

// The quantity library of CEL: quantity("1Gi").isGreaterThan(quantity("1G")). Base includes it.

// A quantity is a meta.Quantity and the form in which kube-apiserver would hold it: as a 64-bit
// number times 10^scale if its spelling shows without calculation that it fits, else as a decimal.
// A decimal is never an integer there. So quantity("1000m").isInteger() and
// quantity("1.5Gi").isInteger() are false here, too.
type quantity struct {
	meta.Quantity
	scale   int
	decimal bool
}

// quantityType is the type of quantities.
var quantityType = &valueType[quantity]{
	Type:  cel.ObjectType("kubernetes.Quantity"),
	short: "Quantity",
	text:  func(q quantity) string { return q.String() },
	equal: func(a, b quantity) bool { return a.Equal(b.Quantity) },
}

// A computedQuantity is the result of add or sub. It can be the left operand of == but not the
// right one, where the comparison is an error. kube-apiserver has this asymmetry, and rules must
// have the same result.
type computedQuantity struct{ *value[quantity] }

// quantities returns the declarations of the quantity library: quantity(), isQuantity(), arithmetic
// and comparisons. Two oddities are those of kube-apiserver. sign is a function, sign(q), while the
// others that take a quantity are methods. An integer operand of add and sub has the format
// DecimalExponent, which the result takes over if the quantity is 0.
func quantities() []cel.EnvOption {
	text, self := []*cel.Type{cel.StringType}, []*cel.Type{quantityType.Type}
	with := func(other *cel.Type) []*cel.Type { return []*cel.Type{quantityType.Type, other} }
	compared := func(name, id string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, with(quantityType.Type), result,
			cel.BinaryBinding(on2(func(q, o quantity) ref.Val { return f(q.Cmp(o.Quantity)) }))))
	}
	computed := func(name string, f func(q, o meta.Quantity) meta.Quantity) cel.EnvOption {
		compute := func(q, o quantity) ref.Val {
			return computedQuantity{quantityType.of(q.with(o, f(q.Quantity, o.Quantity)))}
		}
		return cel.Function(name,
			cel.MemberOverload("quantity_"+name, with(quantityType.Type), quantityType.Type,
				cel.BinaryBinding(on2(compute))),
			cel.MemberOverload("quantity_"+name+"_int", with(cel.IntType), quantityType.Type,
				cel.BinaryBinding(on2(func(q quantity, o int64) ref.Val {
					return compute(q, quantity{Quantity: meta.NewQuantity(o, meta.DecimalExponent)})
				}))))
	}
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", text, quantityType.Type,
			cel.UnaryBinding(on(toQuantity)))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", text, cel.BoolType,
			cel.UnaryBinding(on(isQuantity)))),
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
	return quantityType.of(spelled(q, s))
}

func isQuantity(s string) ref.Val {
	_, err := meta.ParseQuantity(s)
	return types.Bool(err == nil)
}

// spelled returns the quantity q, which was written as s.
func spelled(q meta.Quantity, s string) quantity {
	number := strings.TrimRight(s, "numkKMGTPEi")
	unit := s[len(number):]
	number, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(strings.TrimLeft(number, "+-"), "0"), ".")
	digits := max(len(whole), 1)
	if power, ok := strings.CutSuffix(unit, "i"); ok {
		power := 3 * (1 + strings.Index("KMGTPE", power))
		return quantity{q, 0, fraction != "" || digits+power > 14}
	}
	scale, _ := strconv.Atoi(exponent)
	if unit != "" {
		scale = 3 * (strings.Index("num kMGTPE", unit) - len("num"))
	}
	scale -= len(fraction)
	return quantity{q, scale, digits+len(fraction) > 18 || scale < -9}
}

// with returns the sum or difference of q and o. It is a decimal if q or o is one, or if integers
// of 64 bits do not suffice.
func (q quantity) with(o quantity, sum meta.Quantity) quantity {
	switch {
	case q.decimal || o.decimal:
		return quantity{sum, 0, true}
	case o.IsZero():
		return quantity{sum, q.scale, false}
	case q.IsZero():
		return quantity{sum, o.scale, false}
	}
	scale := min(q.scale, o.scale)
	return quantity{sum, scale, scale == 0 && !fits(q.Quantity, o.Quantity, sum)}
}

// fits reports whether all quantities are integers of 64 bits.
func fits(all ...meta.Quantity) bool {
	return !slices.ContainsFunc(all, func(q meta.Quantity) bool { _, ok := q.AsInt64(); return !ok })
}

// integer returns q as an integer. It reports false if kube-apiserver does not hold q as an
// integer, or if q does not fit.
func (q quantity) integer() (int64, bool) {
	if q.decimal || q.scale < 0 {
		return 0, false
	}
	return q.AsInt64()
}

// quantityInt implements asInteger().
func quantityInt(q quantity) ref.Val {
	n, ok := q.integer()
	if !ok {
		return types.WrapErr(errors.New("cannot convert value to integer"))
	}
	return types.Int(n)
}

// The results of comparison functions, by the sign of a comparison.
func isPositive(cmp int) ref.Val { return types.Bool(cmp > 0) }
func isNegative(cmp int) ref.Val { return types.Bool(cmp < 0) }
func isInt(cmp int) ref.Val      { return types.Int(cmp) }
