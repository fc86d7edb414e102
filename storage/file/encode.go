package file

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encoding a value into a file. Put calls encode.
//
// A JSON value becomes block-style YAML in the value's own order, so that a change of a field is a
// change of a line. Decoding gives the same bytes, because JSON as the API writes it leaves few
// choices: it has no blanks, numbers are copied digit by digit, and texts are escaped as
// encoding/json does. Two choices remain, and an explicit tag records them:
//   - "<", ">" and "&" of a text are escaped, as in built-in kinds. With the tag !!str they are
//     not, as in custom resources.
//   - kind and apiVersion come first. With the tag !!map on the document they stay where they are
//     written.
//
// Example: {"kind":"ConfigMap","apiVersion":"v1","data":{"n":"1","cmd":"a\n<b"}} becomes
//
//	kind: ConfigMap
//	apiVersion: v1
//	data:
//	  n: "1"
//	  cmd: !!str |-
//	    a
//	    <b
//
// A value that would not be decoded to the same bytes, JSON or not, becomes one !!binary scalar.

// encode returns the file content for a value. Decoding it gives the same bytes.
func encode(value []byte) []byte {
	if content, ok := encodeJSON(value); ok {
		// The content is decoded at once, because no emitter knows all corners of YAML.
		for _, tag := range []string{"", "!!map\n"} {
			content := append([]byte(tag), content...)
			if got, err := decode(content); err == nil && bytes.Equal(got, value) {
				return content
			}
		}
	}
	return []byte("!!binary " + strconv.Quote(base64.StdEncoding.EncodeToString(value)) + "\n")
}

// encodeJSON returns a value as YAML. It returns false if the value is not JSON, has blanks between
// tokens, is nested too deeply or grows too large.
func encodeJSON(value []byte) ([]byte, bool) {
	if !json.Valid(value) || !utf8.Valid(value) {
		return nil, false
	}
	e := emitter{in: value}
	e.value(0, false)
	return e.out, !e.failed && e.pos == len(value)
}

// emitter turns compact JSON into block-style YAML in one pass. It stops at the first byte that it
// cannot write.
type emitter struct {
	in     []byte // valid JSON
	pos    int    // in in
	out    []byte
	depth  int
	dash   bool // the line has a dash, and the next indent writes nothing
	failed bool // the value cannot be written
}

// value writes the value at pos at an indentation. inline says that "key:" or "-" stands before it
// on the line.
func (e *emitter) value(indent int, inline bool) {
	if e.depth++; e.depth > maxDepth {
		e.failed = true
	}
	defer func() { e.depth-- }()
	if e.failed {
		return
	}
	rest := e.in[e.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("{}")), bytes.HasPrefix(rest, []byte("[]")):
		e.pos += 2
		e.line(inline, string(rest[:2]))
	case rest[0] == '{':
		e.begin(inline)
		e.members(indent)
	case rest[0] == '[':
		e.begin(inline)
		e.items(indent)
	case rest[0] == '"':
		e.text(indent, inline)
	default:
		n := 0
		for n < len(rest) && strings.IndexByte(",]} \t\r\n", rest[n]) < 0 {
			n++
		}
		e.failed = n == 0 // a blank
		e.pos += n
		e.line(inline, string(rest[:n]))
	}
}

// begin ends the line of a key before the first line of its map or list.
func (e *emitter) begin(inline bool) {
	if inline {
		e.out = append(e.out, '\n')
	}
}

// members writes the members of an object, one per line.
func (e *emitter) members(indent int) {
	for !e.failed && e.in[e.pos] != '}' {
		e.pos++ // past { or ,
		e.indent(indent)
		key, raw := e.token()
		if e.failed || e.in[e.pos] != ':' {
			e.failed = true
			return
		}
		e.pos++
		e.out = append(append(append(e.out, tagOf(raw)...), quote(key)...), ':')
		next := indent + 2
		if e.in[e.pos] == '[' {
			next = indent // dashes at the level of the key, as kubectl writes them
		}
		e.value(next, true)
		e.expect(",}")
	}
	e.pos++
}

// items writes the elements of a list. The first line of a map or list in the list stands beside
// the dash.
func (e *emitter) items(indent int) {
	for !e.failed && e.in[e.pos] != ']' {
		e.pos++ // past [ or ,
		e.indent(indent)
		e.out = append(e.out, '-')
		next := e.in[e.pos:]
		nested := (next[0] == '{' || next[0] == '[') && next[1] != next[0]+2 // in ASCII, the other bracket
		if nested {
			e.out = append(e.out, ' ')
			e.dash = true
		}
		e.value(indent+2, !nested)
		e.expect(",]")
	}
	e.pos++
}

// expect fails unless the next byte is one of next. In valid JSON, only a blank can stand there
// instead.
func (e *emitter) expect(next string) {
	if !e.failed && strings.IndexByte(next, e.in[e.pos]) < 0 {
		e.failed = true
	}
}

// token reads a string. raw reports that it has <, > or & unescaped.
func (e *emitter) token() (text string, raw bool) {
	if e.in[e.pos] != '"' {
		e.failed = true
		return "", false
	}
	end := e.pos + 1
	escaped := false
	for ; e.in[end] != '"'; end++ {
		if e.in[end] == '\\' {
			escaped = true
			end++
		}
	}
	token := e.in[e.pos : end+1]
	e.pos = end + 1
	if !escaped {
		text = string(token[1 : len(token)-1])
	} else if err := json.Unmarshal(token, &text); err != nil {
		e.failed = true
	}
	return text, bytes.ContainsAny(token, "<>&")
}

// text writes a string: as a block of lines if it has several, else on the line.
func (e *emitter) text(indent int, inline bool) {
	s, raw := e.token()
	if inline && literal(s) {
		e.out = append(e.out, ' ')
		e.out = append(e.out, tagOf(raw)...)
		e.block(s, indent)
		return
	}
	e.line(inline, tagOf(raw)+quote(s))
}

// tagOf returns the tag of a string, which is needed only if it is raw.
func tagOf(raw bool) string {
	if raw {
		return "!!str "
	}
	return ""
}

// line writes s and ends the line.
func (e *emitter) line(inline bool, s string) {
	if inline {
		e.out = append(e.out, ' ')
	}
	e.out = append(append(e.out, s...), '\n')
}

// indent writes the indentation of a line, unless a dash has taken its place.
func (e *emitter) indent(n int) {
	if e.dash {
		e.dash = false
		return
	}
	if len(e.out) > maxFile/2 { // deep nesting is mostly indentation
		e.failed = true
		return
	}
	for range n {
		e.out = append(e.out, ' ')
	}
}

// block writes a string of several lines as a literal block.
func (e *emitter) block(s string, indent int) {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		e.out = append(e.out, "|-\n"...)
	case 1:
		e.out = append(e.out, "|\n"...)
	default:
		e.out = append(e.out, "|+\n"...)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			e.indent(max(indent, 2))
			e.out = append(e.out, line...)
		}
		e.out = append(e.out, '\n')
	}
}

// literal reports whether a string has several lines and can be written as a literal block without
// loss.
func literal(s string) bool {
	if !strings.Contains(strings.TrimRight(s, "\n"), "\n") || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff ||
			r == utf8.RuneError) {
			return false
		}
	}
	return true
}

// quote returns a string plain if every YAML reader takes it for that string, else quoted as in
// JSON.
func quote(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range string(appendText(nil, s, false)) {
		// YAML readers refuse these characters unless they are escaped
		if r >= 0x7f && r < 0xa0 || r >= 0xfff0 && r <= 0xffff || r == 0xfeff {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isPlain reports whether a string may be written without quotes. It is stricter than YAML: letters
// first, no character with a meaning anywhere, and no word that some version of YAML reads as
// another type.
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
		case i > 0 && (c == '-' || c == '_' || c == '.' || c == '(' || c == ')' || c == '+' || c == '=' || c == ';' ||
			c == '$' || c == '@' || c == '^' || c == '~'):
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
