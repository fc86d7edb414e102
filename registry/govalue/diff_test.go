package govalue

import (
	"strings"
	"testing"
)

func TestUnifiedDiff(t *testing.T) {
	for _, tt := range []struct{ name, a, b, want string }{
		{"equal", "a b c", "a b c", ""},
		{"first line", "a b c d e", "x b c d e", "@@ -1,4 +1,4 @@\n-a\n+x\n b\n c\n d\n"},
		{"last line", "a b c d e", "a b c d x", "@@ -2,4 +2,4 @@\n b\n c\n d\n-e\n+x\n"},
		{"added", "a b", "a x b", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"},
		{"close changes", "1 2 3 4 5 6 7 8 9", "1 x 3 4 5 6 7 y 9", "@@ -1,9 +1,9 @@\n 1\n-2\n+x\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n"},
		{"far changes", "1 2 3 4 5 6 7 8 9 0", "x 2 3 4 5 6 7 8 9 y",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-0\n+y\n"},
	} {
		if got := unifiedDiff(strings.Fields(tt.a), strings.Fields(tt.b)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
