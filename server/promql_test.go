package server_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file reads as much of PromQL as the check of our own queries needs (operating_test.go): the
// selectors of an expression, and the labels by which it groups them.

// promSeries is one series of a page of metrics: its labels, and its name as __name__.
type promSeries map[string]string

// promMatcher is a condition on the value of a label.
type promMatcher struct{ label, op, value string }

// promSelector selects series. grouped are the labels by which the expression around it groups.
type promSelector struct {
	name     string
	matchers []promMatcher
	grouped  []string
}

var (
	promSample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? [^ ]+$`)
	promLabel  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
	promToken  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9][a-zA-Z0-9_.]*|=~|!~|!=|\S`)
	promWord   = regexp.MustCompile(`^[a-zA-Z_:]`)
)

// readSeries reads a page of metrics. Each series also has the labels that Prometheus adds.
func readSeries(t *testing.T, page string, added promSeries) (all []promSeries) {
	t.Helper()
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := promSample.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("the line is no sample: %q", line)
		}
		s := promSeries{"__name__": m[1]}
		for label, value := range added {
			s[label] = value
		}
		for _, pair := range promLabel.FindAllStringSubmatch(m[2], -1) {
			s[pair[1]] = pair[2]
		}
		all = append(all, s)
	}
	return all
}

// promScanner reads the tokens of an expression.
type promScanner struct {
	t      *testing.T
	expr   string
	tokens []string // that are left
}

// peek returns the next token, "" at the end.
func (s *promScanner) peek() string {
	if len(s.tokens) == 0 {
		return ""
	}
	return s.tokens[0]
}

// next takes the next token.
func (s *promScanner) next() string {
	token := s.peek()
	if token == "" {
		s.t.Fatalf("%s: the expression ends early", s.expr)
	}
	s.tokens = s.tokens[1:]
	return token
}

// want takes a token that must be there.
func (s *promScanner) want(token string) {
	if got := s.next(); got != token {
		s.t.Fatalf("%s: got %s, want %s", s.expr, got, token)
	}
}

// selectors returns the selectors of an expression. A grouping stands before what it groups, as in
// sum by (le) (x).
func selectors(t *testing.T, expr string) (all []promSelector) {
	t.Helper()
	s := &promScanner{t, expr, promToken.FindAllString(expr, -1)}
	var within [][]string // the groupings of each open parenthesis
	var grouping []string // of the next parenthesis
	for s.peek() != "" {
		switch token := s.next(); {
		case token == "(":
			if n := len(within); n > 0 {
				grouping = slices.Concat(grouping, within[n-1])
			}
			within, grouping = append(within, grouping), nil
		case token == ")":
			if len(within) == 0 {
				t.Fatalf("%s: a parenthesis too many", expr)
			}
			within = within[:len(within)-1]
		case token == "[":
			s.next()
			s.want("]")
		case token == "by":
			grouping = s.labels()
		case token == "offset":
			s.next()
		case token == "or" || token == "unless" || !promWord.MatchString(token) || s.peek() == "(" || s.peek() == "by":
		default:
			selected := promSelector{name: token, matchers: s.matchers()}
			if n := len(within); n > 0 {
				selected.grouped = within[n-1]
			}
			all = append(all, selected)
		}
	}
	if len(within) > 0 || len(all) == 0 {
		t.Fatalf("%s: a parenthesis is open, or there is no selector", expr)
	}
	return all
}

// labels reads a list of labels in parentheses.
func (s *promScanner) labels() (list []string) {
	s.want("(")
	for {
		list = append(list, s.next())
		if s.peek() != "," {
			s.want(")")
			return list
		}
		s.want(",")
	}
}

// matchers reads the matchers of a selector, if it has any.
func (s *promScanner) matchers() (list []promMatcher) {
	if s.peek() != "{" {
		return nil
	}
	for s.next() != "}" { // a brace or a comma
		label, op, value := s.next(), s.next(), s.next()
		list = append(list, promMatcher{label, op, strings.Trim(value, `"`)})
	}
	return list
}

// selects reports whether m accepts the series, which must have the label.
func (m promMatcher) selects(t *testing.T, s promSeries) bool {
	value, has := s[m.label]
	same := value == m.value
	if strings.HasSuffix(m.op, "~") {
		pattern, err := regexp.Compile("^(?:" + m.value + ")$")
		if err != nil {
			t.Fatal(err)
		}
		same = pattern.MatchString(value)
	}
	return has && same == strings.HasPrefix(m.op, "=")
}

// selects reports whether the selector selects the series, and the series has the labels by which
// it is grouped.
func (p promSelector) selects(t *testing.T, s promSeries) bool {
	if s["__name__"] != p.name {
		return false
	}
	for _, m := range p.matchers {
		if !m.selects(t, s) {
			return false
		}
	}
	return !slices.ContainsFunc(p.grouped, func(label string) bool { _, has := s[label]; return !has })
}

// checkQuery fails the test if a selector of the expression selects no series, or if none of its
// selectors leaves a label that the text about a result shows.
func checkQuery(t *testing.T, page []promSeries, expr string, shown []string) {
	t.Helper()
	left := map[string]bool{}
	for _, p := range selectors(t, expr) {
		i := slices.IndexFunc(page, func(s promSeries) bool { return p.selects(t, s) })
		if i < 0 {
			t.Errorf("%s: no series of /metrics is %v", expr, p)
			continue
		}
		for _, label := range p.grouped {
			left[label] = true
		}
		for label := range page[i] {
			left[label] = left[label] || len(p.grouped) == 0
		}
	}
	for _, label := range shown {
		if !left[label] {
			t.Errorf("%s: the result has no label %s, which its text shows", expr, label)
		}
	}
}

// TestSelectors: what the check of queries reads in an expression, and that it finds what is wrong.
func TestSelectors(t *testing.T) {
	t.Parallel()
	got := selectors(t, `sum by (le, verb) (rate(a_bucket{x="1",y!~"b|c"}[5m])) > 1 or absent(up) unless z offset 10m`)
	want := []promSelector{
		{"a_bucket", []promMatcher{{"x", "=", "1"}, {"y", "!~", "b|c"}}, []string{"le", "verb"}}, {name: "up"}, {name: "z"},
	}
	if !slices.EqualFunc(got, want, func(a, b promSelector) bool {
		return a.name == b.name && slices.Equal(a.matchers, b.matchers) && slices.Equal(a.grouped, b.grouped)
	}) {
		t.Errorf("got %v, want %v", got, want)
	}
	page := readSeries(t, "# TYPE a counter\na{x=\"1\",y=\"\"} 2\n", promSeries{"job": "j"})
	for expr, ok := range map[string]bool{
		`a`: true, `a{x="1",job="j"}`: true, `a{y=""}`: true, `a{x=~"1|2"}`: true, `sum by (x) (a)`: true, `b`: false,
		`a{x="2"}`: false, `a{x!="1"}`: false, `a{z!="1"}`: false, `a{z=""}`: false, `sum by (z) (rate(a[5m]))`: false, `a{x=~"11"}`: false,
	} {
		if p := selectors(t, expr); p[0].selects(t, page[0]) != ok {
			t.Errorf("%s: selected: got %t, want %t", expr, !ok, ok)
		}
	}
}
