package admission_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestExtendingShowsTheCode compares the code in docs/extending.md with the files that the code
// comes from. The name of its file stands before each block.
func TestExtendingShowsTheCode(t *testing.T) {
	doc, err := os.ReadFile("../../docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, heading := range []string{"## A plugin\n", "## A reserver\n", "## A resource\n"} {
		_, section, ok := strings.Cut(string(doc), heading)
		if !ok {
			t.Fatalf("there is no section %q", heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, block := range regexp.MustCompile("(?s)`([^`\n]+\\.go)`[^`]*:\n\n```go\n(.*?)```").FindAllStringSubmatch(section, -1) {
			found++
			code, err := os.ReadFile("../../" + block[1])
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(code), block[2]) {
				t.Errorf("%s does not have\n%s", block[1], block[2])
			}
		}
		if strings.Count(section, "```go\n") != len(regexp.MustCompile("(?s)`([^`\n]+\\.go)`[^`]*:\n\n```go\n").FindAllString(section, -1)) {
			t.Errorf("%q: a block does not say which file it is from", heading)
		}
	}
	if found < 8 {
		t.Errorf("found %d blocks of code", found)
	}
}
