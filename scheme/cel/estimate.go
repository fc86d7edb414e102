package cel

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Estimates of cost before an expression is run. Expression.Cost passes an estimator to cel-go,
// which calls it for each call with what is known about the sizes of the arguments.
// registry/extensions uses the result to refuse a schema whose rules could exceed the budget.

// estimator estimates calls. Some estimates are lower than the costs in cost.go, and that of
// validate uses the size of the wrong argument. kube-apiserver makes the same mistakes, and
// correcting them would change which schemas are accepted.
type estimator struct {
	sizes Sizes // nil if nothing is known
}

// EstimateSize implements checker.CostEstimator. It returns nil if the size at the path of node is
// unknown.
func (e estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if e.sizes == nil || len(path) == 0 {
		return nil
	}
	most, known := e.sizes(path)
	if !known {
		return nil
	}
	return &checker.SizeEstimate{Max: most}
}

// EstimateCallCost implements checker.CostEstimator. It returns nil to leave the call to cel-go.
func (e estimator) EstimateCallCost(
	function, overload string, target *checker.AstNode, args []checker.AstNode,
) *checker.CallEstimate {
	if cost, ok := flat[function]; ok {
		return estimated(checker.FixedCostEstimate(cost))
	}
	if target != nil {
		return e.method(function, overload, *target, args)
	}
	if len(args) > 0 {
		return e.function(function, args)
	}
	return nil
}

// function estimates a call without a receiver.
func (e estimator) function(function string, args []checker.AstNode) *checker.CallEstimate {
	switch function {
	case "url", "jsonpatch.escapeKey":
		n := e.size(args[0])
		return resulting(n.MultiplyByCostFactor(perChar), n)
	case "cidr", "ip", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver":
		return estimated(e.size(args[0]).MultiplyByCostFactor(perChar))
	case "ip.isCanonical":
		return estimated(e.size(args[0]).MultiplyByCostFactor(2 * perChar))
	case "_==_":
		if len(args) == 2 {
			return equality(args[0].Type(), args[1])
		}
	}
	return nil
}

// method estimates a call with a receiver.
func (e estimator) method(
	function, overload string, target checker.AstNode, args []checker.AstNode,
) *checker.CallEstimate {
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		return estimated(e.scan(target))
	case "lowerAscii", "upperAscii", "substring", "trim":
		n := e.size(target)
		return resulting(n.MultiplyByCostFactor(perChar), n)
	case "split":
		n := e.size(target)
		return resulting(n.MultiplyByCostFactor(2*perChar), checker.SizeEstimate{Max: pieces(n.Max, args)})
	case "join":
		n := e.joined(target, args)
		return resulting(n.MultiplyByCostFactor(perChar), n)
	case "ip":
		if overload == "cidr_ip" {
			return estimated(checker.FixedCostEstimate(1))
		}
	}
	if len(args) == 0 {
		return nil
	}
	switch function {
	case "replace":
		if len(args) >= 2 {
			n := e.size(target)
			return resulting(n.MultiplyByCostFactor(2*perChar), replaced(n, e.size(args[0]), e.size(args[1])))
		}
	case "find", "findAll":
		n := e.size(target)
		cost := n.Add(checker.FixedSizeEstimate(1)).MultiplyByCostFactor(perChar).
			Multiply(e.size(args[0]).MultiplyByCostFactor(perPattern))
		return resulting(cost, checker.SizeEstimate{Max: n.Max})
	case "validate":
		const longestPattern = 128
		return estimated(e.size(args[0]).MultiplyByCostFactor(perChar).
			MultiplyByCostFactor(longestPattern * perPattern))
	case "fieldSelector", "labelSelector":
		return estimated(selectorCost(e.size(args[0])))
	case "containsIP", "containsCIDR":
		return estimated(e.contains(function, overload, args[0]))
	}
	return nil
}

// scan estimates the cost of comparing each element of a list, or of reading a string.
func (e estimator) scan(target checker.AstNode) checker.CostEstimate {
	element := elementOf(target)
	if element == nil {
		return e.size(target).MultiplyByCostFactor(perChar)
	}
	each := checker.FixedCostEstimate(1)
	if k := element.Type().Kind(); k == types.StringKind || k == types.BytesKind {
		each = each.Add(e.size(element).MultiplyByCostFactor(perChar))
	}
	return e.size(target).MultiplyByCost(each)
}

// pieces returns the largest number of strings that a string of n characters can be split into: the
// limit if it is a literal, else one per character.
func pieces(n uint64, args []checker.AstNode) uint64 {
	if len(args) > 1 {
		if limit := args[1].Expr().AsLiteral(); limit != nil {
			if l, ok := limit.Value().(int64); ok {
				return uint64(l)
			}
		}
	}
	return n
}

// joined estimates the size of the elements of a list with a separator between them.
func (e estimator) joined(target checker.AstNode, args []checker.AstNode) (n checker.SizeEstimate) {
	list := e.size(target)
	if element := elementOf(target); element != nil {
		n = list.Multiply(e.size(element))
	}
	if len(args) > 0 {
		between := checker.SizeEstimate{Min: max(list.Min, 1) - 1, Max: max(list.Max, 1) - 1}
		n = n.Add(e.size(args[0]).Multiply(between))
	}
	return n
}

// replaced estimates the size of a string of size n after each occurrence of what is replaced by
// with. An empty what occurs around every character. If the replacement is longer, the maximum
// assumes that the whole string consists of occurrences, and nothing of it remains.
func replaced(n, what, with checker.SizeEstimate) checker.SizeEstimate {
	var count, kept checker.SizeEstimate
	switch {
	case what.Min == 0:
		count.Max, kept.Max = increment(n.Max), n.Max
	case with.Max <= what.Min:
		kept.Max = n.Max
	default:
		count.Max = uint64(math.Ceil(float64(n.Max) / float64(what.Min)))
	}
	switch {
	case what.Max == 0:
		count.Min, kept.Min = increment(n.Min), n.Min
	case what.Max <= with.Min:
		kept.Min = n.Min
	default:
		count.Min = uint64(math.Ceil(float64(n.Min) / float64(what.Max)))
	}
	return count.Multiply(with).Add(kept)
}

// increment returns n+1, or n if n is the largest number.
func increment(n uint64) uint64 { return max(n, n+1) }

// contains estimates containsIP and containsCIDR, as containsCost counts them at run time.
// Addresses have 4 to 16 bytes.
func (e estimator) contains(function, overload string, other checker.AstNode) checker.CostEstimate {
	address := checker.SizeEstimate{Min: 4, Max: 16}
	cost := address.Add(address).MultiplyByCostFactor(perChar)
	if function == "containsCIDR" {
		cost = cost.Add(address.MultiplyByCostFactor(perChar)).Add(checker.FixedCostEstimate(1))
	}
	if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
		cost = cost.Add(checker.CostEstimate(e.size(other)).MultiplyByCostFactor(perChar))
	}
	return cost
}

// equality estimates the comparison of two values of a type that a library here declares. It
// returns nil for all other types.
func equality(t *types.Type, right checker.AstNode) *checker.CallEstimate {
	if t.Equal(right.Type()) != types.True {
		return nil
	}
	// The checker copies opaque types, so they are compared by name.
	if name := t.TypeName(); name == ipType.TypeName() || name == cidrType.TypeName() {
		return estimated(checker.FixedCostEstimate(1))
	}
	switch t {
	case quantityType.Type, semverType.Type,
		AuthorizerType, pathCheckType, groupCheckType, ResourceCheckType, decisionType:
		return estimated(checker.FixedCostEstimate(1))
	case formatType.Type:
		const longestName = 64
		return estimated(checker.CostEstimate{Min: 1, Max: longestName}.MultiplyByCostFactor(perChar))
	case urlType.Type:
		most := uint64(1)
		if n := right.ComputedSize(); n != nil {
			most = n.Max
		}
		return estimated(checker.CostEstimate{Min: 1, Max: most}.MultiplyByCostFactor(perChar))
	}
	return nil
}

// size returns what is known about the size of a value: anything from 0 to the largest number if
// nothing is.
func (e estimator) size(node checker.AstNode) checker.SizeEstimate {
	if n := node.ComputedSize(); n != nil {
		return *n
	}
	if n := e.EstimateSize(node); n != nil {
		return *n
	}
	return checker.UnknownSizeEstimate()
}

// estimated returns the estimate of a call whose result has no known size.
func estimated(cost checker.CostEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost}
}

// resulting returns the estimate of a call whose result has a known size.
func resulting(cost checker.CostEstimate, result checker.SizeEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost, ResultSize: &result}
}

// elements is the node of the elements of a list, for which cel-go has no node. It exists to ask
// for their size by path.
type elements struct {
	path []string
	typ  *types.Type
}

// elementOf returns the node of the elements of a list, nil if the node is no list.
func elementOf(list checker.AstNode) checker.AstNode {
	params := list.Type().Parameters()
	if len(params) == 0 {
		return nil
	}
	var path []string
	if at := list.Path(); at != nil {
		path = append(append(path, at...), "@items")
	}
	return elements{path, params[0]}
}

func (n elements) Path() []string                      { return n.path }
func (n elements) Type() *types.Type                   { return n.typ }
func (n elements) Expr() ast.Expr                      { return nil }
func (n elements) ComputedSize() *checker.SizeEstimate { return nil }
