package codec_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestEncodersAreSmall: encoding all kinds holds little memory beyond what decoding holds. It
// measures in a process that has encoded nothing yet.
func TestEncodersAreSmall(t *testing.T) {
	const fresh = "CODEC_HEAP"
	if os.Getenv(fresh) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEncodersAreSmall$", "-test.v")
		cmd.Env = append(os.Environ(), fresh+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s, f := allKinds(t)
	var objects []meta.Typed
	for _, gvk := range s.AllKinds() {
		if gvk.Version == scheme.InternalVersion {
			continue
		}
		obj, err := s.NewObject(gvk)
		if err != nil {
			continue
		}
		obj.GetTypeMeta().SetGroupVersionKind(gvk)
		if _, err := f.Decode(codec.DecodeRequest{Data: []byte(`{}`), Default: gvk}); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	before := heap()
	for _, obj := range objects {
		if _, err := codec.AppendJSON(nil, obj); err != nil {
			t.Error(err)
		}
	}
	after := heap()
	runtime.KeepAlive(objects)
	t.Logf("%d kinds: %d KiB for encoding, of %d", len(objects), (after-before)>>10, after>>10)
	if len(objects) < 100 || after-before > 1<<20 {
		t.Errorf("encoders of %d kinds hold %d KiB", len(objects), (after-before)>>10)
	}
}

// heap returns how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
