package codec

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// FuzzStatus compares the encoder of a Status with encoding/json.
func FuzzStatus(f *testing.F) {
	f.Add("Failure", "no", "Forbidden", "", int32(0), uint8(0))
	f.Add("Failure", "no", "v1", "Status", int32(403), uint8(1))
	f.Add("", "a\x00<b>&\u2028\"\\\n\xff\b\f\t\r\x7f\ufffd\u20ac", "x", "é", int32(-403), uint8(2))
	f.Fuzz(func(t *testing.T, status, message, reason, name string, code int32, causes uint8) {
		s := &meta.Status{TypeMeta: meta.TypeMeta{Kind: name, APIVersion: reason}, Status: status, Message: message,
			Reason: meta.StatusReason(reason), Code: code}
		if causes > 0 {
			s.Details = &meta.StatusDetails{Name: name, Group: message, Kind: reason, UID: meta.UID(status), RetryAfterSeconds: code}
		}
		for range causes / 2 {
			s.Details.Causes = append(s.Details.Causes, meta.StatusCause{Type: meta.CauseType(reason), Message: message, Field: name})
		}
		for _, v := range []string{"", message} {
			s.ResourceVersion = v
			want, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := AppendJSON([]byte("x"), s); err != nil || string(got) != "x"+string(want) {
				t.Errorf("got %s, %v\nwant x%s", got, err, want)
			}
		}
	})
}

// TestStatusAllocs: encoding a Status allocates only its bytes.
func TestStatusAllocs(t *testing.T) {
	status := &meta.NewForbidden(meta.GroupResource{Resource: "pods"}, "<a>", errors.New("no")).Status
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { _, _ = AppendJSON(dst, status) }); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
