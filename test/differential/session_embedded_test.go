package differential

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
)

// frameDefinition defines a resource with embedded resources: one whose unknown fields are pruned;
// one that keeps unknown fields and has another below; one in a list; one in a map; and one that
// may be null.
const frameDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"frames.session.example.com"},"spec":{
 "group":"session.example.com","scope":"Namespaced","names":{"plural":"frames","kind":"Frame"},"versions":[
 {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
  "pruned":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}},
  "kept":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{
   "inner":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}},
  "list":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}},
  "map":{"type":"object","additionalProperties":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"odd":{"type":"integer"}}}},
  "maybe":{"type":"object","nullable":true,"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}
 }}}}}}]}}`

// embedded plays a session for each resource of testdata/embeddedresources.json. The session embeds
// the resource at each place by each form of write. Most of the resources are wrong in their
// metadata.
func (c *sessionCourt) embedded(t *testing.T) {
	t.Helper()
	var resources []json.RawMessage
	if err := json.Unmarshal(must1(os.ReadFile("testdata/embeddedresources.json")), &resources); err != nil {
		t.Fatal(err)
	}
	for _, r := range resources {
		if d := c.play(t, embeddedSession(string(encode(tree(r))))); d != nil {
			t.Errorf("embedded %s: %s", r, d)
		}
	}
}

// embeddedSession writes a resource into frames. A write names one place, because chance decides
// which of several mistakes Kubernetes finds first.
func embeddedSession(resource string) []step {
	const frames = "/apis/session.example.com/v1/namespaces/one/frames"
	frame := func(name, spec string) string {
		return `{"apiVersion":"session.example.com/v1","kind":"Frame","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	}
	const kept = `{"kept":{"apiVersion":"v1","kind":"A"}}`
	steps := []step{{Method: http.MethodPost, Path: frames, Form: "application/json", Body: frame("b", kept)}}
	for i, place := range []string{`{"pruned":%s}`, `{"kept":%s}`, `{"kept":{"apiVersion":"v1","inner":%s,"kind":"A"}}`, `{"list":[%s]}`, `{"map":{"x y":%s}}`, `{"maybe":%s}`} {
		spec := fmt.Sprintf(place, resource)
		validation := []string{"Strict", "Warn", "Ignore"}[i%3]
		dry := map[string]string{"dryRun": "All", "fieldValidation": validation}
		applied := map[string]string{"fieldManager": "me", "force": "true", "dryRun": "All"}
		steps = append(steps,
			step{Method: http.MethodPost, Path: frames, Form: "application/json", Body: frame("a", spec), Query: map[string]string{"fieldValidation": "Ignore"}},
			step{Method: http.MethodGet, Path: frames + "/a"},
			step{Method: http.MethodPatch, Path: frames + "/a", Form: mergeForm, Body: `{"metadata":{"labels":{"l":"a"}}}`},
			step{Method: http.MethodDelete, Path: frames + "/a"},
			step{Method: http.MethodPost, Path: frames, Form: "application/json", Body: frame("c", spec), Query: dry},
			step{Method: http.MethodPut, Path: frames + "/b", Form: "application/json", Body: frame("b", spec), Query: dry},
			step{Method: http.MethodPatch, Path: frames + "/b", Form: mergeForm, Body: `{"spec":` + spec + `}`, Query: dry},
			step{Method: http.MethodPatch, Path: frames + "/b", Form: jsonForm, Body: `[{"op":"add","path":"/spec","value":` + spec + `}]`, Query: dry},
			step{Method: http.MethodPatch, Path: frames + "/b", Form: applyForm, Body: frame("b", spec), Query: applied},
			step{Method: http.MethodPatch, Path: frames + "/c", Form: applyForm, Body: frame("c", spec), Query: applied},
		)
	}
	return steps
}
