package ports

import (
	"fmt"
	"strconv"
	"strings"
)

// Span is a range of ports.
type Span struct {
	Base int // the first port
	Size int // the number of ports
}

// maxPort is the highest TCP and UDP port.
const maxPort = 65535

// ParseSpan parses a range: "30000-32767" with both ends included, "30000+2767", which is the same,
// or a single port. "" is the empty range.
func ParseSpan(text string) (Span, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Span{}, nil
	}
	from, to, hyphen := strings.Cut(text, "-")
	var plus bool
	if !hyphen {
		from, to, plus = strings.Cut(text, "+")
	}
	first, err := strconv.Atoi(from)
	if err != nil {
		return Span{}, fmt.Errorf("%q is no port range: %w", text, err)
	}
	last := first
	if hyphen || plus {
		if last, err = strconv.Atoi(to); err != nil {
			return Span{}, fmt.Errorf("%q is no port range: %w", text, err)
		}
	}
	if plus {
		last += first
	}
	switch {
	case first > maxPort || last > maxPort:
		return Span{}, fmt.Errorf("the port range %q goes beyond %d", text, maxPort)
	case first < 0 || last < first:
		return Span{}, fmt.Errorf("the port range %q ends before it begins", text)
	}
	return Span{first, last - first + 1}, nil
}

// String returns the range as ParseSpan reads it and as records name it: "30000-32767".
func (s Span) String() string {
	if s.Size == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", s.Base, s.Base+s.Size-1)
}

// Contains reports whether a port is in the range.
func (s Span) Contains(port int) bool { return port >= s.Base && port-s.Base < s.Size }

// reserved returns the number of ports at the low end that TakeNext takes last (KEP-3668), so that
// a service that asks for a certain low port is likely to get it.
func (s Span) reserved() int {
	const least, most, part = 16, 128, 32
	if s.Size <= least {
		return 0
	}
	return min(max(least, s.Size/part), most)
}
