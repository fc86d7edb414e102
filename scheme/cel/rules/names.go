package rules

import (
	"slices"
	"strings"
)

// reserved are the words that the language does not take for the names of fields.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace", "null",
	"package", "return", "true", "var", "void", "while",
}

// escapes are what stands in an identifier for what it cannot have.
var escapes = map[string]string{"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}

// escape returns the identifier by which expressions know a field, if there is one: of a name of letters, digits and _.-/ that does
// not begin with a digit.
func escape(name string) (string, bool) {
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return "", false
	}
	if slices.Contains(reserved, name) {
		return "__" + name + "__", true
	}
	var b strings.Builder // unused as long as nothing is escaped
	done := 0
	for i := 0; i < len(name); i++ {
		c, n := name[i], 1
		switch {
		case c == '_' && strings.HasPrefix(name[i:], "__"):
			n = 2
		case c == '.', c == '-', c == '/':
		case c == '_', '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			continue
		default:
			return "", false
		}
		b.WriteString(name[done:i] + "__" + escapes[name[i:i+n]] + "__")
		i += n - 1
		done = i + 1
	}
	if done == 0 {
		return name, true
	}
	return b.String() + name[done:], true
}

// Unescape returns the name that an identifier stands for. What is no escape for anything stands for nothing.
func Unescape(ident string) (string, bool) {
	if !strings.Contains(ident, "__") {
		return ident, true
	}
	var b strings.Builder
	rest := ident
	for {
		before, after, found := strings.Cut(rest, "__")
		end := strings.IndexByte(after, '_')
		if !found || end < 0 {
			b.WriteString(rest)
			return b.String(), true
		}
		if end == 0 || !strings.HasPrefix(after[end:], "__") { // no escape begins here; one may at the next underscore
			b.WriteString(before + "_")
			rest = rest[len(before)+1:]
			continue
		}
		name, ok := unescaped(after[:end], len(after) == end+2 && len(before) == 0 && b.Len() == 0)
		if !ok {
			return "", false
		}
		b.WriteString(before + name)
		rest = after[end+2:]
	}
}

// unescaped returns what a word between underscores stands for. whole says that nothing else is in the identifier.
func unescaped(word string, whole bool) (string, bool) {
	for name, escape := range escapes {
		if word == escape {
			return name, true
		}
	}
	return word, whole && slices.Contains(reserved, word)
}
