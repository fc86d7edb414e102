package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// step is one request of a session, or the end of a watch. It is data: a session that failed is
// stored as its steps.
type step struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Query  map[string]string `json:"query,omitempty"`
	Form   string            `json:"form,omitempty"`   // the Content-Type of the body
	Accept string            `json:"accept,omitempty"` // the media types of the answer
	Body   any               `json:"body,omitempty"`   // a string is sent unchanged, other values as JSON
	// Watch is the number of the watch that the step opens. Read is the number of the watch that
	// the step ends: the object that the step writes is the last event of that watch.
	Watch int `json:"watch,omitempty"`
	Read  int `json:"read,omitempty"`
}

// sessionKind is a kind whose objects sessions write.
type sessionKind struct {
	root, resource, kind string
	cluster              bool
	shared               bool     // the servers have objects of their own in other namespaces
	doors                []string // status, scale
	body                 func(g *sessionMaker) map[string]any
	status               func(g *sessionMaker) map[string]any
}

func (k *sessionKind) apiVersion() string {
	return strings.TrimPrefix(strings.TrimPrefix(k.root, "/apis/"), "/api/")
}

// collection is the path of the objects in a namespace, or in all namespaces if namespace is empty.
func (k *sessionKind) collection(namespace string) string {
	if k.cluster || namespace == "" {
		return k.root + "/" + k.resource
	}
	return k.root + "/namespaces/" + namespace + "/" + k.resource
}

var (
	sessionNamespaces = []string{"one", "two"}
	sessionNames      = []string{"a", "b", "c"}
)

// podSpec is the spec of a pod that no kubelet runs.
func podSpec(g *sessionMaker) map[string]any {
	return map[string]any{
		"containers":                    []any{map[string]any{"name": "c", "image": g.pick("i:1", "i:2"), "resources": map[string]any{}}},
		"terminationGracePeriodSeconds": 30,
	}
}

func template(g *sessionMaker) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "x"}}, "spec": podSpec(g)}
}

// sessionKinds are the kinds of the objects in random sessions.
var sessionKinds = []*sessionKind{
	{root: "/api/v1", resource: "configmaps", kind: "ConfigMap", shared: true, body: func(g *sessionMaker) map[string]any {
		obj := map[string]any{"data": map[string]any{g.pick("k", "l"): g.pick("1", "2", "")}}
		if g.chance(5) {
			obj["immutable"] = true
		}
		return obj
	}},
	{root: "/api/v1", resource: "pods", kind: "Pod", doors: []string{"status"}, body: func(g *sessionMaker) map[string]any {
		spec := podSpec(g)
		if g.chance(40) {
			spec["nodeName"] = "n"
		}
		return map[string]any{"spec": spec}
	}, status: func(g *sessionMaker) map[string]any {
		return map[string]any{"phase": g.pick("Running", "Succeeded", "Failed"), "message": g.pick("m", "n")}
	}},
	{root: "/api/v1", resource: "endpoints", kind: "Endpoints", body: func(g *sessionMaker) map[string]any {
		return map[string]any{"subsets": []any{map[string]any{
			"addresses": []any{map[string]any{"ip": g.pick("10.1.1.1", "10.1.1.2")}}, "ports": []any{map[string]any{"port": 1 + g.rnd.IntN(3)}},
		}}}
	}},
	{root: "/api/v1", resource: "replicationcontrollers", kind: "ReplicationController", doors: []string{"status", "scale"}, body: func(g *sessionMaker) map[string]any {
		return map[string]any{"spec": map[string]any{"replicas": g.rnd.IntN(3), "selector": map[string]any{"app": "x"}, "template": template(g)}}
	}, status: replicaStatus},
	{root: "/apis/apps/v1", resource: "deployments", kind: "Deployment", doors: []string{"status", "scale"}, body: func(g *sessionMaker) map[string]any {
		return map[string]any{"spec": map[string]any{"replicas": g.rnd.IntN(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "x"}}, "template": template(g)}}
	}, status: replicaStatus},
	{root: "/apis/batch/v1", resource: "jobs", kind: "Job", doors: []string{"status"}, body: func(g *sessionMaker) map[string]any {
		spec := podSpec(g)
		spec["restartPolicy"] = "Never"
		return map[string]any{"spec": map[string]any{"suspend": g.chance(50), "template": map[string]any{"spec": spec}}}
	}, status: func(g *sessionMaker) map[string]any { return map[string]any{"active": g.rnd.IntN(2)} }},
	{root: "/apis/coordination.k8s.io/v1", resource: "leases", kind: "Lease", shared: true, body: func(g *sessionMaker) map[string]any {
		return map[string]any{"spec": map[string]any{"holderIdentity": g.pick("x", "y"), "leaseDurationSeconds": 10 + g.rnd.IntN(2)}}
	}},
	{root: "/apis/node.k8s.io/v1", resource: "runtimeclasses", kind: "RuntimeClass", cluster: true, body: func(g *sessionMaker) map[string]any {
		return map[string]any{"handler": "h"}
	}},
	{root: "/apis/session.example.com/v1", resource: "widgets", kind: "Widget", doors: []string{"status", "scale"}, body: widget, status: replicaStatus},
	{root: "/apis/session.example.com/v1beta1", resource: "widgets", kind: "Widget", doors: []string{"status", "scale"}, body: widget, status: replicaStatus},
	{root: "/apis/session.example.com/v1", resource: "gadgets", kind: "Gadget", cluster: true, body: func(g *sessionMaker) map[string]any {
		return map[string]any{"anything": g.pick("x", "y")}
	}},
}

// playedKinds are the kinds of the objects in random and in stored sessions.
var playedKinds = append(slices.Clone(sessionKinds), &sessionKind{root: "/apis/session.example.com/v1", resource: "frames", kind: "Frame"})

func replicaStatus(g *sessionMaker) map[string]any { return map[string]any{"replicas": g.rnd.IntN(3)} }

func widget(g *sessionMaker) map[string]any {
	obj := map[string]any{"spec": map[string]any{"note": g.pick("x", "y", "too long a note")}}
	if g.chance(50) {
		obj["spec"].(map[string]any)["replicas"] = g.rnd.IntN(3)
	}
	if g.chance(30) {
		obj["spec"].(map[string]any)["parts"] = []any{map[string]any{"name": g.pick("p", "q"), "size": g.rnd.IntN(5)}}
	}
	if g.chance(10) {
		obj["unknown"] = "x"
	}
	return obj
}

// sessionMaker makes the steps of a session.
type sessionMaker struct {
	rnd     *rand.Rand
	kinds   []*sessionKind
	steps   []step
	made    int // the last number that was given to a name or watch
	watches []openWatch
}

// openWatch is a watch that a later step ends.
type openWatch struct {
	number    int
	kind      *sessionKind
	namespace string
}

func (g *sessionMaker) chance(percent int) bool    { return g.rnd.IntN(100) < percent }
func (g *sessionMaker) pick(list ...string) string { return list[g.rnd.IntN(len(list))] }
func (g *sessionMaker) number() int                { g.made++; return g.made }
func (g *sessionMaker) oneOf(kinds ...func())      { kinds[g.rnd.IntN(len(kinds))]() }
func (g *sessionMaker) accept() string             { return g.pick(sessionForms...) }
func (g *sessionMaker) namespace() string          { return g.pick(sessionNamespaces...) }
func (g *sessionMaker) name() string               { return g.pick(sessionNames...) }

// add adds a step, without the empty parts of its query.
func (g *sessionMaker) add(st step) {
	maps.DeleteFunc(st.Query, func(_, value string) bool { return value == "" })
	g.steps = append(g.steps, st)
}

// some picks one of list in n of a hundred cases, and "" otherwise.
func (g *sessionMaker) some(n int, list ...string) string {
	if g.chance(n) {
		return g.pick(list...)
	}
	return ""
}

// sessionForms are the media types of answers. JSON, which most clients use, is the most frequent.
var sessionForms = []string{"application/json", "application/json", "application/json", "application/json", "", "*/*", "application/yaml", tableForm,
	"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", "text/plain",
	"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"}

// makeSession makes a session of about n steps.
func makeSession(rnd *rand.Rand, n int) []step {
	g := &sessionMaker{rnd: rnd}
	for range 2 + rnd.IntN(3) {
		g.kinds = append(g.kinds, sessionKinds[rnd.IntN(len(sessionKinds))])
	}
	namespaces := g.chance(15) // the session deletes namespaces, too
	for len(g.steps) < n {
		k := g.kinds[rnd.IntN(len(g.kinds))]
		switch p := rnd.IntN(100); {
		case p < 18:
			g.create(k)
		case p < 32:
			g.put(k)
		case p < 48:
			g.patch(k)
		case p < 54:
			g.get(k)
		case p < 69:
			g.list(k)
		case p < 81:
			g.delete(k)
		case p < 85:
			g.deleteCollection(k)
		case p < 92:
			g.watch(k)
		case p < 97 && len(g.watches) > 0:
			g.read()
		case namespaces:
			g.writeNamespace()
		}
	}
	for len(g.watches) > 0 {
		g.read()
	}
	return g.steps
}

// key names an object of a kind in references.
func key(k *sessionKind, namespace, name string) string {
	if k.cluster {
		namespace = ""
	}
	return k.kind + "/" + namespace + "/" + name
}

// object makes up an object to write.
func (g *sessionMaker) object(k *sessionKind, namespace, name string) map[string]any {
	meta := map[string]any{"name": name}
	if g.chance(60) {
		meta["labels"] = map[string]any{"l": g.name()}
	}
	if g.chance(25) {
		meta["annotations"] = map[string]any{"n": g.pick("1", "2")}
	}
	if g.chance(12) {
		meta["finalizers"] = []any{g.pick("example.com/f", "foregroundDeletion", "orphan")}
	}
	if g.chance(20) {
		owner := g.kinds[g.rnd.IntN(len(g.kinds))]
		of := g.name()
		ref := map[string]any{"apiVersion": owner.apiVersion(), "kind": owner.kind, "name": of, "uid": "@{uid " + key(owner, namespace, of) + " 0}"}
		if g.chance(50) {
			ref["controller"] = g.chance(80)
		}
		if g.chance(50) {
			ref["blockOwnerDeletion"] = g.chance(80)
		}
		meta["ownerReferences"] = []any{ref}
	}
	obj := map[string]any{"apiVersion": k.apiVersion(), "kind": k.kind, "metadata": meta}
	for name, v := range k.body(g) {
		obj[name] = v
	}
	return obj
}

// writeOptions makes up the options of a write.
func (g *sessionMaker) writeOptions() map[string]string {
	return map[string]string{
		"dryRun": g.some(8, "All", "All", "x"), "fieldManager": g.some(20, "me", "you"),
		"fieldValidation": g.some(25, "Strict", "Warn", "Ignore"),
	}
}

func (g *sessionMaker) create(k *sessionKind) {
	namespace, name := g.namespace(), g.name()
	obj := g.object(k, namespace, name)
	if meta := obj["metadata"].(map[string]any); g.chance(8) {
		delete(meta, "name")
		meta["generateName"] = fmt.Sprintf("generated-%d-", 100+g.number())
	} else if g.chance(3) {
		meta["resourceVersion"] = "5"
	}
	g.add(step{Method: "POST", Path: k.collection(namespace), Query: g.writeOptions(), Form: "application/json", Accept: g.accept(), Body: obj})
}

// identify adds preconditions to the metadata of a write: a resourceVersion, a uid.
func (g *sessionMaker) identify(meta map[string]any, at string) {
	if v := g.pick("", "", "@{rv "+at+" 0}", "@{rv "+at+" 0}", "@{rv "+at+" 0}", "@{rv "+at+" 1}", "@{rv "+at+" 3}", "0", "x"); v != "" {
		meta["resourceVersion"] = v
	}
	if g.chance(15) {
		meta["uid"] = g.pick("@{uid "+at+" 0}", "@{uid "+at+" 0}", "@{uid "+at+" 1}", "x")
	}
}

func (g *sessionMaker) put(k *sessionKind) {
	namespace, name, door := g.namespace(), g.name(), ""
	at := key(k, namespace, name)
	obj := g.object(k, namespace, name)
	if len(k.doors) > 0 && g.chance(40) {
		door = "/" + k.doors[g.rnd.IntN(len(k.doors))]
		if door == "/status" {
			obj["status"] = k.status(g)
		} else {
			obj = map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": name, "namespace": namespace},
				"spec": map[string]any{"replicas": g.rnd.IntN(4)}}
		}
	}
	g.identify(obj["metadata"].(map[string]any), at)
	g.add(step{Method: "PUT", Path: k.collection(namespace) + "/" + name + door, Query: g.writeOptions(), Form: "application/json", Accept: g.accept(), Body: obj})
}

func (g *sessionMaker) patch(k *sessionKind) {
	namespace, name, door := g.namespace(), g.name(), ""
	at := key(k, namespace, name)
	if len(k.doors) > 0 && g.chance(25) {
		door = "/" + k.doors[g.rnd.IntN(len(k.doors))]
	}
	st := step{Method: "PATCH", Path: k.collection(namespace) + "/" + name + door, Query: g.writeOptions(), Accept: g.accept(),
		Form: g.pick(jsonForm, mergeForm, strategicForm, applyForm, applyForm)}
	meta := map[string]any{}
	if g.chance(25) {
		g.identify(meta, at)
	}
	switch st.Form {
	case applyForm:
		obj := g.object(k, namespace, name)
		for field, v := range meta {
			obj["metadata"].(map[string]any)[field] = v
		}
		if door == "/status" {
			obj["status"] = k.status(g)
		}
		st.Body, st.Query["fieldManager"], st.Query["force"] = obj, g.pick("me", "you", ""), g.some(40, "true", "false")
	case jsonForm:
		var ops []any
		for range 1 + g.rnd.IntN(2) {
			op := map[string]any{"op": g.pick("add", "replace", "remove", "test"), "path": g.pick("/metadata/labels", "/metadata/labels/l", "/metadata/annotations", "/metadata/finalizers", "/data/k", "/spec/replicas", "/metadata/resourceVersion")}
			if op["op"] != "remove" {
				op["value"] = g.valueAt(op["path"].(string), at)
			}
			ops = append(ops, op)
		}
		st.Body = ops
	default:
		g.oneOf(
			func() { meta["labels"] = map[string]any{"l": g.pick("a", "b", "c")} },
			func() { meta["labels"] = nil },
			func() { meta["annotations"] = map[string]any{"n": g.pick("1", "2"), "m": nil} },
			func() { meta["finalizers"] = nil },
			func() { meta["finalizers"] = []any{"example.com/f"} },
			func() { meta["ownerReferences"] = nil },
			func() { meta["name"] = g.name() },
			func() { meta["deletionTimestamp"] = "2020-01-01T00:00:00Z" },
			func() {},
		)
		body := map[string]any{"metadata": meta}
		if g.chance(50) {
			for name, v := range k.body(g) {
				body[name] = v
			}
		}
		if door == "/status" {
			body["status"] = k.status(g)
		}
		st.Body = body
	}
	g.add(st)
}

func (g *sessionMaker) valueAt(path, at string) any {
	switch path {
	case "/metadata/labels", "/metadata/annotations":
		return map[string]any{"l": g.name()}
	case "/metadata/finalizers":
		return []any{"example.com/f"}
	case "/spec/replicas":
		return g.rnd.IntN(3)
	case "/metadata/resourceVersion":
		return g.pick("@{rv "+at+" 0}", "@{rv "+at+" 1}")
	}
	return g.name()
}

// revision picks a resourceVersion for a read.
func (g *sessionMaker) revision() string {
	return g.pick("0", "0", "@{rev 0}", "@{rev 0}", "@{rev 1}", "@{rev 3}", "@{rev 8}", "x")
}

func (g *sessionMaker) get(k *sessionKind) {
	path := k.collection(g.namespace()) + "/" + g.name()
	if len(k.doors) > 0 && g.chance(20) {
		path += "/" + k.doors[g.rnd.IntN(len(k.doors))]
	}
	g.add(step{Method: "GET", Path: path, Query: map[string]string{"resourceVersion": g.some(25, g.revision()), "includeObject": g.some(10, "None", "Object", "x")}, Accept: g.accept()})
}

// selectors adds selectors to a list, watch or deletion.
func (g *sessionMaker) selectors(query map[string]string) {
	query["labelSelector"] = g.some(30, "l=a", "l!=b", "l in (a,c)", "!l", "l", "l=b", "l==", "=")
	query["fieldSelector"] = g.some(15, "metadata.name=a", "metadata.name!=b", "metadata.namespace=one", "spec.none=x", "metadata.name")
}

// scope picks a namespace, or "" for all.
func (g *sessionMaker) scope(k *sessionKind) string {
	if !k.shared && g.chance(25) {
		return ""
	}
	return g.namespace()
}

func (g *sessionMaker) list(k *sessionKind) {
	path := k.collection(g.scope(k))
	query := map[string]string{"limit": g.some(50, "1", "1", "2", "3", "500", "-1", "x"), "includeObject": g.some(10, "None", "Metadata", "Object")}
	g.selectors(query)
	if g.chance(40) {
		query["resourceVersion"] = g.revision()
		query["resourceVersionMatch"] = g.some(60, "Exact", "NotOlderThan", "x")
	} else {
		query["resourceVersionMatch"] = g.some(3, "Exact", "NotOlderThan")
	}
	if query["resourceVersion"] == "0" {
		delete(query, "limit") // kube-apiserver then ignores the limit
	}
	accept := g.accept()
	g.add(step{Method: "GET", Path: path, Query: query, Accept: accept})
	for query["limit"] != "" && g.chance(60) {
		more := map[string]string{"limit": query["limit"], "labelSelector": query["labelSelector"], "fieldSelector": query["fieldSelector"],
			"continue": "@{continue " + path + "}", "resourceVersion": g.some(5, "@{rev 0}"), "resourceVersionMatch": g.some(3, "Exact", "NotOlderThan")}
		if g.chance(3) {
			more["continue"] = "x"
		}
		if g.chance(30) {
			g.patch(k)
		}
		g.add(step{Method: "GET", Path: path, Query: more, Accept: accept})
	}
}

// deleteOptions makes up the options of a deletion. at is the object; it is empty for a collection.
func (g *sessionMaker) deleteOptions(at string) map[string]any {
	options := map[string]any{}
	if g.chance(40) {
		options["propagationPolicy"] = g.pick("Background", "Foreground", "Orphan", "Foreground", "x")
	}
	if g.chance(5) {
		options["orphanDependents"] = g.chance(50)
	}
	if g.chance(20) {
		options["gracePeriodSeconds"] = g.rnd.IntN(3) * 10
	} else if g.chance(2) {
		options["gracePeriodSeconds"] = -1
	}
	if g.chance(8) {
		options["dryRun"] = []any{g.pick("All", "All", "x")}
	}
	if at != "" && g.chance(20) {
		pre := map[string]any{}
		if g.chance(60) {
			pre["uid"] = g.pick("@{uid "+at+" 0}", "@{uid "+at+" 0}", "@{uid "+at+" 1}", "x")
		}
		if g.chance(50) {
			pre["resourceVersion"] = g.pick("@{rv "+at+" 0}", "@{rv "+at+" 0}", "@{rv "+at+" 1}", "x")
		}
		options["preconditions"] = pre
	}
	return options
}

func (g *sessionMaker) delete(k *sessionKind) {
	namespace, name := g.namespace(), g.name()
	options := g.deleteOptions(key(k, namespace, name))
	st := step{Method: "DELETE", Path: k.collection(namespace) + "/" + name, Accept: g.accept()}
	switch {
	case len(options) > 0 && g.chance(75):
		if g.chance(50) {
			options["apiVersion"], options["kind"] = g.pick("v1", "meta.k8s.io/v1", k.apiVersion()), "DeleteOptions"
		}
		st.Body, st.Form = options, "application/json"
	case len(options) > 0:
		st.Query = map[string]string{}
		for _, name := range []string{"propagationPolicy", "orphanDependents", "gracePeriodSeconds"} {
			if v := options[name]; v != nil {
				st.Query[name] = fmt.Sprint(v)
			}
		}
	}
	g.add(st)
}

func (g *sessionMaker) deleteCollection(k *sessionKind) {
	st := step{Method: "DELETE", Path: k.collection(g.namespace()), Accept: g.accept(), Query: map[string]string{"limit": g.some(10, "1")}}
	g.selectors(st.Query)
	if options := g.deleteOptions(""); len(options) > 0 {
		st.Body, st.Form = options, "application/json"
	}
	g.add(st)
}

// watch opens a watch that selects the object that ends it, which has the label l=a.
func (g *sessionMaker) watch(k *sessionKind) {
	w := openWatch{g.number(), k, g.scope(k)}
	st := step{Method: "GET", Path: k.collection(w.namespace), Watch: w.number, Accept: g.pick("application/json", "application/json", "application/json", tableForm),
		Query: map[string]string{"watch": g.pick("1", "true"), "allowWatchBookmarks": g.some(50, "true"), "resourceVersion": g.some(80, g.revision()),
			"labelSelector": g.some(30, "l=a", "l!=b", "l in (a,c)", "l"), "fieldSelector": g.some(10, "metadata.name!=b")}}
	if g.chance(25) {
		st.Query["sendInitialEvents"] = g.pick("true", "true", "true", "false")
		st.Query["resourceVersionMatch"] = g.pick("NotOlderThan", "NotOlderThan", "NotOlderThan", "")
	}
	g.watches = append(g.watches, w)
	g.add(st)
}

// read ends one of the watches.
func (g *sessionMaker) read() {
	i := g.rnd.IntN(len(g.watches))
	w := g.watches[i]
	g.watches = append(g.watches[:i], g.watches[i+1:]...)
	namespace := w.namespace
	if namespace == "" {
		namespace = sessionNamespaces[0]
	}
	obj := map[string]any{"apiVersion": w.kind.apiVersion(), "kind": w.kind.kind, "metadata": map[string]any{
		"name": "mark", "labels": map[string]any{"l": "a"}, "annotations": map[string]any{"mark": markOf(w.number)},
	}}
	for name, v := range w.kind.body(&sessionMaker{rnd: rand.New(rand.NewPCG(1, 1))}) {
		obj[name] = v
	}
	g.add(step{Method: "PATCH", Path: w.kind.collection(namespace) + "/mark", Form: applyForm, Accept: "application/json", Body: obj, Read: w.number,
		Query: map[string]string{"fieldManager": "mark", "force": "true"}})
}

// markOf is the text by which the last event of a watch is recognized.
func markOf(watch int) string { return fmt.Sprintf("mark-%d-end", watch) }

// writeNamespace creates, deletes and empties the namespace "two".
func (g *sessionMaker) writeNamespace() {
	const namespaces = "/api/v1/namespaces"
	g.oneOf(
		func() {
			g.add(step{Method: "POST", Path: namespaces, Form: "application/json", Body: map[string]any{"metadata": map[string]any{"name": "two"}}})
		},
		func() {
			st := step{Method: "DELETE", Path: namespaces + "/two"}
			if options := g.deleteOptions("Namespace//two"); len(options) > 0 {
				st.Body, st.Form = options, "application/json"
			}
			g.add(st)
		},
		func() {
			g.add(step{Method: "PUT", Path: namespaces + "/two/finalize", Form: "application/json",
				Body: map[string]any{"metadata": map[string]any{"name": "two"}, "spec": map[string]any{"finalizers": []any{}}}})
		},
		func() {
			g.add(step{Method: "GET", Path: namespaces, Query: map[string]string{"fieldSelector": "metadata.name=two"}, Accept: g.accept()})
		},
		func() {
			g.add(step{Method: "PATCH", Path: namespaces + "/two" + g.pick("", "/status"), Form: mergeForm,
				Body: map[string]any{"metadata": map[string]any{"labels": map[string]any{"l": g.name()}}}})
		},
	)
}
