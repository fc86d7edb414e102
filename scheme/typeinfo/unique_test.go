package typeinfo_test

import (
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// crew has the lists whose elements must not repeat.
type crew struct {
	meta.ObjectMeta `json:"metadata,omitempty"`

	Names   []string  `json:"names,omitempty" list:"set"`
	Ranks   []rank    `json:"ranks,omitempty" list:"set"`
	Seats   []int32   `json:"seats,omitempty" list:"set"`
	Shares  []float64 `json:"shares,omitempty" list:"set"`
	Sailors []sailor  `json:"sailors,omitempty" list:"map,key=boat,key=seat"`
	Spare   []*sailor `json:"spare,omitempty" list:"map,key=boat,key=seat"`
	Others  []string  `json:"others,omitempty" list:"atomic"`
	Logs    []string  `json:"logs,omitempty"`
	Sub     []crew    `json:"sub,omitempty" list:"map,key=id"`
	ID      string    `json:"id,omitempty"`
}

type rank string

type sailor struct {
	Boat string   `json:"boat,omitempty"`
	Seat *int64   `json:"seat,omitempty"`
	Jobs []string `json:"jobs,omitempty" list:"set"`
}

func TestNothingRepeats(t *testing.T) {
	twice := []string{"a", "b", "a", "a"}
	for _, tt := range []struct {
		name     string
		now, old *crew
		want     []string
	}{
		{"strings", &crew{Names: twice}, nil, []string{`names[2]: Duplicate value: "a"`}},
		{"named strings", &crew{Ranks: []rank{"", ""}}, nil, []string{`ranks[1]: Duplicate value: ""`}},
		{"integers", &crew{Seats: []int32{1, 2, 1, 2}}, nil, []string{`seats[2]: Duplicate value: 1`, `seats[3]: Duplicate value: 2`}},
		{"numbers", &crew{Shares: []float64{0.5, 0.5}}, nil, []string{`shares[1]: Duplicate value: 0.5`}},
		{"one of each", &crew{Names: []string{"a", "b"}, Seats: []int32{1, 2}}, nil, nil},
		{"keys", &crew{Sailors: []sailor{{Boat: "x", Seat: ptr(int64(1))}, {Boat: "x", Seat: ptr(int64(1))}, {Boat: "x"}}}, nil,
			[]string{`sailors[1]: Duplicate value: {"boat":"x","seat":1}`}},
		{"keys left out", &crew{Sailors: []sailor{{}, {}}}, nil, []string{`sailors[1]: Duplicate value: {"boat":""}`}},
		{"pointers", &crew{Spare: []*sailor{nil, nil, {Boat: "x"}, {Boat: "x"}}}, nil, []string{`spare[3]: Duplicate value: {"boat":"x"}`}},
		{"below", &crew{Sailors: []sailor{{Jobs: twice}}}, nil, []string{`sailors[0].jobs[2]: Duplicate value: "a"`}},
		{"other lists", &crew{Others: twice, Logs: twice}, nil, nil},
		{"as before", &crew{Names: twice}, &crew{Names: []string{"c", "c"}}, nil},
		{"as before, below", &crew{Sub: []crew{{ID: "n"}, {ID: "s", Names: twice}}}, &crew{Sub: []crew{{ID: "s", Names: twice}}}, nil},
		{"not before", &crew{Names: twice}, &crew{Names: []string{"c"}}, []string{`names[2]: Duplicate value: "a"`}},
		{"of Kubernetes", &crew{ObjectMeta: meta.ObjectMeta{Finalizers: twice}}, nil, nil},
	} {
		var old any
		if tt.old != nil {
			old = tt.old
		}
		var got []string
		for _, err := range typeinfo.Validate(tt.now, old) {
			got = append(got, err.Error())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestKubernetesJudgesItsOwnLists checks that duplicates in lists of built-in kinds are left to the
// hand-written rules of the kind.
func TestKubernetesJudgesItsOwnLists(t *testing.T) {
	cidrs := []string{"10.0.0.0/24", "10.0.0.0/24"}
	restart := corev1.ContainerRestartRule{ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: "In", Values: []int32{1, 1}}}
	ctr := corev1.Container{Name: "c", Env: []corev1.EnvVar{{Name: "e"}, {Name: "e"}}, RestartPolicyRules: []corev1.ContainerRestartRule{restart}}
	for _, obj := range []any{
		&corev1.Node{ObjectMeta: meta.ObjectMeta{Finalizers: cidrs}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}},
		&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{ctr, ctr}}},
	} {
		for _, err := range typeinfo.Validate(obj, nil) {
			if err.Type == field.ErrorTypeDuplicate {
				t.Errorf("%T: %v", obj, err)
			}
		}
	}
}
