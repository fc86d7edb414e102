package topology_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/server/loops/topology"
)

func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		nodes []topology.Node
		want  topology.Shares
	}{
		{nil, nil},
		{[]topology.Node{{"a", 1000}, {"a", 1000}}, nil},
		{[]topology.Node{{"a", 1000}, {"b", 3000}}, topology.Shares{"a": 0.25, "b": 0.75}},
		{[]topology.Node{{"a", 500}, {"b", 3000}, {"a", 500}}, topology.Shares{"a": 0.25, "b": 0.75}},
		{[]topology.Node{{"a", 1000}, {"b", 3000}, {"", 1000}}, nil},
		{[]topology.Node{{"a", 1000}, {"b", 3000}, {"b", 0}}, nil},
	} {
		if got := topology.Measure(slices.Values(c.nodes)); !maps.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("shares of %v are %v, want %v", c.nodes, got, c.want)
		}
	}
}

// slice parses a slice: each field is an endpoint, with its zone and, after ">", its hint. "!"
// precedes an endpoint that is not ready.
func slice(text string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{}
	for _, field := range strings.Fields(text) {
		zone, hint, hinted := strings.Cut(strings.TrimPrefix(field, "!"), ">")
		ready := field[0] != '!'
		e := discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: &ready}}
		if zone != "-" {
			e.Zone = &zone
		}
		if hinted {
			e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: hint}}}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

// show is the inverse of slice.
func show(list []*discoveryv1.EndpointSlice) string {
	var all []string
	for _, s := range list {
		var fields []string
		for _, e := range s.Endpoints {
			text := "-"
			if e.Zone != nil {
				text = *e.Zone
			}
			if !*e.Conditions.Ready {
				text = "!" + text
			}
			if e.Hints != nil {
				text += ">" + e.Hints.ForZones[0].Name
			}
			fields = append(fields, text)
		}
		all = append(all, strings.Join(fields, " "))
	}
	return strings.Join(all, " | ")
}

func TestHint(t *testing.T) {
	half := topology.Shares{"a": 0.5, "b": 0.5}
	const few = "Insufficient number of endpoints (1 endpoints, 2 zones)"
	const unknown = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
	for _, c := range []struct {
		shares               topology.Shares
		create, update, same string
		want                 string // update | same, or create alone
		problem              string
	}{
		{half, "a b", "", "", "a>a b>b", ""},
		{half, "a a", "", "", "a>b a>a", ""},
		{half, "a !b b", "", "", "a>a !b b>b", ""},
		{half, "a", "", "", "a", few},
		{half, "a !b", "", "", "a !b", few},
		{half, "a -", "", "", "a -", "One or more endpoints do not have a zone specified"},
		{nil, "a b", "", "", "a b", unknown},
		{half, "c c b b", "", "", "c>c c>c b>b b>b", ""},
		{topology.Shares{"a": 0.34, "b": 0.33, "c": 0.33}, "a b c a", "", "", "a b c a",
			"Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)"},
		{topology.Shares{"a": 0.2, "b": 0.8}, "a a a b b", "", "", "a>b a>b a>a b>b b>b", ""},

		{half, "", "", "a>a b>b", " # a>a b>b", ""},
		{half, "", "", "a>b b>a", " # a>b b>a", ""},                 // as good as any other hints
		{half, "", "", "a>a b", "a>a b>b # ", ""},                   // one has no hint
		{half, "", "", "a>c b>b", "a>a b>b # ", ""},                 // the zone does not exist
		{half, "", "", "a>a a>a a>a b>b", "a>b a>a a>a b>b # ", ""}, // too many for a
		{half, "", "a", "a>a a>b b>b", "a>a # a>a a>b b>b", ""},
		{half, "", "!a>a", "a>a b>b", "!a # a>a b>b", ""},
		{nil, "", "a>a", "a>a b>b", "a | a b # ", unknown},
		{nil, "", "a>a", "a b", "a # a b", unknown},
	} {
		s := topology.Slices{}
		for _, part := range []struct {
			text string
			list *[]*discoveryv1.EndpointSlice
		}{{c.create, &s.Create}, {c.update, &s.Update}, {c.same, &s.Same}} {
			if part.text != "" {
				*part.list = []*discoveryv1.EndpointSlice{slice(part.text)}
			}
		}
		hints, problem := s.Hint(c.shares)
		got := show(s.Create)
		if c.create == "" {
			got = show(s.Update) + " # " + show(s.Same)
		}
		if got != c.want || problem != c.problem {
			t.Errorf("%v, %q %q %q: got %q %q\nwant %q %q", c.shares, c.create, c.update, c.same, got, problem, c.want, c.problem)
		}
		shown := topology.Counts{}
		for _, zone := range []string{"a", "b", "c"} {
			if n := strings.Count(got, ">"+zone); n > 0 {
				shown[zone] = n
			}
		}
		if (hints == nil) != (problem != "") || !maps.Equal(hints, shown) {
			t.Errorf("%v, %q %q %q: counted %v, of %q", c.shares, c.create, c.update, c.same, hints, got)
		}
	}
}

func TestOverloads(t *testing.T) {
	half := topology.Shares{"a": 0.5, "b": 0.5}
	for _, c := range []struct {
		shares topology.Shares
		hints  topology.Counts
		want   bool
	}{
		{half, nil, false},
		{nil, nil, false},
		{nil, topology.Counts{"a": 1, "b": 1}, true},
		{half, topology.Counts{"a": 5, "b": 5}, false},
		{half, topology.Counts{"a": 5, "b": 6}, false},
		{half, topology.Counts{"a": 4, "b": 7}, true},
		{half, topology.Counts{"a": 2}, true},
		{half, topology.Counts{"a": 2, "b": 2, "c": 8}, true}, // hints for zones without a share count, too
	} {
		if got := c.shares.Overloads(c.hints); got != c.want {
			t.Error(fmt.Sprint(c.shares, c.hints), got)
		}
	}
}
