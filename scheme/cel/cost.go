package cel

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The cost of calls at run time. price.go asks callCost for each call; estimate.go has the
// estimates made before. The numbers are Kubernetes', and changing one changes which expressions
// are accepted.

const (
	// checkCost is the cost of one authorization check: a run can pay for two.
	checkCost = CallLimit * 35 / 100
	// perChar is the cost of reading one character. perPattern is the cost of one character of a
	// regular expression per character that is matched.
	perChar    = common.StringTraversalCostFactor
	perPattern = common.RegexStringLengthCostFactor
)

// flat maps functions whose calls always cost the same to that cost.
var flat = func() map[string]uint64 {
	costs := map[string]uint64{"check": checkCost}
	for _, name := range []string{
		"serviceAccount", "path", "group", "resource", "subresource", "namespace", "name",
		"allowed", "reason", "error", "errored",
		"masked", "prefixLength", "family", "isUnspecified", "isLoopback",
		"isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "format.named",
		"sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan",
		"compareTo", "add", "sub", "major", "minor", "patch",
		"getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
	} {
		costs[name] = 1
	}
	return costs
}()

// callCost returns the cost of a call that Kubernetes prices itself. It returns false for functions
// whose price is cel-go's (price.go).
func callCost(function, overload string, args []ref.Val, result ref.Val) (cost uint64, ok bool) {
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		return traversal(args[0]), true
	case "ip":
		if overload == "cidr_ip" {
			return 1, true
		}
		return chars(1, size(args[0])), true
	case "url", "jsonpatch.escapeKey", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR",
		"quantity", "isQuantity", "semver", "isSemver":
		return chars(1, size(args[0])), true
	case "replace", "split", "ip.isCanonical":
		return chars(2, size(args[0])), true
	case "join":
		return chars(2, size(result)), true
	case "_==_":
		_, ok := args[0].(opaque)
		return 1, ok && len(args) == 2
	}
	if len(args) < 2 {
		return 0, false
	}
	switch function {
	case "fieldSelector", "labelSelector":
		n := size(args[1])
		return selectorCost(checker.SizeEstimate{Min: n, Max: n}).Max, true
	case "find", "findAll":
		return matchCost(size(args[0]), size(args[1])), true
	case "validate":
		f, ok := args[0].Value().(*format)
		if !ok {
			return 0, false
		}
		return matchCost(size(args[1]), uint64(f.pattern)), true
	case "containsIP", "containsCIDR":
		return containsCost(function, overload, size(args[0]), size(args[1])), true
	}
	return 0, false
}

// containsCost returns the cost of containsIP and containsCIDR: comparing two prefixes; masking one
// of them if both are networks; and parsing the argument if it is a string. prefix and other are
// sizes.
func containsCost(function, overload string, prefix, other uint64) uint64 {
	cost := chars(1, prefix+prefix)
	if function == "containsCIDR" {
		cost += chars(1, prefix) + 1
	}
	if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
		cost += chars(1, other)
	}
	return cost
}

// matchCost returns the cost of matching a regular expression. One character is added to the text,
// so that even an empty text costs something.
func matchCost(text, pattern uint64) uint64 {
	return uint64(math.Ceil((1+float64(text))*perChar)) * uint64(math.Ceil(float64(pattern)*perPattern))
}

// chars returns the cost of reading n characters so many times.
func chars(times float64, n uint64) uint64 { return uint64(math.Ceil(float64(n) * times * perChar)) }

// selectorCost returns the cost of a selector with length characters: making a list, reading, and
// making the requirements. A requirement has at least two characters.
func selectorCost(length checker.SizeEstimate) checker.CostEstimate {
	const perRequirement = common.ListCreateBaseCost + common.StructCreateBaseCost
	return checker.FixedCostEstimate(common.ListCreateBaseCost).
		Add(length.MultiplyByCostFactor(perChar)).
		Add(length.MultiplyByCostFactor(0.5).MultiplyByCostFactor(perRequirement))
}

// size returns the length of a value that has one, else 1.
func size(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		return uint64(s.Size().(types.Int))
	}
	return 1
}

// traversal returns the cost of reading all of a value.
func traversal(v ref.Val) (cost uint64) {
	switch v := v.(type) {
	case types.String:
		return uint64(float64(len(v)) * perChar)
	case types.Bytes:
		return uint64(float64(len(v)) * perChar)
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			cost += traversal(it.Next())
		}
		return cost
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			cost += traversal(k) + traversal(v.Get(k))
		}
		return cost
	}
	return 1
}
