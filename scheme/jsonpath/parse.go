package jsonpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/names"
)

// The parser of templates: a parser reads text and actions and builds the steps (find.go). What it
// accepts, and its errors, are those of kubectl's parser, including its oddities.
//
// Examples of actions and their steps:
//
//	.spec.ports[0].name   name spec, name ports, slice 0, name name
//	..name                descent, name name
//	.a[1,3:5]             name a, union of slice 1 and slice 3:5
//	.a[?(@.b=="c")].d     name a, filter (name b, text c), name d
//	.a['b.c']             name a, name b, name c; ['b\.c'] is one name

// Parse parses a template, which is text with actions in braces.
func Parse(template string) (*Path, error) {
	parts, err := parse(template)
	if err != nil {
		return nil, err
	}
	p := &Path{parts: parts}
	if len(parts) == 1 {
		p.names = namesOf(parts[0])
	}
	return p, nil
}

// namesOf returns the field names in a part; nil if the part has other steps, or none.
func namesOf(p part) []string {
	var names []string
	for _, s := range p {
		n, ok := s.(name)
		if !ok {
			return nil
		}
		names = append(names, string(n))
	}
	return names
}

// parse parses a template into its parts.
func parse(template string) ([]part, error) {
	p := parser{text: template}
	if err := p.template(); err != nil {
		return nil, err
	}
	return p.parts, nil
}

// parseAction parses the content of an action. A brace in it ends the action, and what follows the
// brace is ignored.
func parseAction(action string) (part, error) {
	parts, err := parse("{" + action + "}")
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

// parser parses one template.
type parser struct {
	text  string
	pos   int
	parts []part
	steps part // the steps of the current action
}

// add adds a step to the current action.
func (p *parser) add(s step) { p.steps = append(p.steps, s) }

// endOfText is what next returns at the end of the template.
const endOfText = -1

// next consumes a rune.
func (p *parser) next() rune {
	if p.pos >= len(p.text) {
		return endOfText
	}
	r, width := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += width
	return r
}

// template parses text and actions to the end.
func (p *parser) template() error {
	for {
		before, _, more := strings.Cut(p.text[p.pos:], "{")
		if before != "" {
			p.parts = append(p.parts, part{text(before)})
		}
		if !more {
			return nil
		}
		p.pos += len(before) + 1
		if err := p.action(); err != nil {
			return err
		}
	}
}

// action parses an action up to and including its closing brace.
func (p *parser) action() error {
	p.steps = part{}
	for {
		var err error
		switch rest := p.text[p.pos:]; {
		case strings.HasPrefix(rest, "}"):
			p.pos++
			p.parts = append(p.parts, p.steps)
			return nil
		case strings.HasPrefix(rest, "[?("):
			err = p.filter()
		case strings.HasPrefix(rest, ".."):
			err = p.descent()
		default:
			err = p.step()
		}
		if err != nil {
			return err
		}
	}
}

// step parses any step but a filter and a descent.
func (p *parser) step() error {
	start := p.pos
	r := p.next()
	switch {
	case r == endOfText || r == '\r' || r == '\n':
		return errors.New("unclosed action")
	case r == ' ' || r == '@' || r == '$': // the value itself: no step
	case r == '[':
		return p.array(start)
	case r == '"' || r == '\'':
		return p.quoted(start, r)
	case r == '.':
		p.name()
	case r == '+' || r == '-' || unicode.IsDigit(r):
		return p.number(start)
	case isWord(r):
		p.until(endsName)
		switch w := p.text[start:p.pos]; w {
		case "true", "false":
			p.add(literal{w == "true"})
		default:
			p.add(word(w))
		}
	default:
		return fmt.Errorf("unrecognized character in action: %#U", r)
	}
	return nil
}

// isWord reports whether a word may contain the rune.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// endsName reports whether the rune ends a name.
func endsName(r rune) bool { return r == endOfText || strings.ContainsRune(" \t\r\n.,[]$@{}", r) }

// until consumes runes up to one that ends something.
func (p *parser) until(ends func(rune) bool) {
	for {
		at := p.pos
		if ends(p.next()) {
			p.pos = at
			return
		}
	}
}

// name parses a field name. A backslash escapes a rune that would end it.
func (p *parser) name() {
	start, escaped := p.pos, false
	p.until(func(r rune) bool {
		ends := endsName(r) && (!escaped || r == endOfText)
		escaped = r == '\\' && !escaped
		return ends
	})
	if read := p.text[start:p.pos]; read == "*" {
		p.add(wildcard{})
	} else {
		p.add(name(strings.ReplaceAll(read, `\`, "")))
	}
}

// descent parses "..", with the name that may follow.
func (p *parser) descent() error {
	if _, twice := last(p.steps).(descent); twice {
		return errors.New("invalid multiple recursive descent")
	}
	p.pos += len("..")
	p.add(descent{})
	if r, _ := utf8.DecodeRuneInString(p.text[p.pos:]); isWord(r) {
		p.name()
	}
	return nil
}

// number parses a number, whose first rune has been consumed.
func (p *parser) number(start int) error {
	p.until(func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
	read := p.text[start:p.pos]
	if n, err := strconv.Atoi(read); err == nil {
		p.add(literal{n})
		return nil
	}
	f, err := strconv.ParseFloat(read, 64)
	if err != nil {
		return fmt.Errorf("cannot parse number %s", read)
	}
	p.add(literal{f})
	return nil
}

// The forms of a key and of a slice in brackets.
var (
	arrayKey   = names.Pattern(`^'([^']*)'$`)
	arraySlice = names.Pattern(`^(-?\d*)(:-?\d*)?(:-?\d*)?$`)
)

// array parses what is in brackets: a union, the key of an object, or a slice.
func (p *parser) array(start int) error {
	for r := p.next(); r != ']'; r = p.next() {
		if r == endOfText || r == '\n' {
			return errors.New("unterminated array")
		}
	}
	read := p.text[start+1 : p.pos-1]
	if strings.Contains(read, ",") {
		var u union
		for element := range strings.SplitSeq(read, ",") {
			steps, err := parseAction("[" + strings.Trim(element, " ") + "]")
			if err != nil {
				return err
			}
			u = append(u, steps)
		}
		p.add(u)
		return nil
	}
	if key := arrayKey().FindStringSubmatch(read); key != nil {
		steps, err := parseAction("." + key[1])
		p.steps = append(p.steps, steps...)
		return err
	}
	if read == "*" {
		read = ":"
	}
	s, err := parseSlice(read)
	p.add(s)
	return err
}

// parseSlice parses from:to:step, each of which may be missing.
func parseSlice(read string) (slice, error) {
	parts := arraySlice().FindStringSubmatch(read)
	if parts == nil {
		return slice{}, fmt.Errorf("invalid array index %s", read)
	}
	s := slice{single: parts[2] == ""}
	for i, to := range []**int{&s.from, &s.to, &s.step} {
		digits := strings.TrimPrefix(parts[i+1], ":")
		if digits == "" {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return slice{}, fmt.Errorf("array index %s is not a number", digits)
		}
		*to = &n
	}
	return s, nil
}

// comparison splits a condition into its left side, operator and right side.
var comparison = names.Pattern(`^([^!<>=]+)([!<>=]+)(.+?)$`)

// filter parses [?(condition)]. One quoted string in the condition may contain parentheses.
func (p *parser) filter() error {
	p.pos += len("[?(")
	start := p.pos
	var quote rune
	closed := false
	for done := false; !done; {
		switch r := p.next(); r {
		case endOfText, '\n':
			return errors.New("unterminated filter")
		case '"', '\'':
			if quote == 0 {
				quote = r
			} else if r == quote && p.text[p.pos-2] != '\\' {
				closed = true
			}
		case ')':
			done = closed == (quote != 0)
		}
	}
	read := p.text[start : p.pos-1]
	if p.next() != ']' {
		return errors.New("unclosed array expect ]")
	}
	var f filter
	sides := comparison().FindStringSubmatch(read)
	left := read
	if sides != nil {
		left, f.operator = sides[1], sides[2]
	}
	var err error
	if f.left, err = parseAction(left); err == nil && sides != nil {
		f.right, err = parseAction(sides[3])
	}
	p.add(f)
	return err
}

// quoted parses a string in single or double quotes.
func (p *parser) quoted(start int, quote rune) error {
	for {
		r := p.next()
		if r == endOfText || r == '\n' {
			return errors.New("unterminated quoted string")
		}
		if r == quote && p.text[p.pos-2] != '\\' {
			break
		}
	}
	var plain []byte
	for rest := p.text[start+1 : p.pos-1]; rest != ""; {
		c, multibyte, tail, err := strconv.UnquoteChar(rest, byte(quote))
		if err != nil {
			return fmt.Errorf("unquote string %s error %v", p.text[start:p.pos], err)
		}
		if rest = tail; multibyte {
			plain = utf8.AppendRune(plain, c)
		} else {
			plain = append(plain, byte(c))
		}
	}
	p.add(text(plain))
	return nil
}

// last returns the last step of a part, nil if there is none.
func last(p part) step {
	if len(p) == 0 {
		return nil
	}
	return p[len(p)-1]
}
