package flags

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// --emulated-version and --min-compatibility-version (KEP-4330, compatibility versions). This file
// reads and checks them as kube-apiserver does; finishGates and finishGeneric call it. An older
// emulated version is refused: this server has one set of APIs and features.

// versions holds both versions, as given and as read.
type versions struct {
	emulated, compatible []string // the values of the flags
	forward, runtime     bool     // --[runtime-config-]emulation-forward-compatible

	// emulates is the release whose behaviour is asked for; worksWith is the oldest release that
	// must be able to read the stored objects.
	emulates, worksWith release
}

// release is a minor release of Kubernetes, such as 1.36.
type release struct{ major, minor uint64 }

// String returns the release as kube-apiserver prints it, such as "1.36".
func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

// before reports whether r is older than other.
func (r release) before(other release) bool {
	return r.major < other.major || r.major == other.major && r.minor < other.minor
}

// The releases that kube-apiserver 1.36 can emulate or be compatible with are those from
// oldestRelease to thisRelease. By default it is compatible with defaultCompatible, the
// release before thisRelease.
var (
	thisRelease       = release{1, 36}
	oldestRelease     = release{1, 33}
	defaultCompatible = release{1, 35}
)

// bindVersions declares the flags. They belong to the section "Generic".
func (o *Options) bindVersions(s *section) {
	v := &o.generic.versions
	s.StringSliceVar(&v.emulated, "emulated-version", nil,
		"release of Kubernetes whose behaviour the server has, as 1.36 or kube=1.36; 1.33 to 1.35 are refused")
	s.StringSliceVar(&v.compatible, "min-compatibility-version", nil,
		"oldest release of kube-apiserver that must be able to read the stored objects, from 1.33 to 1.36, as 1.35 or kube=1.35; by default 1.35")
	s.BoolVar(&v.forward, "emulation-forward-compatible", false,
		"with an older release as --emulated-version, also serve newer versions of its APIs; such a release is refused, so this must be false")
	s.BoolVar(&v.runtime, "runtime-config-emulation-forward-compatible", false,
		"with an older release as --emulated-version, also serve newer APIs that --runtime-config names; such a release is refused, so this must be false")
	s.explain("1.36. 1.33 to 1.35 are refused: "+whyOneRelease, "emulated-version")
	s.explain("only false. true is for an older --emulated-version, which is refused; with 1.36 it is an error, as in kube-apiserver",
		"emulation-forward-compatible", "runtime-config-emulation-forward-compatible")
	s.explain("1.33 to 1.36, by default 1.35. Objects are stored in versions that this release knows, and /version shows the release; "+
		"nothing else in kube-apiserver 1.36 depends on it", "min-compatibility-version")
}

// whyOneRelease is the reason why no older release is emulated.
const whyOneRelease = "this server always has the versions, fields and features of 1.36, some of which the older releases lack"

// read sets emulates and worksWith. Without --min-compatibility-version, worksWith is the release
// before emulates, but not older than oldestRelease.
func (v *versions) read() (err error) {
	v.emulates, v.worksWith = thisRelease, defaultCompatible
	emulated, err := readVersion(v.emulated)
	if err != nil {
		return err
	}
	if emulated != (release{}) {
		v.emulates, v.worksWith = emulated, emulated
		if v.worksWith.minor > 0 {
			v.worksWith.minor--
		}
		if v.worksWith.before(oldestRelease) {
			v.worksWith = oldestRelease
		}
	}
	compatible, err := readVersion(v.compatible)
	if compatible != (release{}) {
		v.worksWith = compatible
	}
	return err
}

// check returns the mistakes that kube-apiserver finds in the versions.
func (v *versions) check() error {
	var m mistakes
	if thisRelease.before(v.emulates) || v.emulates.before(oldestRelease) {
		m.add("emulation version %s is not between [%s, %s.0]", v.emulates, oldestRelease, thisRelease)
	}
	if v.emulates.before(v.worksWith) || v.worksWith.before(oldestRelease) {
		m.add("minCompatibilityVersion version %s is not between [%s, %s]", v.worksWith, oldestRelease, v.emulates)
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"EmulationForwardCompatible", v.forward}, {"RuntimeConfigEmulationForwardCompatible", v.runtime}} {
		if flag.on && v.emulates == thisRelease {
			m.add("ServerRunOptions.%s cannot be set to true if the emulation version is the same as the binary version",
				flag.name)
		}
	}
	return m.err()
}

// refusal returns an error if the emulated version is one that kube-apiserver would take and this
// server does not. nil: the version is this release.
func (v *versions) refusal() error {
	if v.emulates != thisRelease {
		return fmt.Errorf("--emulated-version %s is refused: %s", v.emulates, whyOneRelease)
	}
	return nil
}

// versionText matches the numbers at the beginning of a version. The rest of the text, such as
// "-alpha.1", is ignored, as Kubernetes' version.ParseGeneric does.
var versionText = regexp.MustCompile(`^\s*v?([0-9]+(?:\.[0-9]+)*)`)

// readVersion reads the values of one flag, each VERSION or COMPONENT=VERSION. There can be one
// value for each component, and kube is the only component. A patch number other than 0 is a
// mistake. readVersion returns the zero release if list is empty.
func readVersion(list []string) (r release, err error) {
	seen := map[string]string{}
	for _, text := range list {
		name, version, named := strings.Cut(text, "=")
		if !named {
			name, version = kube, text
		}
		name, version = strings.TrimSpace(name), strings.TrimSpace(version)
		numbers, err := parseVersion(version)
		if err != nil {
			return r, err
		}
		version = dotted(numbers)
		if len(numbers) > 2 && numbers[2] != 0 {
			return r, fmt.Errorf("patch version not allowed, got: %s=%s", name, version)
		}
		if other, twice := seen[name]; twice {
			return r, fmt.Errorf("duplicate version flag, %s=%s and %s=%s", name, other, name, version)
		}
		seen[name] = version
		if name == kube {
			r = release{numbers[0], numbers[1]}
		}
	}
	for name := range seen {
		if name != kube {
			return r, fmt.Errorf("component not registered: %s", name)
		}
	}
	return r, nil
}

// parseVersion returns the numbers of a version. There are at least two.
func parseVersion(text string) (numbers []uint64, err error) {
	match := versionText.FindStringSubmatch(text)
	if match == nil {
		return nil, fmt.Errorf("could not parse %q as version", text)
	}
	parts := strings.Split(match[1], ".")
	if len(parts) < 2 {
		return nil, fmt.Errorf("illegal version string %q", text)
	}
	for i, part := range parts {
		if i == 0 && strings.HasPrefix(part, "0") && part != "0" {
			return nil, fmt.Errorf("illegal zero-prefixed version component %q in %q", part, text)
		}
		number, err := strconv.ParseUint(part, 10, 0)
		if err != nil {
			return nil, fmt.Errorf("illegal non-numeric version component %q in %q: %w", part, text, err)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// dotted writes the numbers of a version as text: [1 36 0] is "1.36.0".
func dotted(numbers []uint64) string {
	var b []byte
	for i, n := range numbers {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, n, 10)
	}
	return string(b)
}
