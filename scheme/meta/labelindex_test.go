package meta

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestLabelIndex: an index matches what the requirements match one by one.
func TestLabelIndex(t *testing.T) {
	pieces := []string{"%s", "!%s", "%s=1", "%s==b", "%s!=1", "%s!=b", "%s in (1,2,b)", "%s in (2,b)", "%s notin (1,5)", "%s>1", "%s>3", "%s<5", "%s<9", "%s in (,b)"}
	keys, values := []string{"a", "b", "c", "d"}, []string{"", "1", "2", "4", "5", "b", "-1"}
	matched := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		selector := ""
		for i := range r.IntN(5) {
			if i > 0 {
				selector += ","
			}
			selector += fmt.Sprintf(pieces[r.IntN(len(pieces))], keys[r.IntN(len(keys))])
		}
		labels := Set{}
		var order []string
		for _, key := range keys {
			if r.IntN(2) == 0 {
				labels[key] = values[r.IntN(len(values))]
				order = append(order, key)
			}
		}
		rs, err := ParseLabels(selector)
		if err != nil {
			t.Fatal(err)
		}
		got := rs.Index().Matches(len(order), func(i int) (string, string) { return order[i], labels[order[i]] })
		want := rs.Matches(labels)
		if got != want {
			t.Fatalf("%q of %v: got %v, want %v", selector, labels, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d selectors matched", matched)
	}
	none := LabelRequirements{{op: opNothing}}
	if none.Index().Matches(0, nil) {
		t.Error("the selector that matches nothing matches")
	}
}

func TestLabelIndexAllocs(t *testing.T) {
	rs, err := ParseLabels("a=1,!b,c>1,d notin (x)")
	if err != nil {
		t.Fatal(err)
	}
	index, labels := rs.Index(), [][2]string{{"a", "1"}, {"c", "2"}, {"d", "e"}}
	if got := testing.AllocsPerRun(100, func() {
		if !index.Matches(len(labels), func(i int) (string, string) { return labels[i][0], labels[i][1] }) {
			t.Fatal("does not match")
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
