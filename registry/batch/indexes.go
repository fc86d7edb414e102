package batch

import (
	"fmt"
	"strconv"
	"strings"
)

// Indexes of a job are written as numbers and ranges in order, such as 1,3-5,7.

// indexRange is one part of them: a number, or the numbers from first to last.
type indexRange struct{ first, last int32 }

// parseRange reads a part; its numbers are below completions.
func parseRange(text string, completions int32) (indexRange, error) {
	first, last, isRange := strings.Cut(text, "-")
	if strings.Contains(last, "-") {
		return indexRange{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	x, err := parseIndex(first, completions)
	if err != nil || !isRange {
		return indexRange{x, x}, err
	}
	y, err := parseIndex(last, completions)
	if err == nil && x >= y {
		err = outOfOrder(x, y)
	}
	return indexRange{x, y}, err
}

func parseIndex(text string, completions int32) (int32, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	}
	if n >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(n), nil
}

func outOfOrder(before, after int32) error {
	return fmt.Errorf("non-increasing order, previous: %d, current: %d", before, after)
}

// countIndexes returns how many indexes there are in a text, or what is wrong with it.
func countIndexes(text string, completions int32) (int32, error) {
	if text == "" {
		return 0, nil
	}
	var count int32
	var before *int32
	for part := range strings.SplitSeq(text, ",") {
		r, err := parseRange(part, completions)
		if err != nil {
			return 0, err
		}
		if before != nil && *before >= r.first {
			return 0, outOfOrder(*before, r.first)
		}
		count += r.last - r.first + 1
		before = &r.last
	}
	return count, nil
}

// overlap returns the first index that two texts have in common. Parts that cannot be read are left
// out; they are reported elsewhere.
func overlap(a, b string, completions int32) (index int32, found bool) {
	if a == "" || b == "" {
		return 0, false
	}
	x, y := readableRanges(a, completions), readableRanges(b, completions)
	for i, j := 0, 0; i < len(x) && j < len(y); {
		if x[i].first <= y[j].last && y[j].first <= x[i].last {
			return max(x[i].first, y[j].first), true
		}
		if x[i].first <= y[j].first {
			i++
		} else {
			j++
		}
	}
	return 0, false
}

func readableRanges(text string, completions int32) []indexRange {
	var list []indexRange
	for part := range strings.SplitSeq(text, ",") {
		if r, err := parseRange(part, completions); err == nil {
			list = append(list, r)
		}
	}
	return list
}
