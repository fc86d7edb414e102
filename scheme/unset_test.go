package scheme_test

import (
	"testing"

	"github.com/coracle-project/coracle/scheme"
)

func TestOrZero(t *testing.T) {
	if got := scheme.OrZero[int32](nil); got != 0 {
		t.Errorf("nothing stands for %d, want 0", got)
	}
	if got := scheme.OrZero(new(int32(7))); got != 7 {
		t.Errorf("7 stands for %d", got)
	}
}
