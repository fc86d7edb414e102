package rules

import (
	"slices"
	"strings"
)

// reserved are the words of CEL that cannot be field names in expressions.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
	"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
}

// escapes maps what a CEL identifier cannot contain to its name: a.b is a__dot__b in expressions.
var escapes = map[string]string{"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}

// escape returns the identifier of a field in expressions. It reports false for a name without one:
// it is empty, begins with a digit, or has other characters than letters, digits and _.-/.
func escape(name string) (string, bool) {
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return "", false
	}
	if slices.Contains(reserved, name) {
		return "__" + name + "__", true
	}
	var b strings.Builder // unused unless something is escaped
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

// Unescape returns the field name that an identifier stands for. It reports false if the identifier
// contains an escape that is none of ours.
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
		// Not an escape; one may begin at the next underscore.
		if end == 0 || !strings.HasPrefix(after[end:], "__") {
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

// unescaped returns what the word between two pairs of underscores stands for. whole says that the
// identifier consists of this one escape, as that of a reserved word does.
func unescaped(word string, whole bool) (string, bool) {
	for name, escape := range escapes {
		if word == escape {
			return name, true
		}
	}
	return word, whole && slices.Contains(reserved, word)
}
