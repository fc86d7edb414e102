package registry_test

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// FuzzContinue continues a list with any token. The result is an error of the client or a page of
// the same namespace, never objects of the namespaces beside it.
func FuzzContinue(f *testing.F) {
	k := newKit(f, options{cache: cache.Config{MaxWait: time.Millisecond}})
	k.fill(5, "a", "ns", "z")
	for _, rev := range []storage.Revision{0, 5, 1 << 60} {
		for _, start := range []string{"w01", "a/w01", "../a/w", "", "/", "\x00"} {
			f.Add(cache.EncodeContinue(rev, start))
		}
	}
	f.Add("$")
	f.Fuzz(func(t *testing.T, token string) {
		k := *k
		k.tb = t
		list, err := k.List(k.ctx, &request.ListRequest{Namespace: "ns", Continue: token, Limit: 3})
		if err != nil {
			if meta.IsInternalError(err) || meta.ReasonFor(err) == meta.StatusReasonUnknown {
				t.Errorf("token %q: %v", token, err)
			}
			return
		}
		for enc := range list.Items {
			if w := k.decode(enc); w.Namespace != "ns" {
				t.Errorf("token %q leads to %s/%s", token, w.Namespace, w.Name)
			}
		}
		if list.Len > 3 {
			t.Errorf("token %q: %d items, want at most 3", token, list.Len)
		}
	})
}

// FuzzStored reads any value. The value is an error or an object, and the object has the
// resourceVersion at which it is read.
func FuzzStored(f *testing.F) {
	k := newKit(f, options{})
	f.Add(`{"kind":"Widget","apiVersion":"test.example.com/v1",` + meta1 + `,"spec":{"color":"red"}}`)
	f.Add(`{"kind":"Widget","apiVersion":"test.example.com/v1beta1",` + meta1 + `,"colour":"red"}`)
	f.Add("k8s\x00\x0a\x1f\x0a\x13test.example.com/v1\x12\x06Widget\x12\x07\x0a\x05\x0a\x03abc")
	f.Add(`{"metadata":{}}`)
	f.Fuzz(func(t *testing.T, value string) {
		obj, err := k.Objects().Preview("/registry/test.example.com/widgets/ns/a", []byte(value))
		if err != nil {
			return
		}
		shown := obj.At(7)
		again, err := k.Decode(t.Context(), shown)
		if err != nil {
			return // a value of another kind or with fields of wrong types
		}
		if rv := again.GetObjectMeta().ResourceVersion; rv != "7" {
			data, _ := shown.Stored()
			t.Errorf("%q at 7 is %q, of version %q", value, data, rv)
		}
	})
}
