package meta

import "github.com/coracle-project/coracle/scheme/field"

// maxExcerpt is how much of a client's own text an answer repeats, in bytes. Names, media types, the paths of objects and
// selectors that people write are shorter.
const maxExcerpt = 512

// Excerpt returns text as a message repeats it to the client that sent it: whole, or its beginning and "...". So what a
// refusal costs does not depend on how much there was to refuse.
func Excerpt(text string) string { return field.Cut(text, maxExcerpt) }
