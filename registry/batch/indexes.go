package batch

import (
	"fmt"
	"strconv"
	"strings"
)

// interval is a part of a list of indexes, such as 3-5 or 7.
type interval struct{ first, last int32 }

// readInterval reads an interval of indexes below completions.
func readInterval(text string, completions int32) (interval, error) {
	parts := strings.Split(text, "-")
	if len(parts) > 2 {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	first, err := readIndex(parts[0], completions)
	if err != nil || len(parts) == 1 {
		return interval{first, first}, err
	}
	last, err := readIndex(parts[1], completions)
	if err != nil {
		return interval{}, err
	}
	if first >= last {
		return interval{}, fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return interval{first, last}, nil
}

func readIndex(text string, completions int32) (int32, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	}
	if n >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(n), nil
}

// countIndexes counts the indexes in a list such as 1,3-5,7, which are in order and below completions.
func countIndexes(list string, completions int32) (int32, error) {
	if list == "" {
		return 0, nil
	}
	total, last := int32(0), int32(-1)
	for text := range strings.SplitSeq(list, ",") {
		in, err := readInterval(text, completions)
		if err != nil {
			return 0, err
		}
		if in.first <= last {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, in.first)
		}
		total, last = total+in.last-in.first+1, in.last
	}
	return total, nil
}

// overlap finds an index that is in both of two lists. What cannot be read in them is left out.
func overlap(a, b string, completions int32) (int32, bool) {
	x, y := readIntervals(a, completions), readIntervals(b, completions)
	for len(x) > 0 && len(y) > 0 {
		if x[0].first <= y[0].last && y[0].first <= x[0].last {
			return max(x[0].first, y[0].first), true
		}
		if x[0].first <= y[0].first {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return 0, false
}

func readIntervals(list string, completions int32) []interval {
	var intervals []interval
	for text := range strings.SplitSeq(list, ",") {
		if in, err := readInterval(text, completions); err == nil {
			intervals = append(intervals, in)
		}
	}
	return intervals
}
