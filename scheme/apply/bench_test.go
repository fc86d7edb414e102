package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// kindSchema returns the schema of a kind of the core group.
func kindSchema(tb testing.TB, kind string) *schema.Schema {
	tb.Helper()
	s := scheme.New()
	api.AddToScheme(s)
	typ := s.Type(meta.GroupVersionKind{Version: "v1", Kind: kind})
	if typ == nil {
		tb.Fatalf("no kind %s", kind)
	}
	return schema.FromType(typ)
}

// configMap is the text of a ConfigMap with 20 entries, of which one has the given value.
func configMap(value string) []byte {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"team","labels":{"app":"a"}},"data":{"k00":"` + value + `"`)
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, `,"k%02d":"value %d"`, i, i)
	}
	b.WriteString("}}")
	return []byte(b.String())
}

const podText = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"team","labels":{"app":"web","tier":"front"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"3a3c6c1e-7a4f-4a43-9c53-1c2e7d8a9b10","controller":true,"blockOwnerDeletion":true}]},
"spec":{"containers":[{"name":"web","image":"nginx:1.27","ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":443,"protocol":"TCP"}],
"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":"100m","memory":"1Gi"}},
"volumeMounts":[{"name":"data","mountPath":"/data"}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"},
{"name":"side","image":"side:1","command":["run","it"]}],"volumes":[{"name":"data","emptyDir":{}}],"restartPolicy":"Always","dnsPolicy":"ClusterFirst",
"terminationGracePeriodSeconds":30,"securityContext":{},"tolerations":[{"key":"a","operator":"Exists"}]},
"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"PodScheduled","status":"True"}],"podIPs":[{"ip":"10.0.0.1"}]}}`

func eager(tb testing.TB, text []byte) any {
	tb.Helper()
	tree, err := jsontext.Decode(text, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

func BenchmarkFieldsOf(b *testing.B) {
	for _, of := range []struct {
		kind string
		text []byte
	}{{"Pod", []byte(podText)}, {"ConfigMap", configMap("a")}} {
		s := kindSchema(b, of.kind)
		for _, laziness := range []struct {
			name string
			tree any
		}{{"lazy", jsontext.RawOf(of.text)}, {"eager", eager(b, of.text)}} {
			b.Run(fmt.Sprintf("kind=%s/tree=%s", of.kind, laziness.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if fields, err := FieldsOf(nil, laziness.tree, s); err != nil || fields.Empty() {
						b.Fatal(fields, err)
					}
				}
			})
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	s := kindSchema(b, "ConfigMap")
	from, to := configMap("a"), configMap("b")
	for _, laziness := range []struct {
		name string
		to   any
	}{{"lazy", jsontext.RawOf(to)}, {"eager", eager(b, to)}} {
		b.Run("tree="+laziness.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c, err := Compare(nil, jsontext.RawOf(from), laziness.to, s); err != nil || c.Modified.Empty() {
					b.Fatal(c, err)
				}
			}
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	s := kindSchema(b, "ConfigMap")
	live, config := jsontext.RawOf(configMap("a")), eager(b, configMap("b"))
	b.ReportAllocs()
	for b.Loop() {
		if out, err := Merge(nil, live, config, s); err != nil || out == nil {
			b.Fatal(out, err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s := kindSchema(b, "Pod")
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(nil, jsontext.Raw(podText), s, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFieldsV1(b *testing.B) {
	fields, err := FieldsOf(nil, jsontext.Raw(podText), kindSchema(b, "Pod"))
	if err != nil {
		b.Fatal(err)
	}
	text := fields.AppendFields(nil, nil)
	b.Run("do=parse", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if s, err := ParseFields(nil, text); err != nil || s.Empty() {
				b.Fatal(err)
			}
		}
	})
	b.Run("do=append", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			text = fields.AppendFields(nil, text[:0])
		}
	})
}
