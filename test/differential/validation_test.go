package differential

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/typeinfo"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// court has both sides judge the same requests.
type court struct {
	ours    *ours
	theirs  http.Handler
	objects *shelf
	donors  donors
}

// TestWrites compares, for mutations of valid objects, the answers of Kubernetes and Coracle to a
// create, and to an update through each door.
func TestWrites(t *testing.T) {
	c := newCourt(t)
	t.Cleanup(func() { logUnseen(t) })
	for _, row := range rows {
		t.Run(row.String(), func(t *testing.T) {
			if row.Alone {
				defer c.forget(t, row)
			} else {
				t.Parallel()
			}
			c.judge(t, row)
		})
	}
}

func newCourt(t *testing.T) *court {
	c := &court{ours: newUntended(t), objects: newShelf(), donors: donors{}}
	c.theirs = newTheirs(t, rows, c.objects)
	c.putSystemNamespaces(t)
	for _, row := range rows {
		more := row.stored(t)
		for i, example := range row.examples(t) {
			merge(example, more[i])
			c.donors.learn(goType(t, row.Kind), example)
		}
	}
	learnEnums(c.ours.scheme)
	return c
}

// goType is Kubernetes' Go type of a kind in a version.
func goType(t testing.TB, gvk schema.GroupVersionKind) reflect.Type {
	t.Helper()
	obj, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.TypeOf(obj).Elem()
}

// learnEnums adds the enum values of Coracle's declarations to words, so that mutations try them.
func learnEnums(s *scheme.Scheme) {
	seen := map[*typeinfo.Type]bool{}
	var walk func(t *typeinfo.Type)
	walk = func(t *typeinfo.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		walk(t.Elem)
		for _, f := range t.Fields {
			for _, word := range slices.Concat(f.Enum, f.ItemEnum) {
				if !slices.Contains(words[f.Name], word) {
					words[f.Name] = append(words[f.Name], word)
				}
			}
			walk(f.Type)
		}
	}
	for _, gvk := range s.AllKinds() {
		walk(s.Type(gvk))
	}
}

func (c *court) putSystemNamespaces(t *testing.T) {
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		for _, row := range rows {
			if row.Resource == "namespaces" {
				a := ask(c.ours, http.MethodGet, row.url(name, ""), nil)
				if name == where {
					a = ask(c.ours, http.MethodPut, row.url(name, ""), encode(forAdmins(a.Body)))
				}
				c.objects.put(row.Resource, "", name, internal(t, a.Body))
			}
		}
	}
}

// judge compares creates and updates of one kind.
func (c *court) judge(t *testing.T, row Row) {
	examples := row.examples(t)
	typ := goType(t, row.Kind)
	r := newReport(row)
	began, tried := time.Now(), 0
	for _, example := range examples {
		if a := ask(c.theirs, http.MethodPost, row.collection()+"?dryRun=All", encode(example)); !a.accepted() {
			t.Errorf("Kubernetes does not accept the example %q:\n%s", nameOf(example), indent(a.Body))
		}
		r.compare(c.request(row, http.MethodPost, row.collection(), example, "the example "+nameOf(example)))
	}
	if t.Failed() {
		return
	}
	m := &mutator{rand: random("create", row.Resource, row.Kind), donors: c.donors}
	for i := range row.count() {
		body := m.mutate(typ, examples[i%len(examples)])
		r.compare(c.request(row, http.MethodPost, row.collection(), body, m.notes...))
		tried++
	}
	doors, err := row.REST(c.objects)
	if err != nil {
		t.Fatal(err)
	}
	more := row.stored(t)
	for i, example := range examples {
		examples[i] = c.store(t, row, example, more[i])
	}
	for _, door := range doorNames(doors) {
		tried += c.judgeDoor(t, row, door, examples, r)
	}
	c.judgeTables(t, row, examples, r)
	r.print(t, tried, time.Since(began))
}

func doorNames(doors Doors) []string {
	var list []string
	for door := range doors {
		list = append(list, door)
	}
	slices.Sort(list)
	return list
}

// judgeDoor compares updates through one door.
func (c *court) judgeDoor(t *testing.T, row Row, door string, stored []map[string]any, r *report) int {
	m := &mutator{rand: random("update", row.Resource, row.Kind, door), donors: c.donors}
	type base struct {
		url  string
		typ  reflect.Type
		body map[string]any
	}
	var bases []base
	for _, obj := range stored {
		url := row.url(nameOf(obj), door)
		body := obj
		if door != "" { // a subresource may have a kind of its own
			if a := ask(c.theirs, http.MethodGet, url, nil); a.accepted() {
				body = a.Body
			}
		}
		bases = append(bases, base{url, goType(t, kindOf(body)), body})
		r.compare(c.request(row, http.MethodPut, url, body, "nothing changed"))
	}
	for i := range row.count() {
		b := bases[i%len(bases)]
		r.compare(c.request(row, http.MethodPut, b.url, m.mutate(b.typ, b.body), m.notes...))
	}
	return row.count()
}

func kindOf(obj map[string]any) schema.GroupVersionKind {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind)
}

// store stores an example on both sides for updates to start from: the result of a create, with the
// example's own status and metadata, and with more.
func (c *court) store(t *testing.T, row Row, example, more map[string]any) map[string]any {
	t.Helper()
	a := ask(c.theirs, http.MethodPost, row.collection()+"?dryRun=All", encode(example))
	if !a.accepted() {
		t.Fatalf("Kubernetes refuses the example %q:\n%s", nameOf(example), indent(a.Body))
	}
	obj := a.Body
	if status := example["status"]; status != nil {
		obj["status"] = status
	}
	for key, v := range example["metadata"].(map[string]any) {
		obj["metadata"].(map[string]any)[key] = v
	}
	merge(obj, more)
	stored := c.ours.put(t, row, example, versioned(t, internal(t, obj), row.Kind))
	c.objects.put(row.Resource, row.namespace(), nameOf(example), internal(t, stored))
	return stored
}

// forget deletes the examples of a kind from Coracle.
func (c *court) forget(t *testing.T, row Row) {
	for _, example := range row.examples(t) {
		name := nameOf(example)
		if a := ask(c.ours, http.MethodDelete, row.url(name, ""), nil); !a.accepted() && a.Code != http.StatusNotFound {
			t.Errorf("deleting the example %q: %s", name, indent(a.Body))
		}
	}
}

// trial is one request with the answers of both sides.
type trial struct {
	method, url  string
	body         map[string]any
	notes        []string
	theirs, ours answer
	again        func() answer // asks Kubernetes again
}

func (c *court) request(row Row, method, url string, body map[string]any, notes ...string) trial {
	data := encode(body)
	return c.hear(row, trial{method: method, url: url, body: body, notes: slices.Clone(notes)}, func(h http.Handler) answer {
		return ask(h, method, url+"?dryRun=All", data)
	})
}

// hear sends the request of a trial to both sides and keeps the answers.
func (c *court) hear(row Row, tr trial, send func(h http.Handler) answer) trial {
	generated := generatedName(tr.body)
	once := func(h http.Handler) answer {
		a := send(h)
		if a.Code == http.StatusGatewayTimeout { // the machine was overloaded
			a = send(h)
		}
		a = a.withoutGenerated(generated)
		a.settle()
		return a
	}
	tr.theirs, tr.ours = once(c.theirs), once(c.ours)
	tr.again = func() answer { return once(c.theirs) }
	if row.Settle != nil && tr.theirs.accepted() && tr.ours.accepted() {
		row.Settle(tr.theirs.Body, tr.ours.Body)
	}
	return tr
}

// differences lists the differences between two answers. Each is one line without values, so that
// equal differences of many trials can be counted and listed.
func (tr trial) differences() []string {
	a, b := tr.theirs, tr.ours
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if !slices.Equal(a.Warnings, b.Warnings) {
		missing, extra := without(a.Warnings, b.Warnings), without(b.Warnings, a.Warnings)
		for _, w := range missing {
			say("warning missing: %s", pattern(w))
		}
		for _, w := range extra {
			say("warning extra: %s", pattern(w))
		}
		if len(missing)+len(extra) == 0 {
			say("warnings in another order")
		}
	}
	if a.accepted() && b.accepted() {
		difference("", any(a.Body), any(b.Body), func(path string, theirs, ours any) {
			if text := string(encode(theirs)); ours == nil && (text == "[]" || text == "{}") {
				say("null for what is empty at %s", pattern(path))
				return
			}
			say("object differs at %s", pattern(path))
		})
		if a.Code != b.Code {
			say("code %d, not %d", b.Code, a.Code)
		}
		return list
	}
	theirs, ours := a.causes(), b.causes()
	switch {
	case a.accepted() && len(ours) == 0:
		return append(list, "refused: "+pattern(fmt.Sprint(b.Code, " ", b.Body["message"])))
	case b.accepted() && len(theirs) == 0:
		return append(list, "not refused: "+pattern(fmt.Sprint(a.Code, " ", a.Body["message"])))
	}
	missing, extra := without(theirs, ours), without(ours, theirs)
	for _, cause := range missing {
		say("missing: %s", pattern(cause))
	}
	for _, cause := range extra {
		say("extra: %s", pattern(cause))
	}
	if len(missing)+len(extra) > 0 {
		return list
	}
	if !slices.Equal(theirs, ours) {
		if slices.Equal(metadataFirst(theirs), metadataFirst(ours)) {
			say("metadata causes in another place")
		} else if !tr.unstable() {
			say("causes in another order: %s", pattern(strings.Join(ours, " | ")))
		}
		return list
	}
	difference("", any(a.Body), any(b.Body), func(path string, theirs, ours any) {
		say("status differs at %s: %s, not %s", path, pattern(fmt.Sprint(ours)), pattern(fmt.Sprint(theirs)))
	})
	if a.Code != b.Code {
		say("code %d, not %d", b.Code, a.Code)
	}
	return list
}

// metadataFirst moves the causes about metadata to the front, sorted.
func metadataFirst(causes []string) []string {
	var first, rest []string
	for _, c := range causes {
		if strings.HasPrefix(c, "metadata.") && !strings.HasPrefix(c, "metadata.taints") {
			first = append(first, c)
		} else {
			rest = append(rest, c)
		}
	}
	slices.Sort(first)
	return append(first, rest...)
}

// unstable reports whether Kubernetes itself names causes in random order, that of a Go map.
func (tr trial) unstable() bool {
	first := tr.theirs.causes()
	for range 100 { // of two entries, a small map yields the second first in one of eight tries
		if !slices.Equal(tr.again().causes(), first) {
			return true
		}
	}
	return false
}

// without returns the elements of list that are not in other. An element that repeats counts
// several times.
func without(list, other []string) []string {
	left := slices.Clone(other)
	var out []string
	for _, s := range list {
		if i := slices.Index(left, s); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			out = append(out, s)
		}
	}
	return out
}

var (
	quoted  = regexp.MustCompile(`\\?"(?:[^"\\]|\\.)*\\?"`)
	indices = regexp.MustCompile(`\[[^\]\s]*\]`)
	digits  = regexp.MustCompile(`[0-9]+`)
)

// pattern replaces the values in a message.
func pattern(s string) string {
	s = quoted.ReplaceAllString(s, `"…"`)
	s = indices.ReplaceAllString(s, "[*]")
	s = digits.ReplaceAllString(s, "0")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}

// report collects the differences of one kind.
type report struct {
	row     Row
	found   map[string][]trial
	counted map[string]int
	trials  int
	refused int
	listed  int
}

// shown bounds the trials that are kept for each difference.
const shown = 2

func newReport(row Row) *report {
	return &report{row: row, found: map[string][]trial{}, counted: map[string]int{}}
}

func (r *report) compare(tr trial) {
	r.trials++
	if !tr.theirs.accepted() {
		r.refused++
	}
	verb := "create"
	switch rest := strings.Split(strings.TrimPrefix(tr.url, r.row.collection()+"/"), "/"); {
	case tr.method == http.MethodGet:
		verb = "table"
	case tr.method == http.MethodPatch:
		verb = "patch"
	case tr.method == http.MethodPut && len(rest) > 1:
		verb = rest[1]
	case tr.method == http.MethodPut:
		verb = "update"
	}
	for _, d := range tr.differences() {
		if decided(r.row.Kind.Kind, d, tr) {
			r.listed++
			continue
		}
		d = verb + ": " + d
		r.counted[d]++
		if len(r.found[d]) < shown {
			r.found[d] = append(r.found[d], tr)
		}
	}
}

// print fails the test with the differences, the most frequent first.
func (r *report) print(t *testing.T, tried int, took time.Duration) {
	t.Helper()
	t.Logf("%d requests (%d refused by Kubernetes) in %s, %.0f a second; %d differences, %d decided ones", r.trials, r.refused,
		took.Round(time.Millisecond), float64(tried)/took.Seconds(), len(r.found), r.listed)
	var list []string
	for d := range r.found {
		list = append(list, d)
	}
	sort.Slice(list, func(i, j int) bool {
		if r.counted[list[i]] != r.counted[list[j]] {
			return r.counted[list[i]] > r.counted[list[j]]
		}
		return list[i] < list[j]
	})
	for i, d := range list {
		if i == 60 {
			t.Errorf("... and %d more", len(list)-i)
			break
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s (%d times)\n", r.row.Kind.Kind, d, r.counted[d])
		for _, tr := range r.found[d] {
			fmt.Fprintf(&b, "  %s %s: %s\n", tr.method, tr.url, strings.Join(tr.notes, "; "))
			tr.explain(&b)
			if verbose {
				fmt.Fprintf(&b, "    stored case: %s\n", encode(tr.stored(r.row)))
			}
		}
		t.Error(b.String())
	}
}

// explain writes the request and the differing parts of both answers.
func (tr trial) explain(b *strings.Builder) {
	cut := func(s string) string {
		if len(s) > 1500 {
			return s[:1000] + "…" + s[len(s)-500:] // the reason follows a long value
		}
		return s
	}
	if tr.theirs.accepted() && tr.ours.accepted() {
		n := 0
		difference("", any(tr.theirs.Body), any(tr.ours.Body), func(path string, theirs, ours any) {
			if n++; n <= 5 {
				fmt.Fprintf(b, "    at %s\n      Kubernetes: %s\n      Coracle:    %s\n", path, cut(string(encode(theirs))), cut(string(encode(ours))))
			}
		})
	} else {
		for _, side := range []struct {
			name string
			a    answer
		}{{"Kubernetes", tr.theirs}, {"Coracle", tr.ours}} {
			fmt.Fprintf(b, "    %s: %d", side.name, side.a.Code)
			if !side.a.accepted() {
				fmt.Fprintf(b, " %v %s", side.a.Body["reason"], cut(fmt.Sprint(side.a.Body["message"])))
			}
			b.WriteString("\n")
			for _, c := range side.a.causes() {
				fmt.Fprintf(b, "      - %s\n", cut(c))
			}
		}
	}
	if !slices.Equal(tr.theirs.Warnings, tr.ours.Warnings) {
		fmt.Fprintf(b, "    warnings of Kubernetes: %s\n    warnings of Coracle:    %s\n", cut(fmt.Sprint(tr.theirs.Warnings)), cut(fmt.Sprint(tr.ours.Warnings)))
	}
}
