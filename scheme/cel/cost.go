package cel

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// What calls cost when they are run. Estimates, made before, are in estimate.go; a change to either changes which
// expressions are accepted.

const (
	// checkCost lets an expression make two checks of authorization.
	checkCost = CallLimit * 35 / 100
	// perChar is the cost of looking at a character, perPattern that of one in a regular expression for each character
	// that is matched.
	perChar    = common.StringTraversalCostFactor
	perPattern = common.RegexStringLengthCostFactor
)

// flat are the functions whose calls cost the same always, and how much.
var flat = func() map[string]uint64 {
	costs := map[string]uint64{"check": checkCost}
	for _, name := range []string{
		"serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason", "error", "errored",
		"masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast",
		"isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan",
		"compareTo", "add", "sub", "major", "minor", "patch",
		"getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
	} {
		costs[name] = 1
	}
	return costs
}()

// callCost is what a call has cost whose price is Kubernetes' own, false if it is that of cel-go
// (price.go).
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

// containsCost is that of comparing two prefixes, after masking the one if both are networks, and after reading the other if
// it is a string.
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

// matchCost is that of matching a string; not even an empty one is free.
func matchCost(text, pattern uint64) uint64 {
	return uint64(math.Ceil((1+float64(text))*perChar)) * uint64(math.Ceil(float64(pattern)*perPattern))
}

// chars is the cost of going times over n characters.
func chars(times float64, n uint64) uint64 { return uint64(math.Ceil(float64(n) * times * perChar)) }

// selectorCost is that of a selector of a length: a list, reading, and what each requirement takes. The shortest has two
// characters.
func selectorCost(length checker.SizeEstimate) checker.CostEstimate {
	const perRequirement = common.ListCreateBaseCost + common.StructCreateBaseCost
	return checker.FixedCostEstimate(common.ListCreateBaseCost).
		Add(length.MultiplyByCostFactor(perChar)).
		Add(length.MultiplyByCostFactor(0.5).MultiplyByCostFactor(perRequirement))
}

// size is the length of a value that has one, and 1 otherwise.
func size(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		return uint64(s.Size().(types.Int))
	}
	return 1
}

// traversal is the cost of looking at all of a value.
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
