// Package manifest reads files of objects as kubectl does: YAML or JSON, several documents in a file, several files in a folder.
//
// An object is JSON with a head: its kind and its name are known, and nothing else is looked at. A document that has no kind, or
// the same key twice, is an error, which names the file and the document. Documents that hold nothing are left out. A List (v1)
// stands for its items.
//
// Not here: which kinds there are, and what objects look like.
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

// Object is an object in a file.
type Object struct {
	File     string // as it was named
	Document int    // which one of the file, from 1

	Kind            meta.GroupVersionKind
	Namespace, Name string
	JSON            []byte
}

// Place says where an object is: "ships.yaml: document 2".
func (o *Object) Place() string { return place(o.File, o.Document) }

func place(file string, document int) string { return fmt.Sprintf("%s: document %d", file, document) }

// extensions are those of the files that a folder is read for.
var extensions = []string{".json", ".yaml", ".yml"}

// ReadPath reads a file, or the files of a folder in the order of their names: those that end in .json, .yaml or .yml. Folders in a
// folder are left out. If kinds are given, objects of others are left out as well, and so is what is no object at all, such as the
// files of tools that lie beside them.
func ReadPath(path string, kinds ...meta.GroupKind) ([]Object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readFile(path, kinds)
	}
	entries, err := os.ReadDir(path) // in order
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

func readFile(name string, kinds []meta.GroupKind) ([]Object, error) {
	data, err := configfile.Read(name)
	if err != nil {
		return nil, err
	}
	return read(name, data, kinds)
}

// Max bounds the documents of a file, and the objects in it: what is beyond is not read, which is
// an error.
const Max = 100_000

// Read reads what a file holds. The error joins what is wrong with each document; the others are returned all the same.
func Read(file string, data []byte) ([]Object, error) { return read(file, data, nil) }

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
			errs = append(errs, fmt.Errorf("%s: %w", place(file, i+1), err))
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

// separator is a line between two documents of YAML.
var separator = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?$`)

// split cuts a stream into its documents, of which it returns the first ones, most at the most:
// values of JSON one after the other, or YAML. What begins like JSON and is none is YAML.
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

// splitYAML leaves out what stands before the first line that separates documents, if that is nothing.
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

// toJSON returns a document as JSON, in which keys are left as they are.
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

// head is what is looked at of an object.
type head struct {
	meta.TypeMeta `json:",inline"`
	Metadata      struct{ Name, Namespace string }
	Items         []json.RawMessage // of a List
}

// heads returns the object that is written in text, or those that it is a List of; none for null. If kinds are given, only these
// are wanted.
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
		return nil, fmt.Errorf("this is no object: %w", err)
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
	return []Object{{Kind: gv.WithKind(h.Kind), Namespace: h.Metadata.Namespace, Name: h.Metadata.Name, JSON: text}}, nil
}
