package resource

import (
	"github.com/coracle-project/coracle/scheme/field"
)

// How many entries lists may have.
const (
	maxRequests         = 32
	maxSubRequests      = 8
	maxSelectors        = 32
	maxConstraints      = 32
	maxConfigs          = 32
	maxResults          = 32
	maxReservations     = 256
	maxConditions       = 8
	maxBinding          = 4
	maxAddresses        = 16
	maxDevices          = 128
	maxAdvancedDevices  = 64
	maxCounterSets      = 8
	maxCounters         = 32
	maxConsumptions     = 2
	maxTaints           = 16
	maxProperties       = 32 // attributes and capacities of a device
	maxAttributeValues  = 48
	maxDiscreteRequests = 10
)

// bounded checks the elements of a list. If there are more than limit, nothing else is said of it.
func bounded[T any](p *field.Path, list []T, limit int, rule func(*field.Path, *T) field.ErrorList) field.ErrorList {
	if len(list) > limit {
		return field.ErrorList{field.TooMany(p, len(list), limit)}
	}
	var errs field.ErrorList
	for i, elem := range field.Each(&errs, list) {
		errs = append(errs, rule(p.Index(i), elem)...)
	}
	return errs
}

// distinct is bounded for lists whose elements must have different keys.
func distinct[T any, K comparable](
	p *field.Path, list []T, limit int, rule func(*field.Path, *T) field.ErrorList, key func(*T) K,
) field.ErrorList {
	errs := bounded(p, list, limit, rule)
	if len(list) > limit {
		return errs
	}
	return append(errs, repeated(p, list, key)...)
}

// repeated reports elements whose keys occurred before.
func repeated[T any, K comparable](p *field.Path, list []T, key func(*T) K) field.ErrorList {
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

// itself is the key of elements that are different from each other.
func itself(s *string) string { return *s }

// named checks keys and values of a map. What is wrong with a key is said of the map.
func named[K ~string, V any](
	p *field.Path, m map[K]V, keyRule func(*field.Path, string) field.ErrorList, rule func(*field.Path, V) field.ErrorList,
) field.ErrorList {
	var errs field.ErrorList
	for key, value := range field.Entries(&errs, m) {
		errs = append(errs, keyRule(p, string(key))...)
		errs = append(errs, rule(p.Key(shortened(string(key))), value)...)
	}
	return errs
}

// shortened leaves out the middle of a key that is longer than a qualified name can be.
func shortened(key string) string {
	const dots = "..."
	if len(key) <= maxQualifiedName {
		return key
	}
	kept := maxQualifiedName - len(dots)
	return key[:(kept+1)/2] + dots + key[len(key)-kept/2:]
}
