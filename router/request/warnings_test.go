package request

import (
	"fmt"
	"strings"
	"testing"
)

// TestWarningsBounded adds warnings without end, as bodies with many mistakes do: neither the
// memory nor the work for each dropped warning grows.
func TestWarningsBounded(t *testing.T) {
	const many = 20_000
	long := strings.Repeat("x", 300)
	for name, text := range map[string]func(i int) string{
		"one text":       func(int) string { return "hides previous definition" },
		"long texts":     func(i int) string { return fmt.Sprint(i, long) },
		"short texts":    func(i int) string { return fmt.Sprint(i) },
		"no header text": func(i int) string { return fmt.Sprint("a\n", i) },
	} {
		texts := make([]string, many)
		for i := range texts {
			texts[i] = text(i)
		}
		info := &Info{}
		allocs := testing.AllocsPerRun(1, func() {
			*info = Info{}
			for _, text := range texts {
				info.Warn(text)
			}
		})
		runes := 0
		for _, w := range info.Warnings {
			runes += len([]rune(w))
		}
		if runes > maxWarnings+maxWarning {
			t.Errorf("%s: got %d runes, want at most %d", name, runes, maxWarnings+maxWarning)
		}
		if allocs > 200 {
			t.Errorf("%s: got %v allocations for %d warnings", name, allocs, many)
		}
	}
}

// TestWarningsCut: with too much text every warning is cut, including earlier ones, and the first
// ones are kept.
func TestWarningsCut(t *testing.T) {
	info := &Info{}
	for i := range 1000 {
		info.Warn(fmt.Sprintf("%d%s", i, strings.Repeat("ä", 300)))
		if i == 0 && len([]rune(info.Warnings[0])) != 301 {
			t.Error("one warning is cut")
		}
	}
	if got, want := len(info.Warnings), maxWarnings/maxWarning; got != want {
		t.Fatalf("got %d warnings, want %d", got, want)
	}
	for i, w := range info.Warnings {
		if n := len([]rune(w)); n != maxWarning || !strings.HasPrefix(w, fmt.Sprint(i, "ä")) {
			t.Errorf("warning %d: got %d runes: %q", i, n, w)
		}
	}
}

// TestWarningsFit: warnings that fit exactly are not cut; the next one cuts all.
func TestWarningsFit(t *testing.T) {
	info := &Info{}
	info.Warn("a" + strings.Repeat("x", maxWarnings/2-1))
	info.Warn("b" + strings.Repeat("x", maxWarnings-maxWarnings/2-1))
	if n := len(info.Warnings[0]) + len(info.Warnings[1]); n != maxWarnings {
		t.Errorf("got %d bytes, want all %d", n, maxWarnings)
	}
	info.Warn("c")
	if len(info.Warnings) != 3 || len(info.Warnings[0]) != maxWarning || len(info.Warnings[1]) != maxWarning {
		t.Errorf("got %d warnings, the first of %d bytes, want 3 of at most %d", len(info.Warnings), len(info.Warnings[0]), maxWarning)
	}
}

// TestWarningsText: control characters cannot stand in a header, wherever they are; all other text
// can.
func TestWarningsText(t *testing.T) {
	info := &Info{}
	for _, text := range []string{"", "\na", "a\n", "a\x1fb", "a\x7f", "\xff"} {
		info.Warn(text)
	}
	if len(info.Warnings) > 0 {
		t.Errorf("got %q, want none of them", info.Warnings)
	}
	for _, text := range []string{"two words", "ä", "~"} {
		info.Warn(text)
	}
	if len(info.Warnings) != 3 {
		t.Errorf("got %q, want all three", info.Warnings)
	}
}
