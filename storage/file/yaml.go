package file

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A value that is JSON becomes block-style YAML with sorted keys, so that a change of a field is a change of a line.
// Numbers keep their digits. Anything else, and whatever would not read back as the same JSON, becomes one !!binary
// scalar. Reading takes any YAML that JSON can express.

const (
	maxDepth = 500
	maxNodes = 1 << 20 // aliases expanded
)

// encode returns the file content for a value.
func encode(value []byte) []byte {
	if want, ok := canonical(value); ok && utf8.Valid(value) {
		tree, err := parseJSON(value)
		if err == nil {
			var e emitter
			e.value(tree, 0, false)
			// What is written is what is read, or it is not written: YAML has more corners than any emitter.
			if got, err := decode(e.buf.Bytes()); err == nil && bytes.Equal(got, want) {
				return e.buf.Bytes()
			}
		}
	}
	return []byte("!!binary " + strconv.Quote(base64.StdEncoding.EncodeToString(value)) + "\n")
}

// decode returns the value in a file: compact JSON with sorted keys, or the bytes of a !!binary scalar.
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
	tree, err := r.value(root, 0)
	if err != nil {
		return nil, err
	}
	return marshal(tree)
}

// canonical returns compact JSON with sorted keys, and false if value is no JSON.
func canonical(value []byte) ([]byte, bool) {
	tree, err := parseJSON(value)
	if err != nil {
		return nil, false
	}
	out, err := marshal(tree)
	return out, err == nil
}

func parseJSON(value []byte) (any, error) {
	if !json.Valid(value) {
		return nil, errors.New("no JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	return tree, tooDeep(tree, 0)
}

func tooDeep(tree any, depth int) error {
	if depth > maxDepth {
		return errors.New("too deep")
	}
	switch t := tree.(type) {
	case map[string]any:
		for _, v := range t {
			if err := tooDeep(v, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range t {
			if err := tooDeep(v, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func marshal(tree any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// reader turns YAML nodes into what encoding/json has.
type reader struct{ nodes int }

func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, errors.New("the aliases expand to too much")
	}
	if depth > maxDepth {
		return nil, errors.New("the file is nested too deeply")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
				return nil, fmt.Errorf("line %d: a key must be a plain name", k.Line)
			}
			if _, twice := out[k.Value]; twice {
				return nil, fmt.Errorf("line %d: key %q is there twice", k.Line, k.Value)
			}
			v, err := r.value(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			out[k.Value] = v
		}
		return out, nil
	default:
		return scalar(n)
	}
}

func scalar(n *yaml.Node) (any, error) {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if plain && isNumber(n.Value) && (n.Tag == "" || n.Tag == "!!int" || n.Tag == "!!float" || n.Style&yaml.TaggedStyle == 0) {
		return json.Number(n.Value), nil
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int":
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, err
		}
		return json.Number(fmt.Sprint(v)), nil
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, err
		}
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("line %d: %s is no number in JSON", n.Line, n.Value)
		}
		return f, nil
	case "!!str", "!!timestamp":
		return n.Value, nil
	default:
		return nil, fmt.Errorf("line %d: %s has no counterpart in JSON", n.Line, tag)
	}
}

// isNumber reports whether s is a number in JSON's grammar.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if zero := strings.HasPrefix(s, "0"); zero {
		s = s[1:]
	} else if !digits() {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}

// emitter writes block-style YAML.
type emitter struct{ buf bytes.Buffer }

// value writes v at an indentation. inline is true after "key:" or "-", on the same line.
func (e *emitter) value(v any, indent int, inline bool) {
	switch t := v.(type) {
	case map[string]any:
		if len(t) == 0 {
			e.line(inline, "{}")
			return
		}
		if inline {
			e.buf.WriteByte('\n')
		}
		for _, k := range slices.Sorted(maps.Keys(t)) {
			e.indent(indent)
			e.buf.WriteString(quote(k))
			e.buf.WriteByte(':')
			next := indent + 2
			if _, list := t[k].([]any); list {
				next = indent // dashes at the level of the key, as kubectl writes them
			}
			e.value(t[k], next, true)
		}
	case []any:
		if len(t) == 0 {
			e.line(inline, "[]")
			return
		}
		if inline {
			e.buf.WriteByte('\n')
		}
		for _, item := range t {
			e.indent(indent)
			e.item(item, indent)
		}
	case string:
		if inline && literal(t) {
			e.block(t, indent)
			return
		}
		e.line(inline, quote(t))
	case json.Number:
		e.line(inline, string(t))
	case bool:
		e.line(inline, strconv.FormatBool(t))
	default:
		e.line(inline, "null")
	}
}

// item writes an element of a list; the first line of a map or list in it stands beside the dash.
func (e *emitter) item(v any, indent int) {
	m, isMap := v.(map[string]any)
	l, isList := v.([]any)
	if isMap && len(m) > 0 || isList && len(l) > 0 {
		var sub emitter
		sub.value(v, indent+2, false)
		e.buf.WriteString("- ")
		e.buf.Write(sub.buf.Bytes()[indent+2:])
		return
	}
	e.buf.WriteByte('-')
	e.value(v, indent+2, true)
}

func (e *emitter) line(inline bool, s string) {
	if inline {
		e.buf.WriteByte(' ')
	}
	e.buf.WriteString(s)
	e.buf.WriteByte('\n')
}

func (e *emitter) indent(n int) {
	for range n {
		e.buf.WriteByte(' ')
	}
}

// block writes a text of several lines as such.
func (e *emitter) block(s string, indent int) {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		e.buf.WriteString(" |-\n")
	case 1:
		e.buf.WriteString(" |\n")
	default:
		e.buf.WriteString(" |+\n")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			e.indent(max(indent, 2))
			e.buf.WriteString(line)
		}
		e.buf.WriteByte('\n')
	}
}

// literal reports whether a text is better read, and safely written, as a block of lines.
func literal(s string) bool {
	if !strings.Contains(strings.TrimRight(s, "\n"), "\n") || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == utf8.RuneError) {
			return false
		}
	}
	return true
}

// quote writes a string plain if every reader takes it for a string, else as JSON does.
func quote(s string) string {
	if isPlain(s) {
		return s
	}
	out, err := marshal(s)
	if err != nil {
		return `""`
	}
	var b strings.Builder
	for _, r := range string(out) {
		if r >= 0x7f && r < 0xa0 || r >= 0xfff0 && r <= 0xffff || r == 0xfeff { // YAML's readers refuse them raw
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isPlain is stricter than YAML: letters first, nothing that means something anywhere, no word that some version of
// YAML reads as a value.
func isPlain(s string) bool {
	if s == "" || len(s) > 512 || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch {
		case letter, i > 0 && c >= '0' && c <= '9':
		case c == '/':
		case i > 0 && (c == '-' || c == '_' || c == '.' || c == '(' || c == ')' || c == '+' || c == '=' || c == ';' || c == '$' || c == '@' || c == '^' || c == '~'):
		case i > 0 && c == ' ' && s[i-1] != ':':
		case i > 0 && c == ':' && s[i+1] != ' ':
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan":
		return false
	}
	return true
}
