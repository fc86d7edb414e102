// Package manifest reads files of objects as kubectl does: YAML or JSON, several documents per
// file, several files per folder.
//
// Words: a document is one YAML document or one JSON value of a file; a manifest is a file of
// documents; the head of an object is its apiVersion, kind, name and namespace.
//
// Laws:
//   - Only the head of an object is read; the rest of its JSON is passed on as it is.
//   - A document without a kind, or a YAML document with a repeated key, is an error that names the
//     file and the number of the document. All other documents are returned nevertheless.
//   - Empty documents are skipped. A List (v1) counts as its items.
//   - A file has at most Max documents and objects; configfile bounds its size.
//
// Any goroutine may call the functions.
//
// Not here: which kinds exist, and what their objects look like.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Object is one object of a file.
type Object struct {
	File     string // the path as the caller named it
	Document int    // the number of the document in the file, from 1

	// Kind, Namespace and Name are the head of the object.
	Kind            meta.GroupVersionKind
	Namespace, Name string
	// JSON is the whole object.
	JSON []byte
}

// Position returns the file and document of the object, for messages: "ships.yaml: document 2".
func (o *Object) Position() string { return position(o.File, o.Document) }

// position returns the position of a document, for messages.
func position(file string, document int) string {
	return fmt.Sprintf("%s: document %d", file, document)
}

// extensions are the file names that ReadPath reads in a folder.
var extensions = []string{".json", ".yaml", ".yml"}

// ReadPath reads a file or, in a folder, the files that end in .json, .yaml or .yml, in the order
// of their names. It does not read folders in the folder. If kinds are given, it leaves out objects
// of other kinds and everything that is no object, such as the files of other tools in the same
// folder.
func ReadPath(path string, kinds ...meta.GroupKind) ([]Object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readFile(path, kinds)
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, err
	}
	var objects []Object
	var errs []error
	for _, e := range entries {
		if e.IsDir() || !slices.Contains(extensions, filepath.Ext(e.Name())) {
			continue
		}
		found, err := readFile(filepath.Join(path, e.Name()), kinds)
		objects, errs = append(objects, found...), append(errs, err)
	}
	return objects, errors.Join(errs...)
}

// readFile reads one file.
func readFile(name string, kinds []meta.GroupKind) ([]Object, error) {
	data, err := configfile.Read(name)
	if err != nil {
		return nil, err
	}
	return read(name, data, kinds)
}

// Max bounds the number of documents in a file, and the number of objects in it. A file with more
// is read up to the bound, and is an error.
const Max = 100_000

// Read returns the objects in data, the content of a file; file names it in errors. The error joins
// the errors of all documents. The other documents are returned nevertheless.
func Read(file string, data []byte) ([]Object, error) { return read(file, data, nil) }

// read is Read with the kinds of ReadPath.
func read(file string, data []byte, kinds []meta.GroupKind) ([]Object, error) {
	var objects []Object
	var errs []error
	documents := split(data, Max+1)
	for i, document := range documents[:min(len(documents), Max)] {
		text, err := toJSON(document)
		var found []Object
		if err == nil {
			found, err = heads(text, kinds)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", position(file, i+1), err))
		}
		for _, o := range found {
			o.File, o.Document = file, i+1
			objects = append(objects, o)
		}
		if len(objects) > Max {
			break
		}
	}
	if len(documents) > Max || len(objects) > Max {
		errs = append(errs, fmt.Errorf("%s: more than %d documents or objects: the rest has not been read", file, Max))
	}
	return objects[:min(len(objects), Max)], errors.Join(errs...)
}

// separator matches a line between two YAML documents.
var separator = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?$`)

// split splits a file into its documents and returns the first of them, up to the number most. A
// file that consists of JSON values has a document for each value; any other file is YAML.
func split(data []byte, most int) [][]byte {
	var documents [][]byte
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		if len(documents) == most {
			return documents
		}
		var document json.RawMessage
		switch err := dec.Decode(&document); {
		case err == io.EOF:
			return documents
		case err != nil:
			return splitYAML(data, most)
		}
		documents = append(documents, document)
	}
}

// splitYAML splits a YAML stream at its separators. If only white space precedes the first
// separator, it is no document.
func splitYAML(data []byte, most int) [][]byte {
	var documents [][]byte
	from := 0
	for _, line := range separator.FindAllIndex(data, most) {
		if from > 0 || len(bytes.TrimSpace(data[:line[0]])) > 0 {
			documents = append(documents, data[from:line[0]])
		}
		from = line[1]
	}
	return append(documents, data[from:])
}

// toJSON returns a document as JSON. It does not change the case of keys.
func toJSON(document []byte) ([]byte, error) {
	if json.Valid(document) {
		return document, nil
	}
	text, repeated, err := codec.YAMLToJSON(document, true, nil)
	if err == nil && repeated != "" {
		err = errors.New(repeated)
	}
	return text, err
}

// head is the part of an object that is read.
type head struct {
	meta.TypeMeta `json:",inline"`
	Metadata      struct{ Name, Namespace string }
	Items         []json.RawMessage // of a List
}

// heads returns the object in text, or the items if it is a List; nothing for null. If kinds are
// given, it leaves out all other objects.
func heads(text []byte, kinds []meta.GroupKind) ([]Object, error) {
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		return nil, nil
	}
	var h head
	err := json.Unmarshal(text, &h)
	switch {
	case err != nil && len(kinds) > 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if h.APIVersion == "v1" && h.Kind == "List" {
		var items []Object
		for i, item := range h.Items {
			found, err := heads(item, kinds)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			items = append(items, found...)
		}
		return items, nil
	}
	gv, ok := meta.ParseGroupVersion(h.APIVersion)
	switch {
	case len(kinds) > 0 && !slices.Contains(kinds, gv.WithKind(h.Kind).GroupKind()):
		return nil, nil
	case h.Kind == "":
		return nil, errors.New("kind is not set")
	case h.APIVersion == "":
		return nil, errors.New("apiVersion is not set")
	case !ok:
		return nil, fmt.Errorf("apiVersion: unexpected GroupVersion string: %v", h.APIVersion)
	}
	return []Object{{
		Kind: gv.WithKind(h.Kind), Namespace: h.Metadata.Namespace, Name: h.Metadata.Name, JSON: text,
	}}, nil
}
