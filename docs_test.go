package coracle

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedFile is a Go file that a document names.
var namedFile = regexp.MustCompile("`([\\w./*-]+\\.go)`")

// TestNamedFiles: each Go file that a document names exists, and the name is its full path, so that
// a reader who has only the name finds the file. In docs/rosetta.md, a name that fits no file of
// ours is one of Kubernetes'; docs/extending.md names files that the reader is about to write.
func TestNamedFiles(t *testing.T) {
	const rosetta, extending = "docs/rosetta.md", "docs/extending.md"
	ours := map[string]bool{} // by base name
	err := filepath.WalkDir(".", func(name string, entry os.DirEntry, err error) error {
		ours[path.Base(name)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(docs, "ARCHITECTURE.md", "README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, found := range namedFile.FindAllStringSubmatch(line, -1) {
				name := found[1]
				if files, err := filepath.Glob(name); err == nil && len(files) > 0 {
					continue
				}
				theirs := doc == rosetta && (strings.Contains(name, "/") || !ours[name])
				if !theirs && doc != extending {
					t.Errorf("%s:%d: %s is not the path of a file", doc, i+1, name)
				}
			}
		}
	}
}
