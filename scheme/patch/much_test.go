package patch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// TestWork applies patches that are within all limits of size, but would take minutes without a
// Meter.
func TestWork(t *testing.T) {
	pod := typeinfo.For[corev1.Pod]()
	const levels = 5000
	nest := func(levels int, v string) string {
		return strings.Repeat(`{"a":`, levels) + v + strings.Repeat("}", levels)
	}
	deep := []byte(nest(levels, `"`+strings.Repeat("x", 3<<20)+`"`))
	pointer := strings.Repeat("/a", levels)
	var uids strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&uids, `{"uid":"%d"},`, i)
	}
	owners := []byte(`{"metadata":{"ownerReferences":[` + uids.String() + `{"uid":"x"}]}}`)
	for _, tt := range []struct {
		name  string
		apply func() ([]byte, error)
		want  Kind
	}{
		{"merge of a deep patch", func() ([]byte, error) { return Merge([]byte(`{}`), deep, nil) }, Malformed},
		{"merge into a deep object", func() ([]byte, error) { return Merge(deep, []byte(nest(levels, "1")), nil) }, Inapplicable},
		{"strategic merge of a deep patch", func() ([]byte, error) { return Strategic([]byte(`{}`), deep, pod, nil) }, Malformed},
		{"JSON patch of a deep object", func() ([]byte, error) {
			return JSON(deep, []byte(`[{"op":"remove","path":"`+pointer+`"}]`), nil)
		}, Inapplicable},
	} {
		_, err := tt.apply()
		var e *Error
		if !errors.As(err, &e) || e.Kind != tt.want {
			t.Errorf("%s: got %v, want an error of kind %d", tt.name, err, tt.want)
		}
	}
	if _, err := Strategic(owners, owners, pod, nil); err != nil {
		t.Errorf("strategic merge of long lists: %v", err)
	}
	const few = 2000
	if got, err := Merge([]byte(nest(few, "1")), []byte(nest(few, "2")), nil); err != nil || string(got) != nest(few, "2") {
		t.Errorf("Merge of %d levels: got %d bytes, %v", few, len(got), err)
	}
	// A longer input may nest less: 1 MiB may have 255 levels.
	for nesting, want := range map[int]bool{255: true, 256: false} {
		patch := nest(nesting, `"`+strings.Repeat("x", 1<<20)+`"`)
		if got, err := Merge([]byte(`{}`), []byte(patch), nil); want != (err == nil) || want && string(got) != patch {
			t.Errorf("Merge of 1 MiB below %d levels: got %d bytes, %v", nesting, len(got), err)
		}
	}
	key := strings.Repeat("k", 1<<20)
	found, _ := CheckMerge([]byte(`{"`+key+`":{`+strings.Repeat(`"a":1,"b":1,`, 100_000)+`"c":1}}`), nil)
	if n := len(strings.Join(found, "")); n > maxFindingsText+2*len(key) {
		t.Errorf("CheckMerge: messages of %d bytes", n)
	}
}

// TestJSONLimits: a JSON patch may reach its limits, and not exceed them.
func TestJSONLimits(t *testing.T) {
	ops := func(n int, op string) []byte {
		return []byte("[" + strings.TrimSuffix(strings.Repeat(op+",", n), ",") + "]")
	}
	mebi := []byte(`{"v":"` + strings.Repeat("x", 1<<20-2) + `"}`)
	for _, tt := range []struct {
		name string
		doc  []byte
		op   string
		most int
		want Kind
	}{
		{"operations", []byte(`{"a":1}`), `{"op":"test","path":"/a","value":1}`, maxOperations, TooLarge},
		{"bytes copied", mebi, `{"op":"copy","from":"/v","path":"/w"}`, maxCopyBytes >> 20, Inapplicable},
		{"elements of lists", []byte(`{"a":[0` + strings.Repeat(",0", 1<<20-1) + `]}`), `{"op":"replace","path":"/a/0","value":1}`, maxShifts >> 20, Inapplicable},
	} {
		if _, err := JSON(tt.doc, ops(tt.most, tt.op), nil); err != nil {
			t.Errorf("%s: %d operations: %v", tt.name, tt.most, err)
		}
		if _, err := JSON(tt.doc, ops(tt.most+1, tt.op), nil); kindOf(err) != tt.want {
			t.Errorf("%s: %d operations: got %v, want an error of kind %d", tt.name, tt.most+1, err, tt.want)
		}
	}
	null := ops(maxOperations, `{}`)
	tail := strings.TrimSuffix(string(null), "]") + `,{"op":5}]`
	if _, err := checked(JSON, CheckJSON)([]byte(`{}`), []byte(tail), nil); kindOf(err) != Malformed {
		t.Errorf("a malformed operation beyond the limit: got %v, want what is malformed", err)
	}
}
