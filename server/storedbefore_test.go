package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// storedObject is an object as an older server has stored it, and what the server is expected to
// show.
type storedObject struct {
	apiVersion, kind, plural string
	key                      string // the key without the common prefix and the name
	cluster                  bool   // the object is cluster-scoped
	rest                     string // further fields of the object
	shows                    []string
	hides                    string // must not be shown; may be ""
	selects                  string // a field selector that selects the object by a default that it lacks; may be ""
}

// storedBefore has objects as older servers have stored them. They lack defaults that were added
// later, and values that a server computes when it reads them.
var storedBefore = []storedObject{
	{
		apiVersion: "batch/v1", kind: "Job", plural: "jobs", key: "jobs/ns/",
		rest: `"spec":{"parallelism":1,"completions":1,"backoffLimit":6,"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},"template":{
			"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}},"status":{}`,
		shows: []string{`"completionMode":"NonIndexed"`, `"suspend":false`, `"podReplacementPolicy":"TerminatingOrFailed"`},
	}, {
		apiVersion: "v1", kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims", key: "persistentvolumeclaims/ns/",
		rest: `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},
			"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"s"}}`,
		shows: []string{`"volumeMode":"Filesystem"`, `"phase":"Pending"`,
			`"dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"s"}`},
	}, {
		apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", key: "statefulsets/ns/",
		rest: `"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
			"spec":{"containers":[{"name":"c","image":"i:1"}]}},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{
			"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]},"status":{"replicas":0}`,
		shows: []string{`"volumeMode":"Filesystem"`, `"podManagementPolicy":"OrderedReady"`},
	}, {
		apiVersion: "v1", kind: "Pod", plural: "pods", key: "pods/ns/",
		rest:    `"spec":{"containers":[{"name":"c","image":"i:1"}]}`,
		shows:   []string{`"enableServiceLinks":true`, `"schedulerName":"default-scheduler"`},
		selects: "spec.schedulerName=default-scheduler,spec.restartPolicy=Always",
	}, {
		apiVersion: "v1", kind: "Service", plural: "services", key: "services/specs/ns/",
		rest: `"spec":{"ports":[{"port":80,"targetPort":80,"protocol":"TCP"}],"clusterIP":"10.0.0.9","selector":{"a":"b"}}`,
		shows: []string{`"internalTrafficPolicy":"Cluster"`, `"clusterIPs":["10.0.0.9"]`, `"ipFamilies":["IPv4"]`,
			`"ipFamilyPolicy":"SingleStack"`},
		selects: "spec.type=ClusterIP",
	}, {
		apiVersion: "v1", kind: "Service", plural: "services", key: "services/specs/ns/",
		rest:  `"spec":{"ports":[{"port":80}],"clusterIP":"None","type":"ClusterIP"}`,
		shows: []string{`"clusterIPs":["None"]`, `"ipFamilies":["IPv4","IPv6"]`, `"ipFamilyPolicy":"RequireDualStack"`},
	}, {
		apiVersion: "v1", kind: "Service", plural: "services", key: "services/specs/ns/",
		rest:  `"spec":{"type":"ExternalName","externalName":"x.example.com","internalTrafficPolicy":"Cluster"}`,
		shows: []string{`"sessionAffinity":"None"`}, hides: "internalTrafficPolicy",
	}, {
		apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations",
		key: "validatingwebhookconfigurations/", cluster: true,
		rest: `"webhooks":[{"name":"a.example.com","clientConfig":{"url":"https://127.0.0.1:1/x"},"sideEffects":"None","admissionReviewVersions":["v1"],
			"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["x"]}]}]`,
		shows: []string{`"failurePolicy":"Fail"`, `"matchPolicy":"Equivalent"`, `"timeoutSeconds":10`, `"scope":"*"`},
	},
}

// path returns the path of the collection.
func (o *storedObject) path() string {
	base := "/apis/" + o.apiVersion
	if o.apiVersion == "v1" {
		base = "/api/v1"
	}
	if o.cluster {
		return base + "/" + o.plural
	}
	return base + "/namespaces/ns/" + o.plural
}

// entry returns the stored object under a name. The object with the name "gone" is being deleted.
func (o *storedObject) entry(name string, rev storage.Revision) storage.Entry {
	more := ""
	if !o.cluster {
		more = `,"namespace":"ns"`
	}
	if name == "gone" {
		more += `,"deletionTimestamp":"2020-01-01T00:00:01Z","deletionGracePeriodSeconds":0`
	}
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"uid":"u-%s","generation":1,"creationTimestamp":"2020-01-01T00:00:00Z",`+
		`"finalizers":["example.com/held"]%s},%s}`, o.apiVersion, o.kind, name, name, more, o.rest)
	return storage.Entry{Key: "/registry/" + o.key + name, Value: []byte(text), Rev: rev}
}

// whole requires that a text has the values that the stored object lacks.
func (o *storedObject) whole(t *testing.T, what, text string) {
	t.Helper()
	for _, want := range o.shows {
		if !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want %s", what, text, want)
		}
	}
	if o.hides != "" && strings.Contains(text, o.hides) {
		t.Errorf("%s: got %s, want no %s", what, text, o.hides)
	}
}

// storedKit is a server with objects of one kind that an older server has stored.
type storedKit struct {
	*inProcess
	*storedObject
	t     *testing.T
	store storage.Store
}

func newStoredKit(t *testing.T, o *storedObject) *storedKit {
	var entries []storage.Entry
	for i, name := range []string{"put", "label", "apply", "gone"} {
		entries = append(entries, o.entry(name, storage.Revision(i+2)))
	}
	store := memory.New(memory.Config{Rev: 9, Entries: entries})
	p := newInProcess(t, func(c *server.Config) { c.Storage = server.StorageConfig{Store: store} })
	return &storedKit{p, o, t, store}
}

// must sends a request that must succeed, and returns the answer.
func (k *storedKit) must(method, target, body string, header ...string) string {
	k.t.Helper()
	code, answer := k.do(method, target, body, header...)
	if code != 200 {
		k.t.Errorf("%s %s: got %d %s", method, target, code, answer)
	}
	return answer
}

// stored returns the value that the store has under a name. untouched requires that it is the
// original one.
func (k *storedKit) stored(name string) string {
	k.t.Helper()
	e, err := k.store.Get(k.t.Context(), "/registry/"+k.key+name)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(e.Value)
}

func (k *storedKit) untouched(name, after string) {
	k.t.Helper()
	if got := k.stored(name); got != string(k.entry(name, 0).Value) {
		k.t.Errorf("after %s the store has %s", after, got)
	}
}

// TestStoredBefore reads, selects, patches and updates objects that older servers have stored. All
// readers see them with the current defaults. A read writes nothing. The first write stores the
// whole object, even if it changes nothing else. An object that is being deleted is gone when its
// finalizer is removed.
func TestStoredBefore(t *testing.T) {
	for i := range storedBefore {
		t.Run(fmt.Sprintf("%s %d", storedBefore[i].kind, i), func(t *testing.T) {
			t.Parallel()
			k := newStoredKit(t, &storedBefore[i])
			k.reads()
			k.writes()
		})
	}
}

func (k *storedKit) reads() {
	selector := "fieldSelector=metadata.name%3Dput"
	if k.selects != "" {
		selector += "," + strings.ReplaceAll(k.selects, "=", "%3D")
	}
	path := k.path()
	k.whole(k.t, "get", k.must("GET", path+"/put", ""))
	k.whole(k.t, "list", k.must("GET", path+"?"+selector, ""))
	k.whole(k.t, "table", k.must("GET", path+"?includeObject=Object&"+selector, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"))
	k.whole(k.t, "watch", k.must("GET", path+"?watch=1&timeoutSeconds=1&resourceVersion=0&"+selector, ""))
	k.untouched("put", "reads")
}

func (k *storedKit) writes() {
	path, merge := k.path(), []string{"Content-Type", "application/merge-patch+json"}
	k.whole(k.t, "update", k.must("PUT", path+"/put", k.must("GET", path+"/put", "")))
	k.whole(k.t, "the store after an update", k.stored("put"))
	label := `{"metadata":{"labels":{"a":"b"}}}`
	k.whole(k.t, "dry run", k.must("PATCH", path+"/label?dryRun=All", label, merge...))
	k.untouched("label", "a dry run")
	k.whole(k.t, "label", k.must("PATCH", path+"/label", label, merge...))
	k.whole(k.t, "the store after a label", k.stored("label"))
	config := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"apply","annotations":{"a":"b"}}}`, k.apiVersion, k.kind)
	k.whole(k.t, "apply", k.must("PATCH", path+"/apply?fieldManager=m", config, "Content-Type", "application/apply-patch+yaml"))
	k.must("PATCH", path+"/gone", `{"metadata":{"finalizers":null}}`, merge...)
	if code, body := k.do("GET", path+"/gone", ""); code != 404 {
		k.t.Errorf("without its finalizer: got %d %s", code, body)
	}
}
