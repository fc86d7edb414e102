package meta

import "unicode/utf8"

// maxExcerpt is how much of a client's own text an answer repeats, in bytes. Names, media types, the paths of objects and
// selectors that people write are shorter.
const maxExcerpt = 512

// Excerpt returns text as a message repeats it to the client that sent it: whole, or its beginning and "...". So what a
// refusal costs does not depend on how much there was to refuse.
func Excerpt(text string) string { return Cut(text, maxExcerpt) }

// Cut returns text, or at most its first limit bytes and "..." if it is longer. It does not cut a character in two.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > 0 && n > limit-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}
