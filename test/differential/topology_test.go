package differential

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/endpointslice/topologycache"

	mine "github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/server/loops/topology"
)

// TestTopologyHints has both sides compute the hints of random endpoint slices on random nodes, and
// again after the nodes have changed. It compares the written slices, the endpoints that stay in
// their own zone, the number of endpoints of each zone, and the message if there cannot be hints.
// Kubernetes chooses at random between equal zones and endpoints, so the test asks it again until
// it has chosen as Coracle has. If some zones lack more endpoints than others can give, Kubernetes
// seldom shares these out as evenly as Coracle. Then a zone may lack at most one endpoint more than
// in the best of Kubernetes' answers.
func TestTopologyHints(t *testing.T) {
	rnd := random("topology")
	kinds := map[string]int{}
	for range times(3000) {
		g := newTopologyGame(rnd)
		kinds[g.compare(t)]++
	}
	t.Log(kinds)
	for _, kind := range append([]string{"hints", "moved"}, topologyProblems...) {
		if kinds[kind] == 0 {
			t.Errorf("no case of %q", kind)
		}
	}
}

// topologyProblems are the beginnings of the messages if there cannot be hints.
var topologyProblems = []string{"Insufficient Node information", "Insufficient number", "Unable to allocate", "One or more"}

// topologyGame is a question to both sides: nodes, later nodes, and slices.
type topologyGame struct {
	rnd                  *rand.Rand
	nodes, later         []topology.Node
	create, update, same []*discoveryv1.EndpointSlice
}

func newTopologyGame(rnd *rand.Rand) *topologyGame {
	g := &topologyGame{rnd: rnd}
	zones := []string{"a", "b", "c", "d", "e"}[:2+rnd.IntN(4)]
	if chance(rnd, 20) {
		zones = zones[:1]
	}
	g.nodes, g.later = g.someNodes(zones), g.someNodes(zones)
	unit := 1 + rnd.IntN(12)
	for _, list := range []*[]*discoveryv1.EndpointSlice{&g.create, &g.update, &g.same, &g.same} {
		for range rnd.IntN(3) {
			*list = append(*list, g.slice(zones, 1+rnd.IntN(unit), list == &g.same))
		}
	}
	return g
}

// someNodes makes one to three nodes in each zone. Often the nodes are equal, so that zones are.
func (g *topologyGame) someNodes(zones []string) (list []topology.Node) {
	equal := chance(g.rnd, 3)
	for _, zone := range zones {
		for range 1 + g.rnd.IntN(3) {
			n := topology.Node{Zone: zone, MilliCPU: int64(1 + g.rnd.IntN(8000))}
			if equal {
				n.MilliCPU = 4000
			}
			switch {
			case chance(g.rnd, 200):
				n.Zone = ""
			case chance(g.rnd, 200):
				n.MilliCPU = 0
			}
			list = append(list, n)
		}
	}
	return list
}

func (g *topologyGame) slice(zones []string, n int, hinted bool) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{}
	home := oneOf(g.rnd, zones...)
	bare := chance(g.rnd, 4) // the stored slice has no hints
	for range n {
		ready := !chance(g.rnd, 8)
		zone := oneOf(g.rnd, append(slices.Clone(zones), home, home)...)
		if chance(g.rnd, 50) {
			zone = "x"
		}
		e := discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: &ready}, Zone: &zone}
		if chance(g.rnd, 200) {
			e.Zone = nil
		}
		if hinted && ready && !bare {
			if chance(g.rnd, 4) {
				zone = oneOf(g.rnd, zones...)
			}
			e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: zone}}}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

// hinted is the answer of one side.
type hinted struct {
	slices, problem string
	counts          topology.Counts // the number of endpoints with a hint for each zone
}

// compare has both sides answer and returns the kind of the case.
func (g *topologyGame) compare(t *testing.T) (kind string) {
	t.Helper()
	s := topology.Slices{Create: toMine(g.create), Update: toMine(g.update), Same: toMine(g.same)}
	shares := topology.Measure(slices.Values(g.nodes))
	counts, problem := s.Hint(shares)
	us := shownHints(fromMine(s.Create), fromMine(s.Update), fromMine(s.Same), problem)
	if !maps.Equal(us.counts, counts) {
		t.Fatalf("%v are counted as %v", us, counts)
	}
	same, lack := false, math.Inf(1) // the least lack in their answers
	var them hinted
	for range 300 {
		var overloaded bool
		them, overloaded = g.theirs()
		if got := topology.Measure(slices.Values(g.later)).Overloads(them.counts); got != overloaded {
			t.Fatalf("nodes %v, hints %v: overloaded: %v, they say %v", g.later, them.counts, got, overloaded)
		}
		if them.slices != us.slices || them.problem != us.problem {
			continue
		}
		if maps.Equal(us.counts, them.counts) {
			return us.kind()
		}
		same, lack = true, min(lack, mostLacking(shares, them.counts))
	}
	if !same || mostLacking(shares, us.counts) > lack+1 {
		t.Fatalf("nodes %v, later %v\nslices %v\nwe say   %v\nthey say %v\nat best %v are lacking",
			g.nodes, g.later, shownHints(g.create, g.update, g.same, ""), us, them, lack)
	}
	return "shared out otherwise"
}

// mostLacking is the largest number of endpoints that a zone lacks of its share.
func mostLacking(shares topology.Shares, counts topology.Counts) (lack float64) {
	n := 0
	for _, of := range counts {
		n += of
	}
	for zone, share := range shares {
		lack = max(lack, share*float64(n)-float64(counts[zone]))
	}
	return lack
}

func (h *hinted) kind() string {
	for _, kind := range topologyProblems {
		if strings.HasPrefix(h.problem, kind) {
			return kind
		}
	}
	if strings.Contains(h.slices, "elsewhere") {
		return "moved"
	}
	return "hints"
}

func (g *topologyGame) theirs() (said hinted, overloadedLater bool) {
	cache := topologycache.NewTopologyCache()
	cache.SetNodes(logr.Discard(), theirNodes(g.nodes))
	si := &topologycache.SliceInfo{
		ServiceKey: "n/s", AddressType: discoveryv1.AddressTypeIPv4,
		ToCreate: copies(g.create), ToUpdate: copies(g.update), Unchanged: copies(g.same),
	}
	create, update, events := cache.AddHints(logr.Discard(), si)
	problem := ""
	for _, ev := range events {
		if ev.Reason == "TopologyAwareHintsDisabled" {
			problem = strings.TrimSuffix(ev.Message, ", addressType: IPv4")
		}
	}
	cache.SetNodes(logr.Discard(), theirNodes(g.later))
	return shownHints(create, update, si.Unchanged, problem), len(cache.GetOverloadedServices()) > 0
}

// shownHints writes all slices with the zone of each endpoint, and whether the hint is for that
// zone.
func shownHints(create, update, same []*discoveryv1.EndpointSlice, problem string) hinted {
	var b strings.Builder
	var counts topology.Counts
	for i, list := range [][]*discoveryv1.EndpointSlice{create, update, same} {
		b.WriteString([]string{"create", " update", " same"}[i])
		for _, s := range list {
			b.WriteString(" [")
			for _, e := range s.Endpoints {
				zone := "none"
				if e.Zone != nil {
					zone = *e.Zone
				}
				b.WriteString(" " + zone)
				switch {
				case e.Hints == nil:
				case e.Hints.ForZones[0].Name == zone:
					b.WriteString(">own")
				default:
					b.WriteString(">elsewhere")
				}
				if e.Hints != nil {
					if counts == nil {
						counts = topology.Counts{}
					}
					counts[e.Hints.ForZones[0].Name]++
				}
			}
			b.WriteString(" ]")
		}
	}
	return hinted{b.String(), problem, counts}
}

func theirNodes(nodes []topology.Node) (list []*corev1.Node) {
	for _, n := range nodes {
		list = append(list, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: n.Zone}},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(n.MilliCPU, resource.DecimalSI)},
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return list
}

func copies(list []*discoveryv1.EndpointSlice) (all []*discoveryv1.EndpointSlice) {
	for _, s := range list {
		all = append(all, s.DeepCopy())
	}
	return all
}

// toMine and fromMine copy slices, with the fields that hints need.
func toMine(list []*discoveryv1.EndpointSlice) (all []*mine.EndpointSlice) {
	for _, s := range copies(list) {
		own := &mine.EndpointSlice{}
		for _, e := range s.Endpoints {
			o := mine.Endpoint{Conditions: mine.EndpointConditions{Ready: e.Conditions.Ready}, Zone: e.Zone}
			if e.Hints != nil {
				o.Hints = &mine.EndpointHints{ForZones: []mine.ForZone{{Name: e.Hints.ForZones[0].Name}}}
			}
			own.Endpoints = append(own.Endpoints, o)
		}
		all = append(all, own)
	}
	return all
}

func fromMine(list []*mine.EndpointSlice) (all []*discoveryv1.EndpointSlice) {
	for _, s := range list {
		theirs := &discoveryv1.EndpointSlice{}
		for _, e := range s.Endpoints {
			o := discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: e.Conditions.Ready}, Zone: e.Zone}
			if e.Hints != nil {
				o.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: e.Hints.ForZones[0].Name}}}
			}
			theirs.Endpoints = append(theirs.Endpoints, o)
		}
		all = append(all, theirs)
	}
	return all
}
