package request

import (
	"strings"
	"unicode/utf8"
)

// Warnings are sent whole while they have at most maxWarnings runes together, as in kube-apiserver.
// Beyond that, each warning is cut to maxWarning runes; when even the cut ones reach maxWarnings,
// further warnings are dropped. The reason is that proxies refuse responses with large headers.
const (
	maxWarnings = 4 << 10 // runes
	maxWarning  = 256     // runes
)

// warningState is the state of Warn for one request.
type warningState struct {
	seen    map[string]bool // by the text before it is cut
	runes   int             // of the warnings kept
	cutting bool            // each warning is cut to maxWarning
}

// Warn adds a warning for the client: an HTTP Warning header with code 299. A repeated text is sent
// once, and a text that cannot stand in a header is dropped. The cost is one hash of the text,
// however many warnings there are.
func (i *Info) Warn(text string) {
	if i.warningState == nil {
		i.warningState = &warningState{seen: map[string]bool{}}
	}
	w := i.warningState
	if w.cutting && w.runes >= maxWarnings || w.seen[text] || !isHeaderText(text) {
		return
	}
	w.seen[text] = true
	if n := utf8.RuneCountInString(text); !w.cutting && w.runes+n <= maxWarnings {
		w.runes += n
	} else {
		if !w.cutting { // cut all further ones, and those kept so far
			w.cutting, w.runes = true, 0
			for j, kept := range i.Warnings {
				i.Warnings[j] = w.shorten(kept)
			}
		}
		text = w.shorten(text)
	}
	i.Warnings = append(i.Warnings, text)
}

// shorten cuts text to maxWarning runes and counts its runes.
func (w *warningState) shorten(text string) string {
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

// isHeaderText reports whether text may stand in a header: valid UTF-8 without control characters.
func isHeaderText(text string) bool {
	return text != "" && utf8.ValidString(text) && strings.IndexFunc(text, isControl) < 0
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
