package batch

import (
	"fmt"
	"strconv"
	"strings"
)

// This file reads lists of indexes, as they are in the status and in the success policy of a job:
// numbers and ranges in ascending order, separated by commas, such as 1,3-5,7. An empty text is an
// empty list.

// indexRange is one part of a list: the indexes from first to last, which are equal for a single
// number.
type indexRange struct{ first, last int32 }

// parseRange reads one part of a list, whose indexes must be below completions.
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

// parseIndex reads one index, which must be below completions. It is not negative, since parseRange
// has cut the text at its dashes.
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

// outOfOrder is the error about an index that does not follow the one before it.
func outOfOrder(before, after int32) error {
	return fmt.Errorf("non-increasing order, previous: %d, current: %d", before, after)
}

// countIndexes returns how many indexes a list has, or an error about the first part that is wrong.
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

// overlap returns the lowest index that is in both lists, and whether there is one. It skips parts
// that cannot be read; checkReadable reports those. One pass over the lists is enough, because both
// are sorted. If a list is not sorted, checkReadable reports it.
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

// readableRanges returns the parts of a list that can be read.
func readableRanges(text string, completions int32) []indexRange {
	var list []indexRange
	for part := range strings.SplitSeq(text, ",") {
		if r, err := parseRange(part, completions); err == nil {
			list = append(list, r)
		}
	}
	return list
}
