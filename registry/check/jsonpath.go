package check

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
)

// JSONPath checks a path in kubectl's form of JSONPath, such as spec.containers[0].name, without the braces around it.
func JSONPath(p *field.Path, path string) field.ErrorList {
	s := pathScanner{text: "{" + path + "}"}
	if err := s.template(); err != nil {
		return field.ErrorList{field.Invalid(p, path, "invalid JSONPath: "+err.Error())}
	}
	return nil
}

// pathScanner reads a template: text with actions in braces. It keeps nothing of it.
type pathScanner struct {
	text string
	pos  int
	// descended is set after "..", which does not stand twice in a row.
	descended bool
}

// scanAction reads an action on its own.
func scanAction(action string) error {
	s := pathScanner{text: "{" + action + "}"}
	return s.template()
}

const endOfText = -1

func (s *pathScanner) next() rune {
	if s.pos >= len(s.text) {
		return endOfText
	}
	r, width := utf8.DecodeRuneInString(s.text[s.pos:])
	s.pos += width
	return r
}

func (s *pathScanner) template() error {
	for {
		text := strings.IndexByte(s.text[s.pos:], '{')
		if text < 0 {
			return nil
		}
		s.pos += text + 1
		if err := s.action(); err != nil {
			return err
		}
	}
}

// action reads up to the brace that ends it.
func (s *pathScanner) action() error {
	s.descended = false
	for {
		var err error
		switch rest := s.text[s.pos:]; {
		case strings.HasPrefix(rest, "}"):
			s.pos++
			return nil
		case strings.HasPrefix(rest, "[?("):
			err = s.filter()
		case strings.HasPrefix(rest, ".."):
			err = s.descent()
		default:
			err = s.step()
		}
		if err != nil {
			return err
		}
	}
}

// step reads what is neither a filter nor a descent.
func (s *pathScanner) step() error {
	start := s.pos
	r := s.next()
	switch r {
	case endOfText, '\r', '\n':
		return errors.New("unclosed action")
	case ' ', '@', '$':
		return nil
	}
	s.descended = false
	switch {
	case r == '[':
		return s.array(start)
	case r == '"' || r == '\'':
		return s.quoted(start, r)
	case r == '.':
		s.name()
	case r == '+' || r == '-' || unicode.IsDigit(r):
		return s.number(start)
	case isWord(r):
		s.until(endsName)
	default:
		return fmt.Errorf("unrecognized character in action: %#U", r)
	}
	return nil
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func endsName(r rune) bool { return r == endOfText || strings.ContainsRune(" \t\r\n.,[]$@{}", r) }

// until reads up to a rune that ends something.
func (s *pathScanner) until(ends func(rune) bool) {
	for {
		at := s.pos
		if ends(s.next()) {
			s.pos = at
			return
		}
	}
}

// name reads the name of a field, in which a backslash escapes what would end it.
func (s *pathScanner) name() {
	escaped := false
	s.until(func(r rune) bool {
		ends := endsName(r) && (!escaped || r == endOfText)
		escaped = r == '\\' && !escaped
		return ends
	})
}

func (s *pathScanner) descent() error {
	if s.descended {
		return errors.New("invalid multiple recursive descent")
	}
	s.pos += len("..")
	s.descended = true
	if r, _ := utf8.DecodeRuneInString(s.text[s.pos:]); isWord(r) {
		s.name()
		s.descended = false
	}
	return nil
}

func (s *pathScanner) number(start int) error {
	s.until(func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
	text := s.text[start:s.pos]
	if _, err := strconv.Atoi(text); err == nil {
		return nil
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return fmt.Errorf("cannot parse number %s", text)
	}
	return nil
}

var (
	arrayKey   = regexp.MustCompile(`^'([^']*)'$`)
	arraySlice = regexp.MustCompile(`^(-?\d*)(:-?\d*)?(:-?\d*)?$`)
)

// array reads what stands in brackets: elements, a slice of them, or the key of a map.
func (s *pathScanner) array(start int) error {
	for r := s.next(); r != ']'; r = s.next() {
		if r == endOfText || r == '\n' {
			return errors.New("unterminated array")
		}
	}
	text := s.text[start+1 : s.pos-1]
	if strings.Contains(text, ",") {
		for element := range strings.SplitSeq(text, ",") {
			if err := scanAction("[" + strings.Trim(element, " ") + "]"); err != nil {
				return err
			}
		}
		return nil
	}
	if key := arrayKey.FindStringSubmatch(text); key != nil {
		return scanAction("." + key[1])
	}
	if text == "*" {
		return nil
	}
	parts := arraySlice.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("invalid array index %s", text)
	}
	for _, part := range parts[1:] {
		if part = strings.TrimPrefix(part, ":"); part == "" {
			continue
		}
		if _, err := strconv.Atoi(part); err != nil {
			return fmt.Errorf("array index %s is not a number", part)
		}
	}
	return nil
}

var comparison = regexp.MustCompile(`^([^!<>=]+)([!<>=]+)(.+?)$`)

// filter reads a condition on elements. One text in quotes may hold parentheses.
func (s *pathScanner) filter() error {
	s.descended = false
	s.pos += len("[?(")
	start := s.pos
	var quote rune
	closed := false
	for done := false; !done; {
		switch r := s.next(); r {
		case endOfText, '\n':
			return errors.New("unterminated filter")
		case '"', '\'':
			if quote == 0 {
				quote = r
			} else if r == quote && s.text[s.pos-2] != '\\' {
				closed = true
			}
		case ')':
			done = closed == (quote != 0)
		}
	}
	text := s.text[start : s.pos-1]
	if s.next() != ']' {
		return errors.New("unclosed array expect ]")
	}
	sides := comparison.FindStringSubmatch(text)
	if sides == nil {
		return scanAction(text)
	}
	if err := scanAction(sides[1]); err != nil {
		return err
	}
	return scanAction(sides[3])
}

// quoted reads a text in quotes of either sort.
func (s *pathScanner) quoted(start int, quote rune) error {
	for {
		r := s.next()
		if r == endOfText || r == '\n' {
			return errors.New("unterminated quoted string")
		}
		if r == quote && s.text[s.pos-2] != '\\' {
			break
		}
	}
	text := s.text[start+1 : s.pos-1]
	for rest := text; rest != ""; {
		_, _, tail, err := strconv.UnquoteChar(rest, byte(quote))
		if err != nil {
			return fmt.Errorf("unquote string %s error %v", s.text[start:s.pos], err)
		}
		rest = tail
	}
	return nil
}
