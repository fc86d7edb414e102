package jsonpath

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

const example = `{"a":{"b":[1,2.5,"x",null,{"c":true}],"e":[]},"l":[{"n":"p","v":1},{"n":"q","v":2},{"n":"r"}],"s":"hé","dot.ted":{"x":9},"z":null}`

func TestFind(t *testing.T) {
	tree, err := jsontext.Decode([]byte(example), nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		`.a.b[0]`:              `[[1]]`,
		`.a.b[-1].c`:           `[[true]]`,
		`.a.b[-2]`:             `[[null]]`,
		`.a.b[0:3:2]`:          `[[1,"x"]]`,
		`.a.b[*]`:              `[[1,2.5,"x",null,{"c":true}]]`,
		`.a.b[1,0]`:            `[[2.5,1]]`,
		`.a.b[9]`:              `error: array index out of bounds: index 9, length 5`,
		`.a.e[0]`:              `error: array index out of bounds: index 0, length 0`,
		`.a.e[*]`:              `[null]`,
		`.a.b[2:1]`:            `error: starting index 2 is greater than ending index 1`,
		`.a.b[::0]`:            `error: step must be > 0`,
		`.s[0]`:                `error: string is not array or slice`,
		`.s.x`:                 `[[]]`,
		`.none.of[0].these`:    `[[]]`,
		`.z.y`:                 `[[]]`,
		`.z`:                   `[[null]]`,
		`.dot\.ted.x`:          `[[9]]`,
		`['dot\.ted'].x`:       `[[9]]`,
		`$.l[?(@.n=="q")].v`:   `[[2]]`,
		`.l[?(@.v>1)].n`:       `[["q"]]`,
		`.l[?(@.v<=1)].n`:      `[["p"]]`,
		`.l[?(@.v!=1)].n`:      `[["q"]]`,
		`.l[?(@.v)].n`:         `[["p","q"]]`,
		`.l[?(@.v=="1")].n`:    `error: incompatible types for comparison`,
		`.l[?(@.v=>1)].n`:      `error: unrecognized filter operator =>`,
		`.l[?(@.*==1)]`:        `error: can only compare one element at a time`,
		`.a.b[?(@==true)]`:     `error: incompatible types for comparison`,
		`.a[?(@.b)]`:           `error: map[b:[1 2.5 x <nil> map[c:true]] e:[]] is not array or slice and cannot be filtered`,
		`..c`:                  `[[true]]`,
		`.l..v`:                `[[1,2]]`,
		`.a.*`:                 `[[[1,2.5,"x",null,{"c":true}],[]]]`,
		`.l[0]['n','v']`:       `[["p",1]]`,
		`.s 5`:                 `[[5]]`,
		`.a true`:              `[[true]]`,
		`"t\x41"`:              `[["tA"]]`,
		`.s}-{.z`:              `[["hé"],["-"],[null]]`,
		`range .l[*]}{.n}{end`: `error: unrecognized identifier range`,
	} {
		p, err := Parse("{" + path + "}")
		if err != nil {
			t.Errorf("Parse(%s): %v", path, err)
			continue
		}
		got := ""
		if found, err := p.Find(tree); err != nil {
			got = "error: " + err.Error()
		} else if text, err := json.Marshal(found); err == nil {
			got = string(text)
		}
		if got != want {
			t.Errorf("Find(%s):\ngot  %s\nwant %s", path, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{nil, "<no value>"}, {"a", "a"}, {int64(5), "5"}, {2.5, "2.5"}, {1e21, "1e+21"}, {true, "true"},
		{map[string]any{"b": "<", "a": []any{nil}}, `{"a":[null],"b":"\u003c"}`},
	} {
		if got := Text(tt.value); got != tt.want {
			t.Errorf("Text(%v): got %s, want %s", tt.value, got, tt.want)
		}
	}
}

// TestFindEnds: a short path that leads to too many values ends with an error.
func TestFindEnds(t *testing.T) {
	tree, err := jsontext.Decode([]byte(strings.Repeat(`{"a":`, 50)+`1`+strings.Repeat(`}`, 50)), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("{" + strings.Repeat("..a", 20) + "}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(tree); err == nil {
		t.Error("got no error")
	}
}

// TestFirst: a path of field names, which is the usual form, is followed without an allocation.
func TestFirst(t *testing.T) {
	tree, err := jsontext.Decode([]byte(example), nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{".l": "list", ".a.b[4].c": "true", ".a.none": "", ".s.x": "", ".z": "<nil>", ".a.b[7]": ""} {
		p, err := Parse("{" + path + "}")
		if err != nil {
			t.Fatal(err)
		}
		value, ok, _ := p.First(tree)
		got := ""
		if _, list := value.([]any); list {
			got = "list"
		} else if ok {
			got = fmt.Sprint(value)
		}
		if got != want {
			t.Errorf("First(%s): got %s, want %s", path, got, want)
		}
	}
	p, err := Parse("{.a.b}")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { p.First(tree) }); n != 0 {
		t.Errorf("First: got %v allocations, want none", n)
	}
}

// FuzzPath: no path and no tree panics, and the fast path of First finds what Find finds.
func FuzzPath(f *testing.F) {
	for _, path := range []string{".a.b[0]", "..c", ".l[?(@.v>1)].n", ".a.b[-3:-1:2]", "['a','l']", ".s[*]", `.l[?(@.n=="(")]`} {
		f.Add("{"+path+"}", []byte(example))
	}
	f.Fuzz(func(t *testing.T, template string, data []byte) {
		p, err := Parse(template)
		if err != nil {
			return
		}
		tree, err := jsontext.Decode(data, nil)
		if err != nil {
			return
		}
		value, ok, quick := p.First(tree)
		found, slow := p.Find(tree)
		if (quick == nil) != (slow == nil) {
			t.Fatalf("First: %v, Find: %v", quick, slow)
		}
		if slow != nil || len(found) == 0 || len(found[0]) == 0 {
			if ok {
				t.Fatalf("First finds %v, Find nothing", value)
			}
			return
		}
		if !ok || Text(value) != Text(found[0][0]) {
			t.Fatalf("First: %v, Find: %v", value, found[0][0])
		}
	})
}
