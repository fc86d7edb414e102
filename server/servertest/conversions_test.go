package servertest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// Raft and OldRaft are one kind in two versions.
type Raft struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Logs            int32  `json:"logs,omitempty"`
	Rope            string `json:"rope,omitempty"`
}

type OldRaft struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Beams           int32  `json:"beams,omitempty"`
	Rope            string `json:"rope,omitempty"`
}

// rafts returns a group whose hub is v1. If forget is true, its conversion loses the field rope.
func rafts(forget bool) server.Group {
	return server.Group{Name: "rafts.example.com", AddToScheme: func(s *scheme.Scheme) {
		s.AddKnownTypes(meta.GroupVersion{Group: "rafts.example.com", Version: "v1"}, &Raft{})
		s.AddKnownType(meta.GroupVersionKind{Group: "rafts.example.com", Version: "v1beta1", Kind: "Raft"}, &OldRaft{})
		scheme.AddConversion(s, func(in *OldRaft, out *Raft) error {
			out.Logs = in.Beams
			if forget {
				out.ObjectMeta = *scheme.DeepCopy(&in.ObjectMeta)
				return nil
			}
			return scheme.ConvertFields(s, in, out)
		})
		scheme.AddConversion(s, func(in *Raft, out *OldRaft) error {
			out.Beams = in.Logs
			return scheme.ConvertFields(s, in, out)
		})
	}}
}

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// TestConversions starts servers with a group whose conversion keeps all fields or loses one. The
// loss fails the test, and the failure names the field.
func TestConversions(t *testing.T) {
	for forget, want := range map[bool][]string{
		false: nil,
		true:  {"servertest: v1beta1.Raft: rope is lost on the way to the hub and back"},
	} {
		r := &recorder{TB: t}
		servertest.Start(r, server.Config{API: server.APIConfig{Groups: []server.Group{rafts(forget)}}})
		if !slices.Equal(r.failures, want) {
			t.Errorf("a group that forgets: %v: got %q, want %q", forget, r.failures, want)
		}
	}
}
