package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// What cells show where there is nothing to show, often by cmp.Or(text, None).
const (
	None    = "<none>"
	Unset   = "<unset>"
	Unknown = "<unknown>"
)

// Labels prints labels as key=value pairs in the order of these texts, or None.
func Labels(labels map[string]string) string {
	if len(labels) == 0 {
		return None
	}
	pairs := make([]string, 0, len(labels))
	for key, value := range labels {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// Selector prints a selector as in the query of a list, or None if it selects everything or
// nothing.
func Selector(s *meta.LabelSelector) string {
	selector, err := meta.SelectorFrom(s)
	if err != nil {
		return "<error>"
	}
	if text := selector.String(); text != "" {
		return text
	}
	return None
}

// More appends to the text of the first of a list how many others there are, if there are any.
func More(text string, others int) string {
	if others <= 0 {
		return text
	}
	return fmt.Sprintf("%s + %d more...", text, others)
}
