package meta

import (
	"fmt"
	"slices"
	"strings"
)

// The parser of label selectors. Its errors are those of Kubernetes' parser, token by token.

// ParseLabels reads a label selector:
//
//	selector    = [ requirement { "," requirement } ]
//	requirement = key | "!" key | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ]
//	            | key ( "in" | "notin" ) "(" values ")"
//	values      = [ value ] { "," [ value ] }
//
// White space may stand between tokens. The result is sorted by key.
func ParseLabels(s string) (LabelRequirements, error) {
	p := labelParser{lexer: labelLexer{text: s}}
	p.next()
	var rs LabelRequirements
	for {
		switch p.value().kind {
		case tokenEnd:
			return rs.sorted(), nil
		case tokenWord, tokenNot:
		default:
			return nil, fmt.Errorf("found '%s', expected: !, identifier, or 'end of string'", p.tok.text)
		}
		r, err := p.requirement()
		if err != nil {
			return nil, fmt.Errorf("unable to parse requirement: %w", err)
		}
		rs = append(rs, r)
		switch t := p.take(); t.kind {
		case tokenEnd:
			return rs.sorted(), nil
		case tokenComma:
			if k := p.value().kind; k != tokenWord && k != tokenNot {
				return nil, fmt.Errorf("found '%s', expected: identifier after ','", p.tok.text)
			}
		default:
			return nil, fmt.Errorf("found '%s', expected: ',' or 'end of string'", t.text)
		}
	}
}

// tokenKind is the kind of a token of a label selector.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenBad
	tokenWord
	tokenIn
	tokenNotIn
	tokenComma
	tokenOpen
	tokenClose
	tokenNot
	tokenEquals
	tokenDoubleEquals
	tokenNotEquals
	tokenGreater
	tokenLess
)

// labelSymbols are the tokens that are no words.
var labelSymbols = map[string]tokenKind{
	",": tokenComma, "(": tokenOpen, ")": tokenClose, "!": tokenNot, "=": tokenEquals, "==": tokenDoubleEquals,
	"!=": tokenNotEquals, ">": tokenGreater, "<": tokenLess,
}

// labelToken is a token with its text.
type labelToken struct {
	kind tokenKind
	text string
}

// labelLexer splits a selector into tokens.
type labelLexer struct {
	text string
	pos  int
}

// next returns the next token.
func (l *labelLexer) next() labelToken {
	for l.pos < len(l.text) && isSelectorBlank(l.text[l.pos]) {
		l.pos++
	}
	if l.pos == len(l.text) {
		return labelToken{kind: tokenEnd}
	}
	start := l.pos
	if isSelectorSymbol(l.text[start]) {
		// The longest symbol wins.
		for end := min(start+2, len(l.text)); end > start; end-- {
			if kind, ok := labelSymbols[l.text[start:end]]; ok {
				l.pos = end
				return labelToken{kind, l.text[start:end]}
			}
		}
	}
	for l.pos < len(l.text) && !isSelectorBlank(l.text[l.pos]) && !isSelectorSymbol(l.text[l.pos]) {
		l.pos++
	}
	switch word := l.text[start:l.pos]; word {
	case "in":
		return labelToken{tokenIn, word}
	case "notin":
		return labelToken{tokenNotIn, word}
	default:
		return labelToken{tokenWord, word}
	}
}

func isSelectorBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isSelectorSymbol(c byte) bool { return strings.IndexByte("=!(),><", c) >= 0 }

// labelParser parses a selector. tok is the next token, not consumed yet.
type labelParser struct {
	lexer labelLexer
	tok   labelToken
}

// next consumes a token.
func (p *labelParser) next() { p.tok = p.lexer.next() }

// value returns the next token where a key or value may stand: there, "in" and "notin" are words.
func (p *labelParser) value() labelToken {
	t := p.tok
	if t.kind == tokenIn || t.kind == tokenNotIn {
		t.kind = tokenWord
	}
	return t
}

// take consumes and returns the token that value returns.
func (p *labelParser) take() labelToken {
	t := p.value()
	p.next()
	return t
}

// requirement parses one requirement.
func (p *labelParser) requirement() (r LabelRequirement, err error) {
	op := OpExists
	key := p.take()
	if key.kind == tokenNot {
		op = OpDoesNotExist
		key = p.take()
	}
	if key.kind != tokenWord {
		return r, fmt.Errorf("found '%s', expected: identifier", key.text)
	}
	if err := checkLabelKey(key.text, nil); err != nil {
		return r, err
	}
	if op == OpDoesNotExist || p.tok.kind == tokenEnd || p.tok.kind == tokenComma {
		return NewLabelRequirement(key.text, op, nil)
	}
	if op, err = p.operator(); err != nil {
		return r, err
	}
	var values []string
	if op == OpIn || op == OpNotIn {
		values, err = p.set()
	} else {
		values, err = p.single()
	}
	if err != nil {
		return r, err
	}
	slices.Sort(values) // before validation, because its errors name the index among the sorted values
	return NewLabelRequirement(key.text, op, slices.Compact(values))
}

// operator consumes an operator.
func (p *labelParser) operator() (SelectorOperator, error) {
	t := p.tok
	p.next()
	switch t.kind {
	case tokenIn:
		return OpIn, nil
	case tokenNotIn:
		return OpNotIn, nil
	case tokenEquals:
		return OpEquals, nil
	case tokenDoubleEquals:
		return OpDoubleEquals, nil
	case tokenNotEquals:
		return OpNotEquals, nil
	case tokenGreater:
		return OpGreaterThan, nil
	case tokenLess:
		return OpLessThan, nil
	}
	return 0, fmt.Errorf("found '%s', expected: in, notin, =, ==, !=, gt, lt", t.text)
}

// single parses the value after an operator. A missing value is the empty string.
func (p *labelParser) single() ([]string, error) {
	if p.tok.kind == tokenEnd || p.tok.kind == tokenComma {
		return []string{""}, nil
	}
	t := p.take()
	if t.kind != tokenWord {
		return nil, fmt.Errorf("found '%s', expected: identifier", t.text)
	}
	return []string{t.text}, nil
}

// set parses values in parentheses, in the order of the text. A missing value is the empty string:
// between two commas, before the first comma, after the last comma, and in empty parentheses. As in
// Kubernetes' parser, two commas before the closing parenthesis are an error.
func (p *labelParser) set() ([]string, error) {
	if t := p.take(); t.kind != tokenOpen {
		return nil, fmt.Errorf("found '%s' expected: '('", t.text)
	}
	switch p.value().kind {
	case tokenClose:
		p.next()
		return []string{""}, nil
	case tokenWord, tokenComma:
	default:
		return nil, fmt.Errorf("found '%s', expected: ',', ')' or identifier", p.tok.text)
	}
	var values []string
	for {
		switch t := p.take(); t.kind {
		case tokenWord:
			values = append(values, t.text)
			switch p.tok.kind {
			case tokenComma:
			case tokenClose:
				p.next()
				return values, nil
			default:
				return nil, fmt.Errorf("found '%s', expected: ',' or ')'", p.tok.text)
			}
		case tokenComma:
			if len(values) == 0 {
				values = append(values, "")
			}
			switch p.tok.kind {
			case tokenClose:
				p.next()
				return append(values, ""), nil
			case tokenComma:
				p.next()
				values = append(values, "")
			}
		default:
			return nil, fmt.Errorf("found '%s', expected: ',', or identifier", t.text)
		}
	}
}
