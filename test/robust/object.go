package robust

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
)

// none is the color of an object without one.
const none = "none"

// Object is an object of the run as an answer or event showed it.
type Object struct {
	Key   string // its name
	UID   string `json:",omitempty"`
	RV    int64
	V     string // the text v, which is new with every write that changes something
	Base  string // the text base, which is like v, but patches do not change it
	Color string // the label color, or none
	Hash  uint64 // of everything but the resourceVersion
	Typed bool   `json:",omitempty"` // the object had its kind, which only items of lists leave out
}

func (o *Object) String() string {
	if o == nil {
		return "absent"
	}
	return fmt.Sprintf("{%s rv=%d v=%s base=%s color=%s uid=%.8s #%04x}", o.Key, o.RV, o.V, o.Base, o.Color, o.UID, o.Hash&0xffff)
}

// meta has the fields of metadata that the checks use, of an object, a list or a bookmark.
type meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Continue        string            `json:"continue"`
}

func (m *meta) revision() int64 {
	n, _ := strconv.ParseInt(m.ResourceVersion, 10, 64)
	return n
}

// rootCA is the ConfigMap that a controller makes in each namespace.
const rootCA = "kube-root-ca.crt"

// decode reads an object of the kind. It returns nil for an object of another namespace, or one
// that no client made.
func (s *subject) decode(data []byte) (*Object, error) {
	var head struct {
		Kind     string `json:"kind"`
		Metadata meta   `json:"metadata"`
	}
	if err := json.Unmarshal(data, &head); err != nil || head.Metadata.Namespace != namespace || head.Metadata.Name == rootCA {
		return nil, err
	}
	var all tree
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	v, base := s.textsOf(all)
	delete(all, "kind")
	delete(all, "apiVersion")
	delete(all["metadata"].(tree), "resourceVersion")
	rest, err := json.Marshal(all) // with its keys in order
	if err != nil {
		return nil, err
	}
	hash := fnv.New64a()
	hash.Write(rest)
	m := &head.Metadata
	return &Object{Key: m.Name, UID: m.UID, RV: m.revision(), V: v, Base: base, Color: cmp.Or(m.Labels["color"], none),
		Hash: hash.Sum64(), Typed: head.Kind != ""}, nil
}

// selectors are the label selectors of lists and watches.
var selectors = []string{"", "color=red", "color!=red"}

// Scope is the selection of a list or watch.
type Scope struct {
	All      bool   `json:",omitempty"` // of all namespaces, although only one has objects of the run
	Selector int    `json:",omitempty"` // index of selectors
	Name     string `json:",omitempty"` // of the only object
}

func (s Scope) has(o *Object) bool {
	if o == nil || s.Name != "" && s.Name != o.Key {
		return false
	}
	switch selectors[s.Selector] {
	case "color=red":
		return o.Color == "red"
	case "color!=red":
		return o.Color != "red"
	}
	return true
}

// whole reports whether the scope selects all objects.
func (s Scope) whole() bool { return s.Selector == 0 && s.Name == "" }

func (s Scope) String() string {
	return fmt.Sprintf("all=%v selector=%q name=%q", s.All, selectors[s.Selector], s.Name)
}
