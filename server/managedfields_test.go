package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

const (
	ownedPods = "/api/v1/namespaces/owned/pods"
	podKeys   = "/registry/pods/owned/"
	dropping  = ";drop=metadata.managedFields"
)

// storedPod returns a pod as it is stored. If owned, it has the managedFields of a controller and a
// kubelet.
func storedPod(name string, owned bool) string {
	owners := ""
	if owned {
		owners = `,"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2030-05-06T07:08:09Z",` +
			`"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{` +
			`".":{},"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},` +
			`"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{".":{},` +
			`"f:limits":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},` +
			`"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}},` +
			`{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2030-05-06T07:08:10Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{` +
			`"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},` +
			`"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.0.0.1\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},` +
			`"subresource":"status"}]`
	}
	return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"owned","uid":"u-` + name + `","creationTimestamp":"2030-05-06T07:08:09Z",` +
		`"labels":{"app":"bench","tier":"web"}` + owners + `},"spec":{"containers":[{"name":"web","image":"nginx:1.25",` +
		`"ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1","memory":"128Mi"}},` +
		`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always",` +
		`"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler","enableServiceLinks":true},` +
		`"status":{"phase":"Running","hostIP":"192.0.2.1","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"qosClass":"Burstable"}}`
}

// asProtobuf encodes a pod in protobuf.
func asProtobuf(tb testing.TB, pod string) string {
	tb.Helper()
	var p corev1.Pod
	err := json.Unmarshal([]byte(pod), &p)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := codec.AppendProto(nil, &p)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// withPods returns a server and its store, which has pods in the namespace "owned", by name.
func withPods(tb testing.TB, pods map[string]string) (*inProcess, storage.Store) {
	tb.Helper()
	cfg := memory.Config{Rev: 1}
	for name, value := range pods {
		cfg.Rev++
		cfg.Entries = append(cfg.Entries, storage.Entry{Key: podKeys + name, Value: []byte(value), Rev: cfg.Rev})
	}
	store := memory.New(cfg)
	return newInProcess(tb, func(c *server.Config) { c.Storage = server.StorageConfig{Store: store} }), store
}

// disowned removes managedFields from all metadata in a tree of JSON, and reports whether there
// were any.
func disowned(tree any) (found bool) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			found = disowned(e) || found
		}
	case map[string]any:
		for name, e := range v {
			if m, ok := e.(map[string]any); ok && name == "metadata" {
				found = found || m["managedFields"] != nil
				delete(m, "managedFields")
			}
			found = disowned(e) || found
		}
	}
	return found
}

// wantDropped compares an answer that has managedFields with the same answer without them.
func wantDropped(t *testing.T, what, with, without string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(with), &a); err != nil {
		t.Fatalf("%s: %v in %s", what, err, with)
	}
	if err := json.Unmarshal([]byte(without), &b); err != nil {
		t.Fatalf("%s: %v in %s", what, err, without)
	}
	if !disowned(a) {
		t.Errorf("%s: got %s, want managedFields, because the request does not drop them", what, with)
	}
	if strings.Contains(without, "managedFields") || !reflect.DeepEqual(a, b) {
		t.Errorf("%s without managedFields: got %s, want the same of %s", what, without, with)
	}
}

// TestDropManagedFields reads pods in all stored forms, in turn with managedFields and without
// them.
func TestDropManagedFields(t *testing.T) {
	p, store := withPods(t, map[string]string{
		"json": storedPod("json", true), "json-none": storedPod("json-none", false),
		"proto": asProtobuf(t, storedPod("proto", true)), "proto-none": asProtobuf(t, storedPod("proto-none", false)),
		"byhand": "{ \"metadata\": { \"managedFields\": [ { \"manager\": \"hand\" } ],\n\"name\": \"byhand\", \"namespace\": \"owned\" },\n\"apiVersion\": \"v1\", \"kind\": \"Pod\" }",
	})
	get := func(target, accept string) string {
		code, body := p.do("GET", target, "", "Accept", accept)
		if code != 200 {
			t.Fatalf("GET %s: %d %s", target, code, body)
		}
		return body
	}
	var page struct{ Metadata struct{ Continue string } }
	if err := json.Unmarshal([]byte(get(ownedPods+"?limit=2", "application/json"+dropping)), &page); err != nil || page.Metadata.Continue == "" {
		t.Fatalf("limit=2: got %+v, %v", page, err)
	}
	const asJSON = "application/json"
	partials := strings.Replace(asTable, "Table", "PartialObjectMetadataList", 1)
	for range 2 { // the second time from cached forms
		for _, tt := range []struct{ target, accept string }{
			{ownedPods + "/json", asJSON}, {ownedPods + "/proto", asJSON}, {ownedPods + "/byhand?pretty=true", asJSON},
			{ownedPods, asJSON}, {"/api/v1/pods?labelSelector=app", asJSON}, {ownedPods + "?limit=2", asJSON},
			{ownedPods + "?limit=2&continue=" + page.Metadata.Continue, asJSON}, {ownedPods, partials},
			{ownedPods, asTable}, {ownedPods + "?includeObject=Object", asTable},
		} {
			wantDropped(t, tt.target+" as "+tt.accept, get(tt.target, tt.accept), get(tt.target, tt.accept+dropping))
		}
		var all, some corev1.PodList
		for accept, list := range map[string]*corev1.PodList{asBinary: &all, asBinary + dropping: &some} {
			decoded, err := p.Codecs.Decode(codec.DecodeRequest{Data: []byte(get(ownedPods, accept)), Type: codec.Protobuf})
			if err != nil {
				t.Fatal(err)
			}
			*list = *decoded.Object.(*corev1.PodList)
		}
		for i := range all.Items {
			if m := &all.Items[i].ObjectMeta; (m.ManagedFields == nil) != strings.HasSuffix(m.Name, "-none") {
				t.Errorf("protobuf: got %+v, want managedFields, because the request does not drop them", m)
			} else {
				m.ManagedFields = nil
			}
		}
		if !reflect.DeepEqual(all, some) || len(some.Items) != 5 {
			t.Errorf("protobuf without managedFields: got %+v, want %+v", some, all)
		}
	}
	with, without := p.follow(asJSON), p.follow(asJSON+dropping)
	if _, err := store.Put(t.Context(), podKeys+"json", []byte(strings.Replace(storedPod("json", true), "bench", "changed", 1)), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	wantDropped(t, "watch", with(), without())
}

// follower is the client of a watch. It signals the end of the initial events, and leaves after an
// event that contains "changed".
type follower struct {
	*httptest.ResponseRecorder
	came, leave func()
}

func (f *follower) Write(b []byte) (int, error) {
	if strings.Contains(string(b), meta.InitialEventsAnnotation) {
		f.came()
	}
	if strings.Contains(string(b), "changed") {
		f.leave()
	}
	return f.ResponseRecorder.Write(b)
}

// follow watches pods and waits for the initial events. events waits until the follower has left,
// and returns all events as a JSON array.
func (p *inProcess) follow(accept string) (events func() string) {
	ctx, leave := context.WithCancel(p.TB.Context())
	came, left := make(chan struct{}), make(chan struct{})
	f := &follower{httptest.NewRecorder(), sync.OnceFunc(func() { close(came) }), leave}
	const all = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	go func() {
		defer close(left)
		p.Handler().ServeHTTP(f, p.request("GET", ownedPods+all, nil, "Accept", accept).WithContext(ctx))
	}()
	select {
	case <-came:
	case <-left:
	}
	return func() string {
		<-left
		return "[" + strings.ReplaceAll(strings.TrimSpace(f.Body.String()), "}\n{", "},{") + "]"
	}
}

// BenchmarkDropManagedFields lists 1,000 pods, which have managedFields or not, with the media type
// that drops them and with the plain one.
func BenchmarkDropManagedFields(b *testing.B) {
	for _, owned := range []bool{true, false} {
		pods := map[string]string{}
		for i := range 1000 {
			name := fmt.Sprintf("pod-%04d", i)
			pods[name] = storedPod(name, owned)
		}
		for _, accept := range []string{"application/json", asBinary} {
			for _, drop := range []string{"", dropping} {
				form := strings.TrimPrefix(accept, "application/")
				b.Run(fmt.Sprintf("owned=%t/form=%s/drop=%t", owned, form, drop != ""), func(b *testing.B) {
					p, _ := withPods(b, pods)
					call := newCaller(p, 200, "GET", ownedPods, "Accept", accept+drop, "Accept-Encoding", "identity")
					call.send(b, "") // loads the cache and its forms
					b.ReportAllocs()
					b.SetBytes(int64(call.w.size))
					for b.Loop() {
						call.send(b, "")
					}
				})
			}
		}
	}
}
