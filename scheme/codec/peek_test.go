package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestPeek(t *testing.T) {
	p := NewPeeker("metadata.name", "spec.nodeName", "status.phase", "type", "involvedObject.name", "spec.unschedulable", "spec.replicas", "metadata.labels.app")
	data := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u-1","generation":7,` +
		`"creationTimestamp":"2020-01-01T00:00:00Z","deletionTimestamp":"2020-01-01T00:00:00Z","labels":{"app":"x","b":"é\u0041"}},` +
		`"spec":{"nodeName":"n1","containers":[{"name":"no"}],"unschedulable":true,"replicas":3},"status":{"phase":"Running"},"type":null,"involvedObject":5}`
	var got Peek
	if err := p.Peek([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	want := Peek{
		Kind: "Pod", APIVersion: "v1", Name: "a", Namespace: "ns", UID: "u-1", Generation: 7, Deleting: true,
		Head:     len(`{"kind":"Pod","apiVersion":"v1",`),
		Splice:   strings.Index(data, `"generation"`),
		Metadata: Span{strings.Index(data, `{"name":"a"`), strings.Index(data, `,"spec"`)},
		Labels:   []Label{{"app", "x"}, {"b", "éA"}},
		Fields:   []string{"a", "n1", "Running", "", "", "true", "3", "x"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Peek:\n got %+v\nwant %+v", got, want)
	}
	if err := p.Peek([]byte(`{}`), &got); err != nil || got.Head != 1 || got.Splice != 0 || got.Name != "" || len(got.Labels) != 0 || got.Fields[0] != "" {
		t.Errorf("Peek({}) into a used Peek: %v, %+v", err, got)
	}
	for _, bad := range []string{``, `[]`, `null`, `{`, `{"a":}`, `{"metadata":{"name"}}`, `{} x`, `{"metadata":{"generation":}}`} {
		if err := p.Peek([]byte(bad), &got); err == nil {
			t.Errorf("Peek(%s): got no error", bad)
		}
	}
}

func TestSplice(t *testing.T) {
	for _, tt := range []struct{ meta, want string }{
		{`{"name":"a","namespace":"b","uid":"u","creationTimestamp":"t","labels":{}}`,
			`{"name":"a","namespace":"b","uid":"u","resourceVersion":"5","creationTimestamp":"t","labels":{}}`},
		{`{"name":"a"}`, `{"resourceVersion":"5","name":"a"}`},
		{`{"name":"a","uid":"u"}`, `{"name":"a","resourceVersion":"5","uid":"u"}`},
		{`{"generateName":"a-","uid":"u","generation":1}`, `{"generateName":"a-","uid":"u","resourceVersion":"5","generation":1}`},
		{`{"annotations":{},"creationTimestamp":"t","name":"a","namespace":"n","uid":"u"}`,
			`{"annotations":{},"creationTimestamp":"t","name":"a","namespace":"n","resourceVersion":"5","uid":"u"}`},
		{`{"name":"a","labels":{},"uid":"u","x":1}`, `{"name":"a","labels":{},"uid":"u","resourceVersion":"5","x":1}`},
		{` { "name" : "a" , "x" : 1 } `, ` { "name" : "a" , "resourceVersion":"5","x" : 1 } `},
	} {
		data := `{"kind":"A","apiVersion":"v1","metadata":` + tt.meta + `,"spec":{"metadata":{"name":"z"}}}`
		var p Peek
		if err := NewPeeker().Peek([]byte(data), &p); err != nil {
			t.Fatalf("Peek(%s): %v", data, err)
		}
		got := spliceVersion(nil, []byte(data), p.Splice, "5")
		if want := strings.Replace(data, tt.meta, tt.want, 1); string(got) != want {
			t.Errorf("spliceVersion(%s):\n got %s\nwant %s", data, got, want)
		}
		back, err := stripVersion(nil, got)
		if err != nil || string(back) != data {
			t.Errorf("stripVersion(%s): %v\n got %s\nwant %s", got, err, back, data)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{`{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{}}`},
		{`{"metadata":{"name":"a","resourceVersion":"1"}}`, `{"metadata":{"name":"a"}}`},
		{`{"metadata":{"name":"a" , "resourceVersion":"1" }}`, `{"metadata":{"name":"a" }}`},
		{`{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a"}}`},
	} {
		if got, err := stripVersion(nil, []byte(tt.in)); err != nil || string(got) != tt.want {
			t.Errorf("stripVersion(%s): got %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

// FuzzPeek compares Peek with decoding everything.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"1","labels":{"a":"b"}},"spec":{"nodeName":"n"}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"1","generation":-5},"spec":{"nodeName":{"a":[]}}}`))
	f.Add([]byte(`{"metadata":{"a":1,"name":"x","deletionTimestamp":null},"spec":{"nodeName":1.5e3}}`))
	p := NewPeeker("spec.nodeName", "metadata.name", "kind", "spec")
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Peek
		if err := p.Peek(data, &got); err != nil {
			if v, _, err := DecodeTree(data, false, nil); err == nil {
				if _, isMap := v.(map[string]any); isMap {
					t.Fatalf("Peek(%q) refused an object", data)
				}
			}
			return
		}
		v, dups, err := DecodeTree(data, true, nil)
		if err != nil && json.Valid(data) {
			return // a number out of range
		}
		if err != nil {
			t.Fatalf("Peek(%q) accepted: %v", data, err)
		}
		if len(dups) > 0 {
			return
		}
		root := v.(map[string]any)
		m, _ := root["metadata"].(map[string]any)
		spec, _ := root["spec"].(map[string]any)
		checkPeek(t, data, "kind", got.Kind, root["kind"])
		checkPeek(t, data, "name", got.Name, m["name"])
		checkPeek(t, data, "uid", got.UID, m["uid"])
		checkPeek(t, data, "resourceVersion", got.ResourceVersion, m["resourceVersion"])
		checkPeek(t, data, "field metadata.name", got.Fields[1], m["name"])
		if s, ok := spec["nodeName"].(string); ok && s != got.Fields[0] {
			t.Fatalf("Peek(%q): nodeName %q, want %q", data, got.Fields[0], s)
		}
		if labels, _ := m["labels"].(map[string]any); len(labels) != len(got.Labels) {
			t.Fatalf("Peek(%q): %d labels, want %d", data, len(got.Labels), len(labels))
		}
		stripped, err := stripVersion(nil, data)
		if err != nil || !json.Valid(stripped) {
			t.Fatalf("stripVersion(%q): %q, %v", data, stripped, err)
		}
		if got.Splice == 0 || got.ResourceVersion != "" {
			return
		}
		if spliced := spliceVersion(nil, data, got.Splice, "77"); !json.Valid(spliced) || p.Peek(spliced, &got) != nil {
			t.Fatalf("spliceVersion(%q): %q", data, spliced)
		}
	})
}

// checkPeek compares a field with the value in a tree. Values that are not strings may be spelled
// as in the data.
func checkPeek(t *testing.T, data []byte, what, got string, want any) {
	t.Helper()
	if s, ok := want.(string); ok && s != got || !ok && strings.HasPrefix(what, "field ") == false && got != "" {
		t.Fatalf("Peek(%q): %s is %q, want %v", data, what, got, want)
	}
}

func TestPeekAllocates(t *testing.T) {
	p := NewPeeker("spec.nodeName", "status.phase")
	data := benchPod(t)
	out := Peek{Labels: make([]Label, 0, 8), Fields: make([]string, 0, 2)}
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Peek(data, &out); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("Peek: got %v allocs, want 0", n)
	}
}

// benchPod returns a pod as JSON, about 3 kB.
func benchPod(t testing.TB) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"default","uid":"5f0c1bd2-3a6c-4f5e-9d3f-0f3f3e1a2b3c","resourceVersion":"123456","generation":1,"labels":{"app":"web","tier":"front","pod-template-hash":"abc"},"annotations":{"a/b":"c","note":"some longer text that has a few words in it"}},"spec":{"volumes":[{"name":"data","emptyDir":{}},{"name":"cfg","configMap":{"name":"cfg","defaultMode":420}}],"containers":[`)
	for i := range 3 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"c%d","image":"registry.example.com/team/app:v1.2.%d","command":["/bin/app","--flag=value"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"A","value":"1"},{"name":"B","value":"two"},{"name":"C","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],"volumeMounts":[{"name":"data","mountPath":"/data"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{"runAsUser":%s,"allowPrivilegeEscalation":false}}`, i, i, strconv.Itoa(1000+i))
	}
	b.WriteString(`],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"node-1","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","hostIP":"10.0.0.1","podIP":"10.1.0.7","qosClass":"BestEffort"}}`)
	return []byte(b.String())
}

func BenchmarkPeek(b *testing.B) {
	p := NewPeeker("spec.nodeName", "status.phase", "metadata.name", "metadata.namespace")
	data := benchPod(b)
	var out Peek
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := p.Peek(data, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// stripVersion appends data without its metadata.resourceVersion to dst.
func stripVersion(dst, data []byte) ([]byte, error) {
	var out Peek
	if err := plainPeeker.Peek(data, &out); err != nil {
		return dst, err
	}
	dst = append(dst, data[:out.Version.Start]...)
	return append(dst, data[out.Version.End:]...), nil
}

// spliceVersion appends data with resourceVersion inserted at splice (see Peek.Splice) to dst.
func spliceVersion(dst, data []byte, splice int, resourceVersion string) []byte {
	dst = append(dst, data[:splice]...)
	dst = append(dst, `"resourceVersion":"`...)
	dst = append(dst, resourceVersion...)
	dst = append(dst, `",`...)
	return append(dst, data[splice:]...)
}
