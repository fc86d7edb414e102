package codec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meter"
)

// TestMemoryOnce: an object that takes too much memory is not decoded a second time.
func TestMemoryOnce(t *testing.T) {
	f := newTestFactory(t)
	data := []byte(`{"metadata":{"managedFields":[` + strings.Repeat("{},", 1_000_000) + `{}]}}`)
	_, err := f.Decode(DecodeRequest{Data: data, Default: configMapKind, Meter: meter.WithBudget(t.Context(), len(data))})
	if err != errMemory {
		t.Errorf("got %v, want %v", err, errMemory)
	}
}
