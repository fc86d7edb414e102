// The parser of runtime configurations, which Apply and CheckRuntime call. It follows
// kube-apiserver's --runtime-config: words apply before versions, and versions before resources.
// The order of the entries does not matter. An error that kube-apiserver has, too, has the same
// words here.

package choice

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/meta"
)

// versionWord is a word for all versions whose names match.
type versionWord struct {
	word     string
	versions *regexp.Regexp
}

// manyVersions are all such words, in the order in which they apply.
var manyVersions = []versionWord{
	{"api/all", regexp.MustCompile(``)},
	{"api/ga", regexp.MustCompile(`^v\d+$`)},
	{"api/beta", regexp.MustCompile(`^v\d+beta\d+$`)},
	{"api/alpha", regexp.MustCompile(`^v\d+alpha\d+$`)},
}

// CheckRuntime validates a runtime configuration as far as that is possible without the groups of a
// server: the syntax of the keys, and the names of Kubernetes' groups.
func CheckRuntime(config map[string]string) error {
	if config["api/all"] == "false" && len(config) == 1 {
		return errors.New("invalid runtime-config with only api/all=false")
	}
	versions := maps.Clone(api.NotBuilt)
	for group := range api.Groups {
		versions[group] = append(slices.Clip(versions[group]), "")
	}
	_, err := readNames(config, versions)
	return err
}

// setting applies one entry of a runtime configuration to a choice.
type setting func(c *choice)

// readRuntime returns the settings in the order in which they apply. built are the versions that
// the server can serve; kubernetes is true if versions of Kubernetes are among them.
func readRuntime(config map[string]string, built map[meta.GroupVersion]bool, kubernetes bool) ([]setting, error) {
	if config["api/all"] == "false" && len(config) == 1 {
		return nil, errors.New("invalid runtime-config with only api/all=false")
	}
	versions := map[string][]string{}
	if kubernetes {
		versions = maps.Clone(api.NotBuilt)
	}
	for gv := range built {
		versions[gv.Group] = append(slices.Clip(versions[gv.Group]), gv.Version)
	}
	names, err := readNames(config, versions)
	if err != nil {
		return nil, err
	}
	settings, err := readWords(config, kubernetes)
	var resources []setting
	errs := []error{err}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		gvr := names[key]
		gv := gvr.GroupVersion()
		on, err := isOn(key, config[key])
		switch _, exists := built[gv]; {
		case err != nil:
		case !slices.Contains(versions[gv.Group], gv.Version):
			err = fmt.Errorf("group version %s that has not been registered", gv)
		case !exists && on:
			err = fmt.Errorf("group version %s of Kubernetes is not part of this server and cannot be enabled", gv)
		case !exists:
		case gvr.Resource == "":
			settings = append(settings, func(c *choice) { c.setVersion(gv, on) })
		default:
			resources = append(resources, func(c *choice) { c.resources[gvr] = on })
		}
		errs = append(errs, err)
	}
	return append(settings, resources...), errors.Join(errs...)
}

// readWords returns the settings of the words.
func readWords(config map[string]string, kubernetes bool) (settings []setting, err error) {
	for _, many := range manyVersions {
		value, said := config[many.word]
		on := value == "true"
		switch {
		case !said:
			continue
		case !on && value != "false":
			return nil, fmt.Errorf("invalid value %s=%s", many.word, value)
		case on && kubernetes && (many.word == "api/beta" || many.word == "api/alpha"):
			return nil, fmt.Errorf("%s=true: these versions of Kubernetes are not part of this server and cannot be enabled", many.word)
		}
		settings = append(settings, func(c *choice) {
			for gv := range c.versions {
				if many.versions.MatchString(gv.Version) {
					c.setVersion(gv, on)
				}
			}
		})
	}
	return settings, nil
}

// readNames parses the keys that are no words. versions holds the groups that a configuration may
// name, with their versions. A key with another group is an error.
func readNames(config map[string]string, versions map[string][]string) (map[string]meta.GroupVersionResource, error) {
	names, unknown := map[string]meta.GroupVersionResource{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if slices.ContainsFunc(manyVersions, func(m versionWord) bool { return m.word == key }) {
			continue
		}
		gvr, err := parseName(key)
		if err != nil {
			return nil, err
		}
		names[key] = gvr
		if versions[gvr.Group] == nil {
			unknown[gvr.GroupVersion().String()] = true
		}
	}
	if len(unknown) > 0 {
		return nil, errors.New("unknown api groups " + strings.Join(slices.Sorted(maps.Keys(unknown)), ","))
	}
	return names, nil
}

// parseName parses group/version or group/version/resource. The core group has the empty name: /v1,
// or v1 for short.
func parseName(key string) (gvr meta.GroupVersionResource, err error) {
	parts := strings.Split(key, "/")
	if key == "v1" {
		parts = []string{"", key}
	}
	switch {
	case len(parts) < 2 || len(parts) > 3:
		return gvr, fmt.Errorf("runtime-config invalid key %s", key)
	case len(parts) == 3 && parts[2] != strings.ToLower(parts[2]):
		return gvr, fmt.Errorf("invalid key %s: group/version/resource and resource is always lowercase plural, not %q", key, parts[2])
	case len(parts) == 3:
		gvr.Resource = parts[2]
	}
	gvr.Group, gvr.Version = parts[0], parts[1]
	return gvr, nil
}

// isOn parses the value of a key; "" means true.
func isOn(key, value string) (bool, error) {
	if value == "" {
		return true, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("invalid value of %s: %s, err: %w", key, value, err)
	}
	return on, nil
}
