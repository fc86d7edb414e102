package cel

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// estimator knows what a call will cost, of what is known about the sizes of its arguments. Some estimates are below the
// costs that cost.go counts, and one is of the wrong argument: so they are in kube-apiserver, and change what is accepted.
type estimator struct {
	sizes Sizes // nil if nothing is known
}

// EstimateSize implements checker.CostEstimator.
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

// EstimateCallCost implements checker.CostEstimator. Nil leaves it to cel-go.
func (e estimator) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
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

// function estimates calls without a receiver.
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

// method estimates calls with a receiver.
func (e estimator) method(function, overload string, target checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
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
		return estimated(e.size(args[0]).MultiplyByCostFactor(perChar).MultiplyByCostFactor(longestPattern * perPattern))
	case "fieldSelector", "labelSelector":
		return estimated(selectorCost(e.size(args[0])))
	case "containsIP", "containsCIDR":
		return estimated(e.contains(function, overload, args[0]))
	}
	return nil
}

// scan is the cost of comparing each element of a list, or of going through a string.
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

// pieces is how many strings a string of n characters can be split into: a literal limit, or one for each character.
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

// joined is the size of the strings of a list with a separator between them.
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

// replaced is the size of a string of a size after replacements of what in it by with. An empty string is found around
// every character; what becomes longer is thought to be replaced wherever it fits, and nothing else to remain then.
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

// increment is n+1, or the largest number.
func increment(n uint64) uint64 { return max(n, n+1) }

// contains is the cost of comparing addresses of 4 to 16 bytes, as containsCost is of those that are there.
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

// equality estimates comparisons of values of our types.
func equality(t *types.Type, right checker.AstNode) *checker.CallEstimate {
	if t.Equal(right.Type()) != types.True {
		return nil
	}
	if name := t.TypeName(); name == ipType.TypeName() || name == cidrType.TypeName() { // the checker copies opaque types
		return estimated(checker.FixedCostEstimate(1))
	}
	switch t {
	case quantityType.Type, semverType.Type, AuthorizerType, pathCheckType, groupCheckType, ResourceCheckType, decisionType:
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

// size is what is known of the size of a value; it may be any if nothing is.
func (e estimator) size(node checker.AstNode) checker.SizeEstimate {
	if n := node.ComputedSize(); n != nil {
		return *n
	}
	if n := e.EstimateSize(node); n != nil {
		return *n
	}
	return checker.UnknownSizeEstimate()
}

func estimated(cost checker.CostEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost}
}

func resulting(cost checker.CostEstimate, result checker.SizeEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost, ResultSize: &result}
}

// elements stands for the elements of a list, where a size by path is asked for.
type elements struct {
	path []string
	typ  *types.Type
}

// elementOf returns the node of a list's elements, nil if the target is none.
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
