package govalue

import (
	"fmt"
	"strings"
)

// contextLines is how many unchanged lines stand around a change.
const contextLines = 3

// maxDiffLines bounds the work on large objects; a longer text is shown as replaced as a whole.
const maxDiffLines = 2000

// edit is one line of a diff: kept (' '), removed ('-') or added ('+').
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
		for k := range before { // context can't reach into the hunk before: that would have gone on
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

func span(line, n int) string {
	if n == 1 {
		return fmt.Sprint(line)
	}
	if n == 0 {
		line--
	}
	return fmt.Sprintf("%d,%d", line, n)
}

// hunkEnd returns where the hunk around the change at i ends: after a run of unchanged lines too long to bridge.
func hunkEnd(edits []edit, i int) int {
	last := i
	for j := i; j < len(edits) && j-last <= 2*contextLines; j++ {
		if edits[j].op != ' ' {
			last = j
		}
	}
	return min(last+1+contextLines, len(edits))
}

// diffLines finds a shortest edit by the longest common subsequence of what remains between equal ends.
func diffLines(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > maxDiffLines || len(b) > maxDiffLines {
		for _, text := range a {
			head = append(head, edit{'-', text})
		}
		for _, text := range b {
			head = append(head, edit{'+', text})
		}
	} else {
		head = append(head, diffMiddle(a, b)...)
	}
	for i := len(tail) - 1; i >= 0; i-- {
		head = append(head, tail[i])
	}
	return head
}

func diffMiddle(a, b []string) []edit {
	common := make([][]uint16, len(a)+1) // common[i][j]: length of the common subsequence of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]uint16, len(b)+1)
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
	i, j := 0, 0
	for i < len(a) || j < len(b) {
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
