package request

import (
	"strings"
	"unicode/utf8"
)

// Warnings are kept whole up to maxWarnings runes in sum, as in kube-apiserver. With more, each is cut at maxWarning, and
// when they come to maxWarnings again, what follows is left out: proxies refuse large headers.
const (
	maxWarnings = 4 << 10
	maxWarning  = 256
)

// warned keeps the warnings of a request few and different.
type warned struct {
	seen  map[string]bool
	runes int  // of those kept
	cut   bool // each is cut
}

// Warn adds a warning for the client (an HTTP Warning header with code 299). Repeated texts are sent once, and those that
// cannot stand in a header not at all. Cost: that of hashing the text, however many there are.
func (i *Info) Warn(text string) {
	if i.warned == nil {
		i.warned = &warned{seen: map[string]bool{}}
	}
	w := i.warned
	if w.cut && w.runes >= maxWarnings || w.seen[text] || !isHeaderText(text) {
		return
	}
	w.seen[text] = true
	if n := utf8.RuneCountInString(text); !w.cut && w.runes+n <= maxWarnings {
		w.runes += n
	} else {
		if !w.cut { // from now on, and those before as well
			w.cut, w.runes = true, 0
			for j, kept := range i.Warnings {
				i.Warnings[j] = w.shorten(kept)
			}
		}
		text = w.shorten(text)
	}
	i.Warnings = append(i.Warnings, text)
}

// shorten cuts a text, and counts it.
func (w *warned) shorten(text string) string {
	n := 0
	for at := range text {
		if n == maxWarning {
			text = text[:at]
			break
		}
		n++
	}
	w.runes += n
	return text
}

// isHeaderText reports whether a text may stand in a header.
func isHeaderText(text string) bool {
	return text != "" && utf8.ValidString(text) && strings.IndexFunc(text, isControl) < 0
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
