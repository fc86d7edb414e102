package meta

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	if got := Excerpt(strings.Repeat("a", 2*maxExcerpt)); len(got) != maxExcerpt+3 {
		t.Errorf("Excerpt: got %d bytes, want %d", len(got), maxExcerpt+3)
	}
}
