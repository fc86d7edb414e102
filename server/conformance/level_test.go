package conformance

import (
	"cmp"
	"encoding/json"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

// leveller replaces the parts of a response that differ between any two runs by the text that the
// recordings have there.
type leveller struct {
	variables *strings.Replacer // values of this run -> the variables that hold them
	now       time.Time
}

// newLeveller returns a leveller for the variables of a scenario. It does not replace short values
// and plain numbers, because they also occur by chance.
func newLeveller(vars map[string]any) *leveller {
	var names []string
	for name, v := range vars {
		if s, ok := v.(string); ok && len(s) > 4 && !number.MatchString(s) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { // the longest value first: one may contain another
		if d := len(vars[b].(string)) - len(vars[a].(string)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, vars[name].(string), "${"+name+"}")
	}
	return &leveller{variables: strings.NewReplacer(pairs...), now: time.Now()}
}

// pattern replaces the matches of a regular expression. Each match contains a word, for which texts
// are searched first: most texts lack the word, and some are the documents of a whole API.
type pattern struct {
	word string
	find *regexp.Regexp
	with string
}

func (p *pattern) replace(s string) string {
	if !strings.Contains(s, p.word) {
		return s
	}
	return p.find.ReplaceAllString(s, p.with)
}

var number = regexp.MustCompile(`^[1-9][0-9]*$`)

// inText are the patterns that apply to every text.
var inText = []pattern{
	{"-", regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "<uid>"},
	{"eyJ", regexp.MustCompile(`eyJ[-\w]+(\.[-\w]+){2}`), "<jwt>"},
	{"-----BEGIN ", regexp.MustCompile(`-----BEGIN [ A-Z]+-----[^-]+-----END [ A-Z]+-----\n?`), "<pem>"},
	{"LS0tLS1CRUdJTi", regexp.MustCompile(`LS0tLS1CRUdJTi[=/+\w]+`), "<pem>"},
	{"Too large resource version: ", regexp.MustCompile(`(Too large resource version: [0-9]+, current: )[0-9]+`), "$1<rv>"},
	{"too old resource version: ", regexp.MustCompile(`(too old resource version: )[0-9]+ \([0-9]+\)`), "$1<rv> (<rv>)"},
	{"ResourceVersion in ", regexp.MustCompile(`(ResourceVersion in (?:the )?(?:precondition|object meta|record)(?:: | \())[0-9]+`), "$1<rv>"},
	{"resourceVersion", regexp.MustCompile(`(resourceVersion\\?"?: ?\\?")[1-9][0-9]*`), "$1<rv>"},
	{"\n@@ -", regexp.MustCompile(`\n@@ -[0-9](?s:.*)`), "\n<diff>"},
	{"Invalid value: ", regexp.MustCompile(`Invalid value: \{"[A-Z].{300,}\}: `), "Invalid value: <object>: "},
	{"in scheme ", regexp.MustCompile(`in scheme "[^"]+"`), `in scheme "<scheme>"`},
	{"storageVersionHash", regexp.MustCompile(`(storageVersionHash"?: "?)[/+\w]+=*`), "$1<hash>"},
	{"hash=", regexp.MustCompile(`(hash=)[0-9A-Fa-f]+`), "$1<hash>"},
}

var timestamp = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})`)

// clockRange is how far a time may be from the present to count as a time of this run.
const clockRange = 3 * 24 * time.Hour

func (l *leveller) text(s string) string {
	s = l.variables.Replace(s)
	for i := range inText {
		s = inText[i].replace(s)
	}
	if !strings.Contains(s, "20") {
		return s
	}
	return timestamp.ReplaceAllStringFunc(s, func(found string) string {
		at, err := time.Parse(time.RFC3339Nano, found)
		switch {
		case err != nil || at.Sub(l.now).Abs() > clockRange:
			return found
		case len(found) == len("2006-01-02T15:04:05.000000Z"):
			return "<microtime>"
		}
		return "<time>"
	})
}

// header levels out a response header.
func (l *leveller) header(name, value string) string {
	if name == "Etag" {
		return "<etag>"
	}
	return l.text(value)
}

// value levels out decoded JSON.
func (l *leveller) value(v any) any {
	switch v := v.(type) {
	case string:
		return l.text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = l.value(v[i])
		}
		return out
	case map[string]any:
		return l.object(v)
	}
	return v
}

func (l *leveller) object(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[l.text(k)] = l.field(k, v)
	}
	if prefix, _ := m["generateName"].(string); prefix != "" {
		if name, _ := m["name"].(string); strings.HasPrefix(name, prefix) && len(name) == len(prefix)+5 {
			out["name"] = l.text(prefix) + "<suffix>"
		}
	}
	levelCauses(out)
	if out["kind"] == "Table" {
		levelTable(out)
	}
	return out
}

// field levels out the value of a field by the field's name.
func (l *leveller) field(name string, v any) any {
	s, isString := v.(string)
	switch name {
	case "resourceVersion":
		if number.MatchString(s) {
			return "<rv>"
		}
	case "continue":
		if s != "" {
			return "<continue>"
		}
	case "storageVersionHash", "responseHash":
		if s != "" {
			return "<hash>"
		}
	case "serverAddress":
		if isString {
			return "<address>"
		}
	case "clusterIP":
		if net.ParseIP(s) != nil {
			return "<ip>"
		}
	case "managedFields":
		if list, ok := v.([]any); ok {
			return l.owners(list)
		}
	case "clusterIPs":
		if list, ok := v.([]any); ok {
			out := make([]any, len(list))
			for i := range list {
				out[i] = l.field("clusterIP", list[i])
			}
			return out
		}
	case "nodePort", "healthCheckNodePort":
		if n, ok := v.(json.Number); ok {
			if port, err := n.Int64(); err == nil && port >= 30000 {
				return "<nodePort>"
			}
		}
	}
	return l.value(v)
}

// owners levels out managedFields. A server sorts them by time, which differs between runs, so the
// recordings have them sorted by other fields. owners therefore checks that the server has sorted
// them, and then sorts them as the recordings do.
func (l *leveller) owners(entries []any) []any {
	out := l.value(entries).([]any)
	if !slices.IsSortedFunc(entries, byFields("operation", "time", "manager", "apiVersion", "subresource")) {
		return append(out, "not in order")
	}
	sortValues(out, "operation", "manager", "subresource", "apiVersion")
	return out
}

// levelCauses sorts the causes of a Status, and the same texts in its message.
func levelCauses(status map[string]any) {
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	if len(causes) == 0 {
		return
	}
	text, _ := status["message"].(string)
	start, repeated := strings.CutSuffix(text, causesText(causes))
	sortValues(causes, "field", "reason", "message")
	if repeated {
		status["message"] = start + causesText(causes)
	}
}

// causesText returns the part of a Status message that lists the causes, each once.
func causesText(causes []any) string {
	var parts []string
	for _, c := range causes {
		part := textAt(c, "field") + ": " + textAt(c, "message")
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// sortValues sorts objects by the given fields, and then by their whole JSON.
func sortValues(list []any, fields ...string) {
	byThem := byFields(fields...)
	slices.SortStableFunc(list, func(a, b any) int {
		return cmp.Or(byThem(a, b), strings.Compare(compact(a), compact(b)))
	})
}

// byFields compares objects by the given fields, which are strings.
func byFields(fields ...string) func(a, b any) int {
	return func(a, b any) int {
		for _, f := range fields {
			if d := strings.Compare(textAt(a, f), textAt(b, f)); d != 0 {
				return d
			}
		}
		return 0
	}
}

// textAt returns a string member of an object, or "".
func textAt(v any, key string) string {
	m, _ := v.(map[string]any)
	s, _ := m[key].(string)
	return s
}

var (
	age       = regexp.MustCompile(`^([0-9]+[dhms])+$|^<invalid>$`)
	ageColumn = regexp.MustCompile(`(?i)^(age|last seen|first seen|duration|last schedule|created)$`)
	nodePort  = regexp.MustCompile(`:3[0-2][0-9]{3}/`)
)

// levelTable replaces ages, cluster IPs and node ports in the cells of a Table.
func levelTable(table map[string]any) {
	columns, _ := table["columnDefinitions"].([]any)
	rows, _ := table["rows"].([]any)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		cells, _ := row["cells"].([]any)
		for i := range cells {
			cell, ok := cells[i].(string)
			if !ok {
				continue
			}
			var column any
			if i < len(columns) {
				column = columns[i]
			}
			name := textAt(column, "name")
			switch {
			case age.MatchString(cell) && (len(columns) == 0 || textAt(column, "type") == "date" || ageColumn.MatchString(name)):
				cells[i] = "<age>"
			case strings.EqualFold(name, "cluster-ip") && net.ParseIP(cell) != nil:
				cells[i] = "<ip>"
			case strings.EqualFold(name, "port(s)"):
				cells[i] = nodePort.ReplaceAllString(cell, ":<nodePort>/")
			}
		}
	}
}
