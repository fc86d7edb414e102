// Package podsecurity judges pods by the Pod Security Standards of Kubernetes: the levels
// privileged, baseline and restricted.
//
// Words. A level is a set of checks. A version is the minor release of Kubernetes whose checks a
// level has, v1.0 to v1.36, or latest. A mode says what follows from a violation: enforce refuses
// the pod, audit notes it in the audit record, warn warns the client. A policy has a level and a
// version for each mode.
//
// Laws:
//   - The level privileged has no checks. The level restricted has the checks of baseline, except
//     those that a stricter check replaces.
//   - A version that is newer than this server has the checks of the latest.
//   - Order, reasons and details of violations are those of kube-apiserver 1.36, because users see
//     them.
//
// All functions only read their arguments, so they may be called at once. They know no store and
// no request.
//
// Not here: which policy a pod must meet, exemptions, and what a violation leads to
// (registry/admission/podguard).
//
// Read: level.go, labels.go, checks.go; then containers.go, profiles.go, users.go and pod.go, which
// have the checks.
package podsecurity

import (
	"errors"
	"strconv"
	"strings"
)

// Level is a set of checks.
type Level string

// The levels, from the most permissive to the strictest.
const (
	Privileged Level = "privileged"
	Baseline   Level = "baseline"
	Restricted Level = "restricted"
)

// levels has all levels in the order of their strictness.
var levels = [...]Level{Privileged, Baseline, Restricted}

var errLevel = errors.New("must be one of privileged, baseline, restricted")

// ParseLevel returns the level of a name. If there is no such level, it returns Restricted and an
// error.
func ParseLevel(text string) (Level, error) {
	for _, l := range levels {
		if string(l) == text {
			return l, nil
		}
	}
	return Restricted, errLevel
}

// StricterThan reports whether l is stricter than other. Both are valid levels.
func (l Level) StricterThan(other Level) bool { return l.strictness() > other.strictness() }

func (l Level) strictness() int {
	for i, of := range levels {
		if of == l {
			return i
		}
	}
	return -1
}

// Version is the minor number of a release v1.x, or Latest.
type Version int

const (
	// Latest stands for the newest version that the server knows.
	Latest Version = -1
	// Newest is the release whose behaviour this server has.
	Newest Version = 36
)

var errVersion = errors.New(`must be "latest" or "v1.x"`)

// ParseVersion returns the version of a name: latest, or v1.x with a number without leading zeros.
// If the name is malformed, it returns Latest and an error.
func ParseVersion(text string) (Version, error) {
	if text == "latest" {
		return Latest, nil
	}
	digits, ok := strings.CutPrefix(text, "v1.")
	if !ok || digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && len(digits) > 1 {
		return Latest, errVersion
	}
	minor, err := strconv.Atoi(digits)
	if err != nil {
		return Latest, errVersion
	}
	return Version(minor), nil
}

// String returns the name of the version.
func (v Version) String() string {
	if v == Latest {
		return "latest"
	}
	return "v1." + strconv.Itoa(int(v))
}

// LevelVersion is a level in a version.
type LevelVersion struct {
	Level   Level
	Version Version
}

// String returns level and version as in "restricted:v1.30".
func (lv LevelVersion) String() string { return string(lv.Level) + ":" + lv.Version.String() }

// equivalent reports whether the names of lv and other alone show that both have the same checks.
// Privileged is the same in all versions.
func (lv LevelVersion) equivalent(other LevelVersion) bool {
	return lv == other || lv.Level == Privileged && other.Level == Privileged
}

// Policy has the level and version that a namespace demands of its pods in each mode.
type Policy struct {
	Enforce, Audit, Warn LevelVersion
}

// Allows reports whether p demands nothing in any mode.
func (p *Policy) Allows() bool {
	return p.Enforce.Level == Privileged && p.Audit.Level == Privileged && p.Warn.Level == Privileged
}

// Equivalent reports whether the names of levels and versions show that two policies demand the
// same in each mode.
func (p *Policy) Equivalent(other *Policy) bool {
	return p.Enforce.equivalent(other.Enforce) && p.Audit.equivalent(other.Audit) && p.Warn.equivalent(other.Warn)
}
