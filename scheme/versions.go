package scheme

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kubeVersion matches Kubernetes' version names, such as v1 and v2beta1.
var kubeVersion = regexp.MustCompile(`^v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?$`)

// CompareVersions orders API versions by preference: its result is negative if a is preferred to b.
// Stable versions come before beta and these before alpha, newer before older (v10, v2, v1,
// v2beta1, v1beta2, v1alpha1). Names of another form come last, in alphabetical order.
func CompareVersions(a, b string) int {
	x, y := rank(a), rank(b)
	for i := range x {
		if c := cmp.Compare(y[i], x[i]); c != 0 {
			return c
		}
	}
	return strings.Compare(a, b)
}

// rank returns stability, major number and minor number; greater is better. All three are 0 for
// names of another form.
func rank(version string) [3]int {
	m := kubeVersion.FindStringSubmatch(version)
	if m == nil {
		return [3]int{}
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[3])
	return [3]int{map[string]int{"": 3, "beta": 2, "alpha": 1}[m[2]], major, minor}
}

// sortVersions returns the versions of a group in order of preference: those in priority first.
func sortVersions(versions, priority []string) []string {
	position := func(v string) int {
		if i := slices.Index(priority, v); i >= 0 {
			return i
		}
		return len(priority)
	}
	sorted := slices.Clone(versions)
	slices.SortStableFunc(sorted, func(a, b string) int {
		if c := cmp.Compare(position(a), position(b)); c != 0 {
			return c
		}
		return CompareVersions(a, b)
	})
	return sorted
}
