package meta

import "unicode/utf8"

// maxExcerpt is how much of a client's own text an answer repeats, in bytes. Names, selectors that people write, and
// the paths of objects are shorter.
const maxExcerpt = 1 << 10

// Excerpt returns text as a message repeats it to the client that sent it: whole, or its first kilobyte and "...". So
// what a refusal costs does not depend on how much there was to refuse.
func Excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	n := maxExcerpt
	for n > maxExcerpt-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}
