package admission

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decodes the configurations of plugins. The constructors of plugins that can be
// configured call it.

// DecodeStrict decodes a configuration into to. data is YAML or JSON and must state one of kinds.
// Unknown and repeated fields are errors. The caller sets defaults and checks values.
func DecodeStrict[T any](data []byte, to *T, kinds ...meta.GroupVersionKind) error {
	text, repeated, err := codec.YAMLToJSON(data, true, nil)
	if err != nil {
		return err
	}
	if err := checkKind(text, data, kinds); err != nil {
		return err
	}
	strict, err := codec.DecodeStrict(text, to)
	if err != nil {
		return err
	}
	if repeated != "" {
		strict = append([]string{repeated}, strict...)
	}
	return codec.StrictError(strict)
}

// DecodeLenient decodes a configuration as DecodeStrict does, but ignores unknown fields and takes
// the last of repeated ones. It is for configurations that kube-apiserver reads without field
// validation.
func DecodeLenient[T any](data []byte, to *T, kinds ...meta.GroupVersionKind) error {
	text, _, err := codec.YAMLToJSON(data, false, nil)
	if err != nil {
		return err
	}
	if err := checkKind(text, data, kinds); err != nil {
		return err
	}
	return codec.DecodeJSON(text, to)
}

// errEmpty is the error for a configuration without content.
var errEmpty = errors.New("the configuration is empty")

// checkKind checks that the JSON in text states one of kinds. written is the text before its
// conversion to JSON.
func checkKind(text, written []byte, kinds []meta.GroupVersionKind) error {
	if len(bytes.TrimSpace(written)) == 0 {
		return errEmpty
	}
	gvk, err := codec.Interpret(text, written, meta.GroupVersionKind{})
	if err != nil {
		return err
	}
	if !slices.Contains(kinds, gvk) {
		return fmt.Errorf("no kind %q is registered for version %q: want %s of %s", gvk.Kind, gvk.GroupVersion(),
			kinds[0].Kind, kinds[0].GroupVersion())
	}
	return nil
}
