package meta

import "github.com/coracle-project/coracle/scheme/field"

// maxExcerpt is how many bytes of a client's own text a response repeats. Real names, media types,
// paths and selectors are shorter.
const maxExcerpt = 512

// Excerpt returns text in the form in which a message repeats it to the client: whole, or its
// beginning and "...". It keeps the cost of a refusal independent of the size of what is refused.
func Excerpt(text string) string { return field.Cut(text, maxExcerpt) }
