package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Texts that kubectl users know for a value that is missing. Use: cmp.Or(text, None).
const (
	None    = "<none>"
	Unset   = "<unset>"
	Unknown = "<unknown>"
)

// Labels prints labels as "a=b,c=d", sorted, or None.
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

// Selector prints a selector in the syntax of labelSelector, such as "a=b,c in (d,e)". It prints
// None if the selector selects everything or nothing, "<error>" if it is not valid.
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

// More appends the number of the other items of a list to text, which shows the first item: "a + 2
// more...".
func More(text string, others int) string {
	if others <= 0 {
		return text
	}
	return fmt.Sprintf("%s + %d more...", text, others)
}
