package govalue

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
		{"changes as far apart as their contexts reach", "1 2 3 4 5 6 7 8", "x 2 3 4 5 6 7 y", "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"},
		{"far changes", "1 2 3 4 5 6 7 8 9 0", "x 2 3 4 5 6 7 8 9 y",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-0\n+y\n"},
	} {
		if got := unifiedDiff(strings.Fields(tt.a), strings.Fields(tt.b)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// tableDiff is the reference for diffLines. It computes the table for all pairs of lines, and does
// not cut off equal ends.
func tableDiff(a, b []string) []edit {
	common := make([][]int, len(a)+1) // common[i][j]: length of the common subsequence of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var edits []edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}

// TestDiffLines compares diffLines, which takes little space, with tableDiff.
func TestDiffLines(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		letters := 2 + r.IntN(6)
		text := func() []string {
			lines := make([]string, r.IntN(40))
			for i := range lines {
				lines[i] = string(rune('a' + r.IntN(letters)))
			}
			return lines
		}
		a, b := text(), text()
		// The texts begin and end with different lines, so that there are no equal ends to cut off.
		a, b = slices.Concat([]string{"A"}, a, []string{"A"}), slices.Concat([]string{"B"}, b, []string{"B"})
		if got, want := diffLines(a, b), tableDiff(a, b); !slices.Equal(got, want) {
			t.Fatalf("diff of %v and %v: got %v, want %v", a, b, got, want)
		}
		head, tail := text(), text()
		var before, after []string
		for _, e := range diffLines(slices.Concat(head, a, tail), slices.Concat(head, b, tail)) {
			if e.op != '+' {
				before = append(before, e.text)
			}
			if e.op != '-' {
				after = append(after, e.text)
			}
		}
		if !slices.Equal(before, slices.Concat(head, a, tail)) || !slices.Equal(after, slices.Concat(head, b, tail)) {
			t.Fatalf("diff of %v and %v, between %v and %v, is one of %v and %v", a, b, head, tail, before, after)
		}
	}
}

// long returns a text of maxDiffLines lines. Two such texts have no equal ends.
func long(name string) []string {
	lines := make([]string, maxDiffLines)
	for i := range lines {
		lines[i] = fmt.Sprint(name, i, " ", i%7)
		if i%3 == 1 {
			lines[i] = fmt.Sprint(i % 11)
		}
	}
	lines[len(lines)-1] = name
	return lines
}

// TestLongDiff: texts up to a length are compared line by line. A longer text is shown as replaced
// in whole.
func TestLongDiff(t *testing.T) {
	kept := func(a, b []string) (n int) {
		for _, e := range diffLines(a, b) {
			if e.op == ' ' {
				n++
			}
		}
		return n
	}
	a, b := long("a"), long("b")
	if kept(a, b) == 0 {
		t.Error("no line is kept of texts that are short enough, want those that they share")
	}
	if n := kept(append(a, "A"), b) + kept(a, append(b, "B")); n > 0 {
		t.Errorf("%d lines are kept of texts that are too long, want none", n)
	}
}

// TestDiffSpace: the memory that a long diff takes is about that of its lines.
func TestDiffSpace(t *testing.T) {
	a, b := long("a"), long("b")
	result := testing.Benchmark(func(tb *testing.B) {
		for range tb.N {
			unifiedDiff(a, b)
		}
	})
	if got := result.AllocedBytesPerOp(); got > 512<<10 {
		t.Errorf("the diff of two texts of %d lines allocates %d KiB, want at most 512", maxDiffLines, got>>10)
	}
}

func BenchmarkDiff(b *testing.B) {
	x, y := long("a"), long("b")
	b.ReportAllocs()
	for b.Loop() {
		unifiedDiff(x, y)
	}
}
