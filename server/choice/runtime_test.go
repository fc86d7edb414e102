package choice

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// allGroups returns Kubernetes' groups and the group two.io with two versions, and the scheme of
// their kinds.
func allGroups() ([]generic.Group, *scheme.Scheme) {
	groups := []generic.Group{{Name: "two.io", AddToScheme: func(s *scheme.Scheme) {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			gv := meta.GroupVersion{Group: "two.io", Version: version}
			s.AddKnownType(gv.WithKind("Thing"), &corev1.ConfigMap{})
			s.AddKnownType(gv.WithKind("ThingList"), &corev1.ConfigMapList{})
		}
	}}}
	for name, g := range api.Groups {
		groups = append(groups, generic.Group{Name: name, AddToScheme: g.AddToScheme, BuiltIn: true})
	}
	s := scheme.New()
	for i := range groups {
		groups[i].Register(s)
	}
	return groups, s
}

// runtimeConfig parses the value of --runtime-config.
func runtimeConfig(text string) map[string]string {
	config := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		if key, value, _ := strings.Cut(entry, "="); key != "" {
			config[key] = value
		}
	}
	return config
}

// TestBadRuntime compares the errors with kube-apiserver's texts.
func TestBadRuntime(t *testing.T) {
	groups, s := allGroups()
	for config, want := range map[string]string{
		"api/all=false":                       "invalid runtime-config with only api/all=false",
		"api/all":                             "invalid value api/all=",
		"api/ga=1":                            "invalid value api/ga=1",
		"api/legacy=true":                     "unknown api groups api/legacy",
		"no.io/v1=true,two.io/v9,a/v2=false":  "unknown api groups a/v2,no.io/v1",
		"two.io=true":                         "runtime-config invalid key two.io",
		"two.io/v1/things/status=true":        "runtime-config invalid key two.io/v1/things/status",
		"two.io/v9=false":                     "group version two.io/v9 that has not been registered",
		"two.io/v1beta1=maybe":                `invalid value of two.io/v1beta1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax`,
		"two.io/v1beta1/Things=true":          `invalid key two.io/v1beta1/Things: group/version/resource and resource is always lowercase plural, not "Things"`,
		"storage.k8s.io/v1beta1":              "group version storage.k8s.io/v1beta1 of Kubernetes is not part of this server and cannot be enabled",
		"resource.k8s.io/v1alpha3/devices=1":  "group version resource.k8s.io/v1alpha3 of Kubernetes is not part of this server and cannot be enabled",
		"storage.k8s.io/v2=true":              "group version storage.k8s.io/v2 that has not been registered",
		"api/alpha=true":                      "api/alpha=true: these versions of Kubernetes are not part of this server and cannot be enabled",
		"api/beta=true":                       "api/beta=true: these versions of Kubernetes are not part of this server and cannot be enabled",
		"two.io/v9=true,two.io/v1beta1=maybe": "group version two.io/v9 that has not been registered",
	} {
		_, err := Apply(Config{Runtime: runtimeConfig(config)}, groups, s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", config, err, want)
		}
	}
}
