package main

import (
	"fmt"
	"slices"
	"strings"
)

// kind is the kind of the objects of a run. Its bodies are formats for fmt with three arguments:
// the name of an object, a short state that differs from write to write, and filling.
type kind struct {
	name          string // for -kind
	root          string // the path of its group version
	resource      string // the last segment of the path of a list
	definition    string // the definition of a custom resource,
	defined       string // and the definition's name
	conditional   bool   // an update must have the resourceVersion
	json, yaml    string // a whole object
	patch         string // a merge patch of the state; a format with the state as its only argument
	field, inYAML string // an apply configuration with one annotation; a format of name and annotation
}

var kinds = []*kind{
	{
		name:     "configmap",
		root:     "/api/v1",
		resource: "configmaps",
		json: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%[1]q,"labels":{"app":"load"}},` +
			`"data":{"state":%[2]q,"fill":%[3]q}}`,
		yaml: `apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s
  labels:
    app: load
data:
  state: %[2]q
  fill: %[3]s
`,
		patch: `{"data":{"state":%q}}`,
		field: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%[1]q},"data":{"note":%[2]q}}`,
		inYAML: `apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s
data:
  note: %[2]q
`,
	},
	{
		name:     "pod",
		root:     "/api/v1",
		resource: "pods",
		json: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%[1]q,"labels":{"app":"load","state":%[2]q},"annotations":{"fill":%[3]q}},` +
			`"spec":{"containers":[{"name":"c","image":"nginx:1.27","command":["sh","-c","sleep 1"],` +
			`"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"ports":[{"containerPort":80}],` +
			`"resources":{"limits":{"cpu":"100m","memory":"32Mi"}}}]}}`,
		yaml: `apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  labels:
    app: load
    state: %[2]q
  annotations:
    fill: %[3]s
spec:
  containers:
  - name: c
    image: nginx:1.27
    command: [sh, -c, sleep 1]
    env:
    - name: A
      value: "1"
    - name: B
      value: "2"
    ports:
    - containerPort: 80
    resources:
      limits:
        cpu: 100m
        memory: 32Mi
`,
		patch: `{"metadata":{"labels":{"state":%q}}}`,
		field: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%[1]q,"labels":{"note":%[2]q}}}`,
		inYAML: `apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  labels:
    note: %[2]q
`,
	},
	{ // a config map of another kind
		name:     "custom",
		root:     "/apis/load.example.com/v1",
		resource: "settings",
		definition: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"settings.load.example.com"},` +
			`"spec":{"group":"load.example.com","scope":"Namespaced","names":{"plural":"settings","singular":"setting","kind":"Setting"},` +
			`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{` +
			`"data":{"type":"object","additionalProperties":{"type":"string"}}}}}}]}}`,
		defined:     "settings.load.example.com",
		conditional: true,
		json: `{"apiVersion":"load.example.com/v1","kind":"Setting","metadata":{"name":%[1]q,"labels":{"app":"load"}},` +
			`"data":{"state":%[2]q,"fill":%[3]q}}`,
		yaml: `apiVersion: load.example.com/v1
kind: Setting
metadata:
  name: %[1]s
  labels:
    app: load
data:
  state: %[2]q
  fill: %[3]s
`,
		patch: `{"data":{"state":%q}}`,
		field: `{"apiVersion":"load.example.com/v1","kind":"Setting","metadata":{"name":%[1]q},"data":{"note":%[2]q}}`,
		inYAML: `apiVersion: load.example.com/v1
kind: Setting
metadata:
  name: %[1]s
data:
  note: %[2]q
`,
	},
}

// kindNamed returns the kind of that name, or nil.
func kindNamed(name string) *kind {
	if i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return nil
}

func objectName(i int) string { return fmt.Sprintf("object-%06d", i) }

// object is the JSON of the i-th object, with size bytes of filling.
func (k *kind) object(i, size int, state string) []byte { return whole(k.json, i, size, state) }

// whole returns a whole object by one of the formats.
func whole(format string, i, size int, state string) []byte {
	return fmt.Appendf(nil, format, objectName(i), state, strings.Repeat("x", size))
}
