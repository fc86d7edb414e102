package conformance

import (
	"fmt"
	"strings"
)

// compare returns the differences between a recorded and a received response; none if they agree.
func compare(want, got *answer, match string) []string {
	if match == matchOK {
		if got.Status/100 != 2 {
			return []string{fmt.Sprintf("got status %d, want 2xx: %s", got.Status, got.summary())}
		}
		return nil
	}
	var d differ
	if want.Status != got.Status {
		d.add("status", want.Status, fmt.Sprintf("%d: %s", got.Status, got.summary()))
	}
	for name, value := range want.Headers {
		if got.Headers[name] != value {
			d.add("header "+name, value, got.Headers[name])
		}
	}
	if w := got.Headers["Warning"]; w != "" && want.Headers["Warning"] == "" {
		d.add("header Warning", "", w)
	}
	d.subset = match == matchSubset
	if match != matchStatus {
		if want.Body != nil || got.Body != nil {
			d.values("", want.Body, got.Body)
		}
		d.texts(want.BodyText, got.BodyText)
	}
	if len(want.Events) != len(got.Events) {
		d.add("events", len(want.Events), fmt.Sprintf("%d: %s", len(got.Events), short(compact(got.Events))))
	}
	for i := range min(len(want.Events), len(got.Events)) {
		d.values(fmt.Sprintf("/event %d", i), want.Events[i], got.Events[i])
	}
	if want.End != got.End {
		d.add("end", want.End, got.End)
	}
	return d.found
}

// summary describes a body in few words.
func (a *answer) summary() string {
	if m, ok := a.Body.(map[string]any); ok && m["message"] != nil {
		return short(fmt.Sprint(m["message"]))
	}
	if a.Body != nil {
		return short(compact(a.Body))
	}
	return short(a.BodyText)
}

// maxShown bounds the bytes that are shown of one value, and maxFound the number of differences
// that are shown of one response.
const (
	maxShown = 400
	maxFound = 12
)

func short(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}

// differ collects differences.
type differ struct {
	subset bool
	found  []string
}

func (d *differ) add(where string, want, got any) {
	if len(d.found) == maxFound {
		return
	}
	w, g := fmt.Sprint(want), fmt.Sprint(got)
	if len(w)+len(g) > 2*maxShown { // show the values from where they begin to differ
		i := 0
		for i < min(len(w), len(g)) && w[i] == g[i] {
			i++
		}
		if i > 40 {
			w, g = "..."+w[i-40:], "..."+g[i-40:]
		}
	}
	d.found = append(d.found, fmt.Sprintf("%s: want %s, got %s", where, short(w), short(g)))
}

// values compares two JSON values.
func (d *differ) values(where string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.objects(where, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			if d.subset {
				d.contains(where, w, g)
			} else {
				d.lists(where, w, g)
			}
			return
		}
	default:
		if want == got {
			return
		}
	}
	d.add(where, compact(want), compact(got))
}

func (d *differ) objects(where string, want, got map[string]any) {
	for _, k := range keys(want) {
		if g, ok := got[k]; ok {
			d.values(where+"/"+k, want[k], g)
		} else {
			d.add(where+"/"+k, compact(want[k]), absent)
		}
	}
	for _, k := range keys(got) {
		if _, ok := want[k]; !ok && !d.subset {
			d.add(where+"/"+k, absent, compact(got[k]))
		}
	}
}

func (d *differ) lists(where string, want, got []any) {
	for i := range min(len(want), len(got)) {
		d.values(fmt.Sprintf("%s/%d", where, i), want[i], got[i])
	}
	if len(want) > len(got) {
		d.add(where, fmt.Sprintf("%d elements, at the end %s", len(want), compact(want[len(got):])), len(got))
	} else if len(got) > len(want) {
		d.add(where, len(want), fmt.Sprintf("%d elements, at the end %s", len(got), compact(got[len(want):])))
	}
}

// contains reports a difference unless one list has all elements of the other, in order.
func (d *differ) contains(where string, want, got []any) {
	next := 0
	for i, w := range want {
		found := false
		for !found && next < len(got) {
			try := differ{subset: true}
			try.values("", w, got[next])
			found = len(try.found) == 0
			next++
		}
		if !found {
			d.add(fmt.Sprintf("%s/%d", where, i), compact(w), absent)
			return
		}
	}
}

// texts compares bodies that are not JSON, line by line.
func (d *differ) texts(want, got string) {
	if want == got {
		return
	}
	ws, gs := strings.Split(want, "\n"), strings.Split(got, "\n")
	if d.subset {
		for _, w := range ws {
			i := 0
			for i < len(gs) && gs[i] != w {
				i++
			}
			if i == len(gs) {
				d.add("text", fmt.Sprintf("%q", w), absent)
				return
			}
			gs = gs[i+1:]
		}
		return
	}
	for i := range max(len(ws), len(gs)) {
		w, g := absent, absent
		if i < len(ws) {
			w = fmt.Sprintf("%q", ws[i])
		}
		if i < len(gs) {
			g = fmt.Sprintf("%q", gs[i])
		}
		if w != g {
			d.add(fmt.Sprintf("text line %d", i+1), w, g)
		}
	}
}
