package file

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Decoding a file into a value, and the hashes by which files and values are compared. The decoder
// takes any YAML that JSON can express, and keeps its order. From a file that the engine has
// written it makes the exact bytes that were put (encode.go). loadFileLocked and compareLocked call
// decode, and encode calls it to check itself.

// These bound the work for one file.
const (
	maxDepth = 500     // nesting of maps and lists
	maxNodes = 1 << 20 // nodes, with aliases expanded
)

// decode returns the value of a file: compact JSON, or the bytes of a !!binary scalar.
func decode(content []byte) ([]byte, error) {
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, errors.New("the file has no document")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!binary" {
		return base64.StdEncoding.DecodeString(root.Value)
	}
	r := reader{}
	if err := r.value(root, 0); err != nil {
		return nil, err
	}
	return r.out, nil
}

// reader turns YAML nodes into JSON.
type reader struct {
	out   []byte
	nodes int // converted so far
}

// value appends the JSON of a node. The document itself has depth 0; if it is an object, kind and
// apiVersion come first, unless the tag !!map on the document keeps the order (encode.go).
func (r *reader) value(n *yaml.Node, depth int) error {
	if r.nodes++; r.nodes > maxNodes || len(r.out) > maxFile {
		return errors.New("the aliases expand to too many nodes or bytes")
	}
	if depth > maxDepth {
		return errors.New("the file is nested too deeply")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		r.out = append(r.out, '[')
		for i, c := range n.Content {
			if i > 0 {
				r.out = append(r.out, ',')
			}
			if err := r.value(c, depth+1); err != nil {
				return err
			}
		}
		r.out = append(r.out, ']')
		return nil
	case yaml.MappingNode:
		members := n.Content
		if depth == 0 && n.Style&yaml.TaggedStyle == 0 {
			members = headFirst(members)
		}
		return r.members(members, depth)
	default:
		return r.scalar(n)
	}
}

// members appends an object. nodes are its keys and values in turn.
func (r *reader) members(nodes []*yaml.Node, depth int) error {
	seen := make(map[string]bool, len(nodes)/2)
	r.out = append(r.out, '{')
	for i := 0; i+1 < len(nodes); i += 2 {
		k := nodes[i]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
			return fmt.Errorf("line %d: a key must be a plain name", k.Line)
		}
		if seen[k.Value] {
			return fmt.Errorf("line %d: key %q is repeated", k.Line, k.Value)
		}
		seen[k.Value] = true
		if i > 0 {
			r.out = append(r.out, ',')
		}
		r.out = append(appendText(r.out, k.Value, !isRaw(k)), ':')
		if err := r.value(nodes[i+1], depth+1); err != nil {
			return err
		}
	}
	r.out = append(r.out, '}')
	return nil
}

// headFirst moves kind and apiVersion before all other members, where the API writes them, because
// lists leave out the head of an object by its length. People and kubectl write these members
// anywhere. Without both, or with both in front, the order stays.
func headFirst(nodes []*yaml.Node) []*yaml.Node {
	var kind, version, rest []*yaml.Node
	leading := 0
	for i := 0; i+1 < len(nodes); i += 2 {
		member := nodes[i : i+2 : i+2]
		switch nodes[i].Value {
		case "kind":
			kind = append(kind, member...)
		case "apiVersion":
			version = append(version, member...)
		default:
			rest = append(rest, member...)
			continue
		}
		if i < 4 {
			leading++
		}
	}
	if len(kind) == 0 || len(version) == 0 || leading == 2 {
		return nodes
	}
	return slices.Concat(kind, version, rest)
}

// isRaw reports whether <, > and & of a text are not escaped in JSON: the tag !!str says so.
func isRaw(n *yaml.Node) bool { return n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str" }

// appendText appends a text as encoding/json writes it, with <, > and & escaped or not. A text
// without special characters is copied, which is faster and gives the same.
func appendText(dst []byte, s string, escape bool) []byte {
	special := func(c byte) bool {
		return c < ' ' || c > '~' || c == '"' || c == '\\' || escape && (c == '<' || c == '>' || c == '&')
	}
	for i := range len(s) {
		if special(s[i]) {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(escape)
			enc.Encode(s) // a string cannot fail
			return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// scalar appends the JSON of a scalar. A plain number in JSON's grammar is copied digit by digit;
// other YAML numbers are converted.
func (r *reader) scalar(n *yaml.Node) error {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if plain && isNumber(n.Value) && (n.Tag == "" || n.Tag == "!!int" || n.Tag == "!!float" ||
		n.Style&yaml.TaggedStyle == 0) {
		r.out = append(r.out, n.Value...)
		return nil
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		r.out = append(r.out, "null"...)
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return err
		}
		r.out = strconv.AppendBool(r.out, b)
	case "!!int":
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		r.out = fmt.Append(r.out, v)
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return err
		}
		out, err := json.Marshal(f)
		if err != nil { // infinite or not a number
			return fmt.Errorf("line %d: %s is not a number in JSON", n.Line, n.Value)
		}
		r.out = append(r.out, out...)
	case "!!str", "!!timestamp":
		r.out = appendText(r.out, n.Value, !isRaw(n))
	default:
		return fmt.Errorf("line %d: %s has no counterpart in JSON", n.Line, tag)
	}
	return nil
}

// isNumber reports whether s is a number in JSON's grammar. JSON that begins and ends like a number
// is one.
func isNumber(s string) bool {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	return s != "" && (s[0] == '-' || digit(s[0])) && digit(s[len(s)-1]) && json.Valid([]byte(s))
}

// checksum is the hash by which an unchanged file is recognised. Like digest it guards against
// accidents, not against attackers.
func checksum(content []byte) uint64 {
	h := fnv.New64a()
	h.Write(content)
	return h.Sum64()
}

// digest is a hash of the meaning of a value: the order of members and the escapes of texts do not
// change it.
func digest(value []byte) uint64 {
	if json.Valid(value) && utf8.Valid(value) {
		var tree any
		dec := json.NewDecoder(bytes.NewReader(value))
		dec.UseNumber()
		if err := dec.Decode(&tree); err == nil {
			if sorted, err := json.Marshal(tree); err == nil {
				value = sorted
			}
		}
	}
	return checksum(value)
}
