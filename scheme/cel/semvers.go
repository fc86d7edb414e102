package cel

import (
	"errors"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// semverType is the type of semantic versions.
var semverType = &valueType[semver.Version]{
	Type:  cel.ObjectType("kubernetes.Semver"),
	short: "Semver",
	text:  semver.Version.String,
	equal: semver.Version.EQ,
}

// semvers returns the declarations of the semver library: semver(), isSemver(), the parts of
// versions, and their order.
func semvers() []cel.EnvOption {
	text, tolerant := []*cel.Type{cel.StringType}, []*cel.Type{cel.StringType, cel.BoolType}
	compared := func(name, id string, result *cel.Type, f func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, []*cel.Type{semverType.Type, semverType.Type}, result,
			cel.BinaryBinding(on2(func(v, o semver.Version) ref.Val { return f(v.Compare(o)) }))))
	}
	part := func(name string, get func(semver.Version) uint64) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("semver_"+name, []*cel.Type{semverType.Type}, cel.IntType,
			cel.UnaryBinding(on(func(v semver.Version) ref.Val { return types.Int(get(v)) }))))
	}
	return []cel.EnvOption{
		cel.Function("semver",
			cel.Overload("string_to_semver", text, semverType.Type,
				cel.UnaryBinding(on(func(s string) ref.Val { return toSemver(s, false) }))),
			cel.Overload("string_bool_to_semver", tolerant, semverType.Type, cel.BinaryBinding(on2(toSemver)))),
		cel.Function("isSemver",
			cel.Overload("is_semver_string", text, cel.BoolType,
				cel.UnaryBinding(on(func(s string) ref.Val { return isSemver(s, false) }))),
			cel.Overload("is_semver_string_bool", tolerant, cel.BoolType, cel.BinaryBinding(on2(isSemver)))),
		compared("isGreaterThan", "semver_is_greater_than", cel.BoolType, isPositive),
		compared("isLessThan", "semver_is_less_than", cel.BoolType, isNegative),
		compared("compareTo", "semver_compare_to", cel.IntType, isInt),
		part("major", func(v semver.Version) uint64 { return v.Major }),
		part("minor", func(v semver.Version) uint64 { return v.Minor }),
		part("patch", func(v semver.Version) uint64 { return v.Patch }),
	}
}

func toSemver(s string, normalize bool) ref.Val {
	v, err := parseSemver(s, normalize)
	if err != nil {
		return types.WrapErr(err)
	}
	return semverType.of(v)
}

func isSemver(s string, normalize bool) ref.Val {
	_, err := parseSemver(s, normalize)
	return types.Bool(err == nil)
}

// parseSemver parses a version. With normalize set it accepts a leading v, leading zeros, and
// missing numbers, which are 0. Missing numbers are refused in a version with pre-release or build
// metadata.
func parseSemver(s string, normalize bool) (semver.Version, error) {
	if !normalize {
		return semver.Parse(s)
	}
	numbers := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	for i, n := range numbers {
		if len(n) < 2 {
			continue
		}
		n = strings.TrimLeft(n, "0")
		if n == "" || n[0] < '0' || n[0] > '9' {
			n = "0" + n
		}
		numbers[i] = n
	}
	if last := numbers[len(numbers)-1]; len(numbers) < 3 && strings.ContainsAny(last, "+-") {
		return semver.Version{}, errors.New("short version cannot contain PreRelease/Build meta data")
	}
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	return semver.Parse(strings.Join(numbers, "."))
}
