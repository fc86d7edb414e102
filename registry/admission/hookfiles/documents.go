package hookfiles

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/configfile"
)

// This file reads the files of a directory, and splits them into documents.

// document is one document of a file.
type document struct {
	file string // its path
	text []byte // not empty, and without white space around it
}

// extensions are the ends of the names of files that are read.
var extensions = []string{".yaml", ".yml", ".json"}

// readDocuments returns the documents in a directory, in the order of the names of their files, and
// the content of the directory: each file that is not empty, followed by a zero byte.
func readDocuments(dir string) (list []document, content []byte, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, nil, fmt.Errorf("failed to read manifest directory %q: %w", dir, err)
	}
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains(extensions, strings.ToLower(filepath.Ext(entry.Name()))) {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		data, err := configfile.Read(file)
		if err != nil {
			return nil, nil, fmt.Errorf("failed to read file %q: %w", file, err)
		}
		if len(data) == 0 {
			continue
		}
		content = append(append(content, data...), 0)
		texts, err := split(data)
		if err != nil {
			return nil, nil, fmt.Errorf("failed to split YAML documents in file %q: %w", file, err)
		}
		for _, text := range texts {
			list = append(list, document{file, text})
		}
	}
	return list, content, nil
}

const separator = "---"

// split splits a file at the lines that begin with the separator. Such a line at the beginning of a
// document is part of the document, as in kube-apiserver.
func split(data []byte) (documents [][]byte, err error) {
	var text []byte
	end := func() {
		if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
			documents = append(documents, trimmed)
		}
		text = nil
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if rest, is := bytes.CutPrefix(line, []byte(separator)); is {
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				return nil, errors.New("invalid Yaml document separator: " + string(rest))
			}
			if len(text) > 0 {
				end()
				continue
			}
		}
		text = append(append(text, line...), '\n')
	}
	end()
	return documents, nil
}
