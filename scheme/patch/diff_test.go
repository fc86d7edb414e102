package patch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

func TestDiff(t *testing.T) {
	const much = 1 << 20
	for name, tt := range map[string]struct{ from, to, want string }{
		"equal":               {`{"a":1}`, `{ "a" : 1 }`, ``},
		"other order":         {`{"a":1,"b":"<"}`, `{"b":"\u003c","a":1}`, ``},
		"added":               {`{}`, `{"a":{"b":[1]}}`, `[{"op":"add","path":"/a","value":{"b":[1]}}]`},
		"added null":          {`{}`, `{"a":null}`, `[{"op":"add","path":"/a","value":null}]`},
		"removed":             {`{"a":1,"b":2}`, `{"b":2}`, `[{"op":"remove","path":"/a"}]`},
		"replaced":            {`{"a":{"b":1,"c":2}}`, `{"a":{"b":1.0,"c":2}}`, `[{"op":"replace","path":"/a/b","value":1.0}]`},
		"another type":        {`{"a":{"b":1}}`, `{"a":[1]}`, `[{"op":"replace","path":"/a","value":[1]}]`},
		"escaped":             {`{"a/b":{"~c":1}}`, `{"a/b":{"~c":2}}`, `[{"op":"replace","path":"/a~1b/~0c","value":2}]`},
		"element in front":    {`{"a":[1,2]}`, `{"a":[0,1,2]}`, `[{"op":"add","path":"/a/0","value":0}]`},
		"element in between":  {`{"a":[1,2,3]}`, `{"a":[1,4,5,3]}`, `[{"op":"replace","path":"/a/1","value":4},{"op":"add","path":"/a/2","value":5}]`},
		"elements appended":   {`{"a":[1]}`, `{"a":[1,2,3]}`, `[{"op":"add","path":"/a/1","value":2},{"op":"add","path":"/a/2","value":3}]`},
		"elements removed":    {`{"a":[1,2,3,4]}`, `{"a":[1,4]}`, `[{"op":"remove","path":"/a/1"},{"op":"remove","path":"/a/1"}]`},
		"element changed":     {`{"a":[{"n":"x"},{"n":"y"}]}`, `{"a":[{"n":"x","i":1},{"n":"y"}]}`, `[{"op":"add","path":"/a/0/i","value":1}]`},
		"all elements gone":   {`{"a":[1,2]}`, `{"a":[]}`, `[{"op":"remove","path":"/a/0"},{"op":"remove","path":"/a/0"}]`},
		"text of other style": {`{"a":"<b>"}`, `{"a":"<c>"}`, `[{"op":"replace","path":"/a","value":"<c>"}]`},
	} {
		got, left := Diff([]byte(tt.from), []byte(tt.to), much)
		if string(got) != tt.want || left != 0 {
			t.Errorf("%s: got %s, %d; want %s", name, got, left, tt.want)
		}
	}
}

// A patch that is too long ends before the first operation that does not fit.
func TestDiffBound(t *testing.T) {
	from, to := []byte(`{}`), []byte(`{"a":1,"b":"`+strings.Repeat("x", 50)+`","c":2}`)
	whole, _ := Diff(from, to, 1000)
	for most := range len(whole) + 2 {
		got, left := Diff(from, to, most)
		n, err := 0, error(nil)
		if got != nil {
			n, err = Length(got)
		}
		if len(got) > most || err != nil || n+left != 3 {
			t.Errorf("at most %d bytes: got %s, %d, %v", most, got, left, err)
		}
		if (left == 0) != (most >= len(whole)) {
			t.Errorf("at most %d of %d bytes: got %s, %d", most, len(whole), got, left)
		}
	}
}

// FuzzDiff applies each patch.
func FuzzDiff(f *testing.F) {
	for _, c := range readRecorded(f) {
		f.Add([]byte(c.Doc), []byte(c.Patch))
	}
	f.Add([]byte(`{"a":[1,2,{"b":[]}],"c/~":null}`), []byte(`{"a":[0,2,{"b":[[1]]},3],"c/~":"\u00e9","":{}}`))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		var a, b map[string]any
		if json.Unmarshal(from, &a) != nil || json.Unmarshal(to, &b) != nil || a == nil || b == nil {
			return
		}
		patch, left := Diff(from, to, 1<<30)
		if left != 0 {
			t.Fatalf("Diff(%s, %s): %d operations are left out", from, to, left)
		}
		got := from
		if n, _ := Length(patch); n > maxOperations {
			return
		}
		if patch != nil {
			var err error
			if got, err = JSON(from, patch, nil); err != nil {
				t.Fatalf("Diff(%s, %s): got %s: %v", from, to, patch, err)
			}
		}
		result, err := jsontext.Decode(got, nil)
		want, _ := jsontext.Decode(to, nil)
		if err != nil || !jsontext.Equal(result, want) {
			t.Fatalf("Diff(%s, %s): got %s, which makes %s, %v", from, to, patch, got, err)
		}
	})
}
