package differential

import (
	"strings"
	"testing"

	oursschema "github.com/coracle-project/coracle/scheme/schema"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// TestFormats judges strings by all formats that schemas may name: valid strings of each format,
// and nearly valid ones.
func TestFormats(t *testing.T) {
	rnd := random("formats")
	for range times(20000) {
		text := []rune(oneOf(rnd, texts...))
		for range rnd.IntN(4) {
			at := rnd.IntN(len(text) + 1)
			switch more := []rune(oneOf(rnd, texts...)); rnd.IntN(5) {
			case 0:
				text = text[:at]
			case 1:
				text = append(text[:at:at], more...)
			case 2:
				text = append(text[:at:at], append([]rune(oneOf(rnd, "-", ".", " ", "0", "é", "€", "T", strings.Repeat("a", 60))), text[at:]...)...)
			case 3:
				text = append(text[:at:at], text[min(at+1, len(text)):]...)
			}
		}
		for _, format := range formatNames {
			s := string(text)
			theirs := !strfmt.Default.ContainsName(format) || strfmt.Default.Validates(format, s)
			if ours := oursschema.HasFormat(format, s); ours != theirs {
				t.Errorf("%s %q: got %v, want %v", format, s, ours, theirs)
			}
		}
		if t.Failed() {
			return
		}
	}
}
