package robust

import (
	"fmt"
	"maps"
	"strings"
)

// subject is the kind of the objects that clients write. An object holds two texts, v and base, in
// a map of strings.
type subject struct {
	root       string // path of the group version
	resource   string
	apiVersion string
	kind       string
	texts      []string    // the path to the map
	rest       func() tree // the other required fields; nil for none
}

// configMaps have no defaults: they are stored as they are sent.
var configMaps = subject{root: "/api/v1", resource: "configmaps", apiVersion: "v1", kind: "ConfigMap", texts: []string{"data"}}

// replicaSets have defaults, and older servers stored them in other versions.
var replicaSets = subject{
	root: "/apis/apps/v1", resource: "replicasets", apiVersion: "apps/v1", kind: "ReplicaSet",
	texts: []string{"spec", "template", "metadata", "annotations"},
	rest: func() tree {
		return tree{"spec": tree{
			"replicas": 0, "selector": tree{"matchLabels": tree{"app": "robust"}},
			"template": tree{
				"metadata": tree{"labels": tree{"app": "robust"}},
				"spec":     tree{"containers": []any{tree{"name": "c", "image": "example.com/c:1"}}},
			},
		}}
	},
}

// with adds the texts to an object, or to a part of one, and returns it.
func (s *subject) with(obj tree, texts tree) tree {
	at := obj
	for _, name := range s.texts {
		inner, _ := at[name].(tree)
		if inner == nil {
			inner = tree{}
			at[name] = inner
		}
		at = inner
	}
	maps.Copy(at, texts)
	return obj
}

// object is a whole object.
func (s *subject) object(metadata, texts tree) tree {
	obj := tree{}
	if s.rest != nil {
		obj = s.rest()
	}
	obj["apiVersion"], obj["kind"], obj["metadata"] = s.apiVersion, s.kind, metadata
	return s.with(obj, texts)
}

// pointer is the JSON pointer to a text.
func (s *subject) pointer(text string) string { return "/" + strings.Join(s.texts, "/") + "/" + text }

// textsOf returns the texts of an object.
func (s *subject) textsOf(obj tree) (v, base string) {
	at := obj
	for _, name := range s.texts {
		at, _ = at[name].(tree)
	}
	v, _ = at["v"].(string)
	base, _ = at["base"].(string)
	return v, base
}

// The number and the names of the objects that an older server has stored.
const (
	elders      = 300
	elderPrefix = "elder-"
)

// elder is an object as an older server has stored it: in a version that is not served, or without
// the fields that defaults fill in.
func elder(n int, v string) tree {
	obj := replicaSets.object(tree{
		"name": elderName(n), "namespace": namespace, "uid": fmt.Sprintf("00000000-0000-4000-8000-%012d", n),
		"creationTimestamp": "2020-01-01T00:00:00Z", "generation": 1,
	}, tree{"v": v, "base": v})
	if n%2 == 0 {
		obj["apiVersion"] = "extensions/v1beta1"
	}
	return obj
}

func elderName(n int) string { return fmt.Sprintf("%s%d", elderPrefix, n) }
