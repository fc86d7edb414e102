package resource

import (
	"github.com/coracle-project/coracle/scheme/field"
)

// The bounds of lists, in elements, as in the API types of Kubernetes.
const (
	maxRequests         = 32
	maxSubRequests      = 8
	maxSelectors        = 32
	maxConstraints      = 32
	maxConfigs          = 32
	maxResults          = 32
	maxReservations     = 256
	maxConditions       = 8
	maxBinding          = 4 // binding conditions, and binding failure conditions
	maxAddresses        = 16
	maxDevices          = 128
	maxAdvancedDevices  = 64 // in a slice that has an advanced device: see isAdvanced
	maxCounterSets      = 8
	maxCounters         = 32
	maxConsumptions     = 2 // counter sets that a device consumes from
	maxTaints           = 16
	maxProperties       = 32 // attributes and capacities of a device
	maxAttributeValues  = 48 // of all attributes of a device
	maxDiscreteRequests = 10 // validValues of a capacity
)

// checkBounded applies rule to each element of a list. A list of more than limit elements gets one
// error instead, so that a huge list costs nothing.
func checkBounded[T any](p *field.Path, list []T, limit int,
	rule func(*field.Path, *T) field.ErrorList) field.ErrorList {
	if len(list) > limit {
		return field.ErrorList{field.TooMany(p, len(list), limit)}
	}
	var errs field.ErrorList
	for i, elem := range field.Each(&errs, list) {
		errs = append(errs, rule(p.Index(i), elem)...)
	}
	return errs
}

// checkDistinct is checkBounded for lists whose elements have different keys. Repeated keys are
// reported after the errors of the elements.
func checkDistinct[T any, K comparable](
	p *field.Path, list []T, limit int, rule func(*field.Path, *T) field.ErrorList, key func(*T) K,
) field.ErrorList {
	errs := checkBounded(p, list, limit, rule)
	if len(list) > limit {
		return errs
	}
	return append(errs, checkRepeated(p, list, key)...)
}

// checkRepeated reports each element whose key an earlier element has.
func checkRepeated[T any, K comparable](p *field.Path, list []T, key func(*T) K) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[K]bool, len(list))
	for i, elem := range field.Each(&errs, list) {
		k := key(elem)
		if seen[k] {
			errs = append(errs, field.Duplicate(p.Index(i), any(k)))
		}
		seen[k] = true
	}
	return errs
}

// textKey is the key of a text: the text.
func textKey(s *string) string { return *s }

// checkMap applies keyRule to the keys of a map, and rule to its values. As in Kubernetes, an error
// about a key has the path of the map, and an error about a value has the path of the entry.
func checkMap[K ~string, V any](
	p *field.Path, m map[K]V,
	keyRule func(*field.Path, string) field.ErrorList, rule func(*field.Path, V) field.ErrorList,
) field.ErrorList {
	var errs field.ErrorList
	for key, value := range field.Entries(&errs, m) {
		errs = append(errs, keyRule(p, string(key))...)
		errs = append(errs, rule(p.Key(shortened(string(key))), value)...)
	}
	return errs
}

// shortened returns a key for a path. It replaces the middle of a key that is longer than any valid
// one by "...", so that a path stays short.
func shortened(key string) string {
	const dots = "..."
	if len(key) <= maxQualifiedName {
		return key
	}
	kept := maxQualifiedName - len(dots)
	return key[:(kept+1)/2] + dots + key[len(key)-kept/2:]
}
