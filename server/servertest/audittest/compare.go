package audittest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a field of an event, or a whole event, that is not as recorded.
type Difference struct {
	ID, Step, Stage string
	Path            string // of the field, "" for the whole event
	Got, Want       string // JSON; "" for none
}

// String names the step, the stage, the field and both values, which it cuts to a length that
// people read.
func (d Difference) String() string {
	show := func(value string) string {
		if value == "" {
			return "nothing"
		}
		return fmt.Sprintf("%.400s", value)
	}
	return fmt.Sprintf("%s (%s) %s %s:\n\tgot  %s\n\twant %s", d.ID, d.Step, d.Stage, d.Path, show(d.Got), show(d.Want))
}

// Compare returns the differences between the events of a server and the recorded ones. Both are in
// the order of their audit IDs.
func (s *Session) Compare(got, want []Event) (all []Difference) {
	type place struct {
		id, stage string
		n         int // of the events of this id and stage
	}
	byPlace := func(events []Event) map[place]Event {
		places := map[place]Event{}
		for _, e := range events {
			p := place{fmt.Sprint(e["auditID"]), fmt.Sprint(e["stage"]), 0}
			for places[p] != nil {
				p.n++
			}
			places[p] = e
		}
		return places
	}
	g, w := byPlace(got), byPlace(want)
	places := slices.Collect(maps.Keys(g))
	for p := range w {
		if g[p] == nil {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	for _, p := range places {
		step, _, _ := s.step(p.id)
		d := Difference{ID: p.id, Step: step.Name, Stage: p.stage}
		var one, other any // nil for an event that is not there
		if e := g[p]; e != nil {
			one = e
		}
		if e := w[p]; e != nil {
			other = e
		}
		all = d.between(all, one, other)
	}
	return all
}

// between appends the differences between two JSON values, of which d names the place. A value that
// is not there is nil.
func (d Difference) between(all []Difference, got, want any) []Difference {
	if g, ok := got.(map[string]any); ok {
		if w, ok := want.(map[string]any); ok {
			names := slices.Collect(maps.Keys(g))
			for name := range w {
				if _, both := g[name]; !both {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				all = d.at("."+name).sides(all, g, w, name)
			}
			return all
		}
	}
	if g, ok := got.([]any); ok {
		if w, ok := want.([]any); ok && len(g) == len(w) {
			for i := range g {
				all = d.at(fmt.Sprintf("[%d]", i)).between(all, g[i], w[i])
			}
			return all
		}
	}
	if d.Got, d.Want = text(got), text(want); d.Got != d.Want {
		all = append(all, d)
	}
	return all
}

// sides is between for a field that one of two objects may lack: null is not the same as nothing.
func (d Difference) sides(all []Difference, got, want map[string]any, name string) []Difference {
	g, inGot := got[name]
	w, inWant := want[name]
	switch {
	case !inGot:
		d.Want = text(w)
	case !inWant:
		d.Got = text(g)
	default:
		return d.between(all, g, w)
	}
	return append(all, d)
}

func (d Difference) at(more string) Difference {
	d.Path = strings.TrimPrefix(d.Path+more, ".")
	return d
}

// text returns a value as JSON; "" for a value that is not there.
func text(value any) string {
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
