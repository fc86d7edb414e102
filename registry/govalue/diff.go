package govalue

import (
	"fmt"
	"slices"
	"strings"
)

// This file has Diff's line diff. Its output is a unified diff, as of diff -u, which kube-apiserver
// puts into some messages (noderestriction). The algorithm is Hirschberg's: a longest common
// subsequence in linear space.

// contextLines is how many unchanged lines stand around a change.
const contextLines = 3

// maxDiffLines bounds the work on large objects; a longer text is shown as replaced as a whole. It
// must stay below 1<<15, the room for a column in middle.places.
const maxDiffLines = 2000

// edit is one line of a diff. op says whether it is kept (' '), removed ('-') or added ('+').
type edit struct {
	op   byte
	text string
}

// unifiedDiff returns the hunks that turn a into b, or nothing if they are equal.
func unifiedDiff(a, b []string) string {
	edits := diffLines(a, b)
	var out strings.Builder
	lineA, lineB := 1, 1 // of edits[i]
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i, lineA, lineB = i+1, lineA+1, lineB+1
			continue
		}
		before := min(contextLines, i)
		for k := range before { // context never reaches into the last hunk, which would have been longer then
			if edits[i-1-k].op != ' ' {
				before = k
				break
			}
		}
		start, end := i-before, hunkEnd(edits, i)
		nA, nB := 0, 0
		for _, e := range edits[start:end] {
			if e.op != '+' {
				nA++
			}
			if e.op != '-' {
				nB++
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(lineA-before, nA), span(lineB-before, nB))
		for _, e := range edits[start:end] {
			out.WriteByte(e.op)
			out.WriteString(e.text + "\n")
		}
		lineA, lineB, i = lineA-before+nA, lineB-before+nB, end
	}
	return out.String()
}

// span returns n lines from a line on as the head of a hunk writes them: "7,3", or "7" for one
// line. No lines are "6,0", after the line before them.
func span(line, n int) string {
	if n == 1 {
		return fmt.Sprint(line)
	}
	if n == 0 {
		line--
	}
	return fmt.Sprintf("%d,%d", line, n)
}

// hunkEnd returns the end of the hunk that begins with the change at i. Changes with at most
// 2*contextLines unchanged lines between them share a hunk.
func hunkEnd(edits []edit, i int) int {
	last := i
	for j := i; j < len(edits) && j-last <= 2*contextLines+1; j++ {
		if edits[j].op != ' ' {
			last = j
		}
	}
	return min(last+1+contextLines, len(edits))
}

// diffLines returns a shortest edit from a to b. It strips equal lines at both ends and diffs the
// rest; a rest of more than maxDiffLines is replaced as a whole.
func diffLines(a, b []string) []edit {
	edits := make([]edit, 0, len(a)+len(b))
	add := func(op byte, lines []string) {
		for _, text := range lines {
			edits = append(edits, edit{op, text})
		}
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	add(' ', a[:head])
	a, b = a[head:], b[head:]
	tail := 0
	for tail < min(len(a), len(b)) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	end := a[len(a)-tail:]
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a) > maxDiffLines || len(b) > maxDiffLines {
		add('-', a)
		add('+', b)
	} else {
		edits = newMiddle(edits, a, b).edits
	}
	add(' ', end)
	return edits
}

// middle finds a shortest edit that turns the text a into the text b. Think of a table with a row
// for each line of a and a column for each line of b. An edit is a path through the table from its
// top left corner to its bottom right one. A step down removes a line of a, a step to the right
// adds a line of b, and a diagonal step keeps a line that both texts have there. The best path has
// the most diagonal steps; of several best paths it is the one that goes down as early as it can,
// so that lines are removed before others are added.
//
// The table itself would take too much memory. So crossing goes through it row by row, from the
// last row to the first, and holds one row. That is enough to tell in which column the best path
// crosses the row in the middle of a. diff splits both texts there and does the same with the two
// halves, which together are half of the table.
type middle struct {
	edits []edit
	texts []string // of the lines by number; equal lines have the same number
	// places is the present row i of the table. For each column j it holds two numbers: the length
	// of the longest common subsequence of a[i:] and b[j:] in the upper 16 bits, and in the lower
	// 15 bits the column in which the best path from here crosses the middle row.
	places []uint32
}

// length is one common line in the upper bits of middle.places. below is the bit between the two
// numbers: it is set in one of two values to be compared, which is then the greater one if their
// lengths are equal.
const (
	length = 1 << 16
	below  = 1 << 15
)

// newMiddle appends the edit that turns a into b.
func newMiddle(edits []edit, a, b []string) *middle {
	m := &middle{edits: edits, texts: make([]string, 0, len(a)+len(b)), places: make([]uint32, len(b)+1)}
	numbers := make(map[string]uint16, len(a))
	number := func(lines []string) []uint16 {
		list := make([]uint16, len(lines))
		for i, text := range lines {
			n, ok := numbers[text]
			if !ok {
				n = uint16(len(m.texts))
				numbers[text], m.texts = n, append(m.texts, text)
			}
			list[i] = n
		}
		return list
	}
	m.diff(number(a), number(b))
	return m
}

// add appends an edit of each line to edits.
func (m *middle) add(op byte, lines []uint16) {
	for _, n := range lines {
		m.edits = append(m.edits, edit{op, m.texts[n]})
	}
}

// diff appends the edit from a to b to edits. It recurses until a has one line or b has none.
func (m *middle) diff(a, b []uint16) {
	if len(a) > 1 && len(b) > 0 {
		half := len(a) / 2
		j := m.crossing(a, b, half)
		m.diff(a[:half], b[:j])
		m.diff(a[half:], b[j:])
		return
	}
	if len(a) == 1 {
		if k := slices.Index(b, a[0]); k >= 0 {
			m.add('+', b[:k])
			m.add(' ', a)
			m.add('+', b[k+1:])
			return
		}
	}
	m.add('-', a)
	m.add('+', b)
}

// crossing returns the column, an index in b, in which the best path reaches row half.
func (m *middle) crossing(a, b []uint16, half int) int {
	places := m.places[:len(b)+1]
	clear(places)
	for i := len(a) - 1; i >= 0; i-- {
		line := a[i]
		next := places[len(b)]  // the place at i and j+1
		after := places[len(b)] // the place at i+1 and j+1
		for j := len(b) - 1; j >= 0; j-- {
			under := places[j] // the place at i+1 and j
			if line == b[j] {
				next = after + length
			} else {
				next = max(next, under|below) &^ below
			}
			places[j], after = next, under
		}
		if i == half {
			for j := range places {
				places[j] = places[j]&^(below-1) | uint32(j)
			}
		}
	}
	return int(places[0] & (below - 1))
}
