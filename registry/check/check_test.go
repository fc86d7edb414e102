package check_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

func TestChecks(t *testing.T) {
	p := field.NewPath("f")
	ptr := func(n int64) *int64 { return &n }
	mode := func(n int32) *int32 { return &n }
	word := func(s string) *string { return &s }
	amount := func(text string) meta.Quantity {
		q, err := meta.ParseQuantity(text)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	const (
		required, port   = "f: Required value", "must be between 1 and 65535, inclusive"
		oneOf, userRange = `: supported values: "a", "b"`, "must be between 0 and 2147483647, inclusive"
	)
	for _, tt := range []struct {
		name string
		errs field.ErrorList
		want string
	}{
		{"each message", check.Invalid(p, "x", []string{"is bad", "is worse"}), "f: Invalid value: \"x\": is bad\nf: Invalid value: \"x\": is worse"},
		{"required", check.Required(p, "x"), ""},
		{"required, missing", check.Required(p, ""), required},
		{"one of", check.OneOf(p, "b", "a", "b"), ""},
		{"one of, missing", check.OneOf(p, "", "a", "b"), required},
		{"none of", check.OneOf(p, "c", "a", "b"), `f: Unsupported value: "c"` + oneOf},
		{"needed", check.Needed(p, "a", check.DNSLabel), ""},
		{"needed, missing", check.Needed(p, "", check.DNSLabel), required},
		{"needed, bad", check.Needed(p, "A", check.DNSLabel), `f: Invalid value: "A": ` + checktest.Label},
		{"optional, missing", check.Optional(p, "", check.DNSSubdomain), ""},
		{"optional, bad", check.Optional(p, "A", check.DNSSubdomain), `f: Invalid value: "A": ` + checktest.Subdomain},
		{"optional, of a few", check.OptionalOneOf(p, word("a"), "a", "b"), ""},
		{"optional, none", check.OptionalOneOf(p, nil, "a", "b"), ""},
		{"optional, of none", check.OptionalOneOf(p, word(""), "a", "b"), `f: Unsupported value: ""` + oneOf},
		{"not negative", check.NonNegative(p, int32(0)), ""},
		{"negative", check.NonNegative(p, int32(-1)), "f: Invalid value: -1: must be greater than or equal to 0"},
		{"no negative amount", check.NonNegativeQuantity(p, amount("0")), ""},
		{"a negative amount", check.NonNegativeQuantity(p, amount("-1m")), `f: Invalid value: "-1m": must be greater than or equal to 0`},
		{"positive", check.Positive(p, int64(1)), ""},
		{"not positive", check.Positive(p, int64(0)), "f: Invalid value: 0: must be greater than zero"},
		{"a positive amount", check.PositiveQuantity(p, amount("1m")), ""},
		{"no positive amount", check.PositiveQuantity(p, amount("0")), `f: Invalid value: "0": must be greater than zero`},
		{"lowest", check.InRange(p, int32(1), 1, 3), ""},
		{"highest", check.InRange(p, int32(3), 1, 3), ""},
		{"too low", check.InRange(p, int32(0), 1, 3), "f: Invalid value: 0: must be between 1 and 3, inclusive"},
		{"too high", check.InRange(p, int32(4), 1, 3), "f: Invalid value: 4: must be between 1 and 3, inclusive"},
		{"no user", check.UserID(p, nil), ""},
		{"a user", check.UserID(p, ptr(0)), ""},
		{"a bad user", check.UserID(p, ptr(-1)), "f: Invalid value: -1: " + userRange},
		{"no group", check.GroupID(p, nil), ""},
		{"a bad group", check.GroupID(p, ptr(-1)), "f: Invalid value: -1: " + userRange},
		{"a port", check.PortNumber(p, 80), ""},
		{"a bad port", check.PortNumber(p, 0), "f: Invalid value: 0: " + port},
		{"a port by number", check.PortReference(p, meta.IntOrString{Type: meta.IntType, IntVal: 0}), "f: Invalid value: 0: " + port},
		{"a port by name", check.PortReference(p, meta.IntOrString{Type: meta.StringType, StrVal: "http"}), ""},
		{"a bad port name", check.PortReference(p, meta.IntOrString{Type: meta.StringType, StrVal: "1"}),
			`f: Invalid value: "1": must contain at least one letter (a-z)`},
		{"no mode", check.FileMode(p, nil), ""},
		{"lowest mode", check.FileMode(p, mode(0)), ""},
		{"highest mode", check.FileMode(p, mode(0o777)), ""},
		{"negative mode", check.FileMode(p, mode(-1)), "f: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive"},
		{"too high a mode", check.FileMode(p, mode(0o1000)), "f: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"},
		{"a path", check.NoBacksteps(p, "/a/..b"), ""},
		{"a path back", check.NoBacksteps(p, "a/../b"), `f: Invalid value: "a/../b": must not contain '..'`},
		{"an absolute path", check.DescendingPath(p, "/a"), `f: Invalid value: "/a": must be a relative path`},
		{"an absolute path back", check.DescendingPath(p, "/.."), "f: Invalid value: \"/..\": must be a relative path\nf: Invalid value: \"/..\": must not contain '..'"},
		{"a free path", check.NonReservedPath(p, "a..b"), ""},
		{"a reserved path", check.NonReservedPath(p, "..a"), `f: Invalid value: "..a": must not start with '..'`},
		{"a reserved path back", check.NonReservedPath(p, "../a"), `f: Invalid value: "../a": must not contain '..'`},
		{"unchanged", check.Immutable(p, mode(1), mode(1)), ""},
		{"changed", check.Immutable(p, mode(2), mode(1)), "f: Invalid value: 2: field is immutable"},
		{"unchanged, by pointer", check.Immutable(p, word("a"), word("a")), ""},
		{"unset as before", check.Immutable[string](p, nil, nil), ""},
		{"changed, by pointer", check.Immutable(p, word("b"), word("a")), `f: Invalid value: "b": field is immutable`},
		{"no longer set", check.Immutable(p, nil, word("a")), `f: Invalid value: null: field is immutable`},
		{"set later", check.Immutable(p, word("a"), nil), `f: Invalid value: "a": field is immutable`},
		{"changed text", check.Immutable(p, word("<"), word("a")), `f: Invalid value: "<": field is immutable`},
		{"changed list", check.Immutable(p, &[]string{"<"}, &[]string{}), `f: Invalid value: ["\u003c"]: field is immutable`},
		{"a list as empty as before", check.Immutable(p, &[]string{}, new([]string)), ""},
		{"set fields", check.Forbidden(p, "no", []check.Setting{{"a", true}, {"b", false}, {"c.d", true}}), "f.a: Forbidden: no\nf.c.d: Forbidden: no"},
	} {
		t.Run(tt.name, func(t *testing.T) { checktest.Want(t, tt.errs, tt.want) })
	}
}

// TestObjectMeta: kinds that check metadata themselves apply the rules of all kinds, and also
// require that finalizers are qualified names.
func TestObjectMeta(t *testing.T) {
	bad := &meta.ObjectMeta{Name: "a", Namespace: "n", ResourceVersion: "1", Finalizers: []string{"plain"}, Labels: map[string]string{"a": "b c"}}
	const labels = `metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ` +
		`and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	const plain = `metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified`
	checktest.Want(t, check.ObjectMeta(bad, false, names.DNSSubdomainName), "metadata.namespace: Forbidden: not allowed on this type\n"+labels+"\n"+plain)
	checktest.Want(t, check.ObjectMetaUpdate(bad, &meta.ObjectMeta{Name: "b", Namespace: "n"}), "metadata.name: Invalid value: \"a\": field is immutable\n"+labels+"\n"+plain)
}

func TestDuplicates(t *testing.T) {
	seen := check.Duplicates{}
	if !seen.Add("a") || seen.Add("a") || !seen.Add("b") {
		t.Errorf("Add: want a and b to be new once each, got %v", seen)
	}
}

// TestApplyAllocations: the check of a valid value allocates no path.
func TestApplyAllocations(t *testing.T) {
	spec := field.NewPath("spec")
	if got := testing.AllocsPerRun(100, func() {
		for i := range 3 {
			if errs := check.Needed(spec.Child("names").Index(i), "right", check.DNSLabel); len(errs) > 0 {
				t.Fatal(errs)
			}
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
	checktest.Want(t, check.Needed(spec.Child("names").Index(3), "..", check.NonReservedPath), `
spec.names[3]: Invalid value: "..": must not contain '..'
spec.names[3]: Invalid value: "..": must not start with '..'`)
}
