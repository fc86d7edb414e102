package storagetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// testRestartKeepsBytes checks that the store has the exact bytes that were put after a restart. An
// engine may store values in a form of its own, such as YAML files, but must give the bytes back.
// The cache recognises an update that changes nothing by its bytes. Other bytes of the same meaning
// would cause writes, revisions and events.
func testRestartKeepsBytes(t *testing.T, e Engine) {
	if e.Reopen == nil {
		t.Log("nothing survives this engine")
		return
	}
	b := open(t, e)
	values := []string{
		// The forms in which the API stores objects: built-in kinds, custom resources, protobuf,
		// encrypted.
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","uid":"1",` +
			`"creationTimestamp":"2024-01-01T00:00:00Z"},` +
			`"data":{"run.sh":"a \u0026\u0026 b\nif c \u003e 1; then\n","\u003ckey\u003e":"é\u2028😀\b\f\u0000"}}`,
		`{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"annotations":{"a":"\u003c"},"name":"x"},` +
			`"spec":{"run":"a && b\nc < d\n"}}`,
		`{"apiVersion":"example.org/v1","data":{"z":1,"a":2},"kind":"Widget","metadata":{"name":"x"},"spec":null}`,
		"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\xff", "k8s:enc:aesgcm:v1:key:\x00\xfe\xff",
		// Values that JSON, or YAML, can write in more than one way.
		`{"n":[1e3,1E3,1e+3,1000,1000.0,-0,-0.0,12345678901234567890123,0.1000,1e400]}`,
		`{"s":["1","1e3","0x10","true","null","~","yes","no","",".inf","2024-01-01","<<","=","- x","a: b","# c",` +
			`"!t","*a","&a","|"]}`,
		`{"e":[{},[],null,[{}],[[]],{"":""}],"t":true,"f":false}`,
		`{"u":"\u00e9é\u003c<\/\ud83d\ude00\u0041","c":"\u001f\u0085\ufeff"}`, "{\"u\":\"\u2028\u0085\ufeff\x7f\"}",
		`{"b":" lead","c":"trail ","d":"\ta\n\tb\n\n","e":"a\r\nb","f":"\n\n","g":"x\n"}`,
		`{"twice":1,"twice":2}`, ` { "blank" : [ 1 , 2 ] } `, "{}\n", `"text"`, `1`, `null`, `[]`,
		strings.Repeat(`{"deep":[`, 300) + strings.Repeat(`]}`, 300),
	}
	key := func(i int) string { return fmt.Sprintf("/values/%02d", i) }
	for i, v := range values {
		if _, err := b.Put(b.ctx, key(i), []byte(v), storage.Pre{}, 0); err != nil {
			t.Fatalf("Put(%.60q): %v", v, err)
		}
	}
	want := b.list(storage.RangeRequest{Prefix: "/values/"})
	for round := range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b.Store = e.Reopen(t, b.Store)
		if got := b.rev(); got != want.Rev {
			t.Errorf("round %d: a restart took the store from revision %d to %d", round, want.Rev, got)
		}
		for i, v := range values {
			got, err := b.Get(context.Background(), key(i))
			if err != nil || string(got.Value) != v || got.Rev != want.Entries[i].Rev {
				t.Errorf("round %d: got %.200q at %d, %v, want %.200q at %d", round, got.Value, got.Rev, err, v,
					want.Entries[i].Rev)
			}
		}
	}
}
