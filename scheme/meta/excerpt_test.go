package meta

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"aäb", 2, "a..."},
		{"ab\u20ac", 4, "ab..."},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80..."},
		{"ä", 1, "..."},
	} {
		if got := Cut(tt.text, tt.limit); got != tt.want {
			t.Errorf("Cut(%q, %d): got %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
	if got := Excerpt(strings.Repeat("a", 2*maxExcerpt)); len(got) != maxExcerpt+3 {
		t.Errorf("Excerpt: got %d bytes, want %d", len(got), maxExcerpt+3)
	}
}
