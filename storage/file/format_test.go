package file

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPaths(t *testing.T) {
	for _, tt := range []struct{ key, path string }{
		{"/registry/pods/default/web-1", "registry/pods/default/web-1.yaml"},
		{"/registry/clusterroles/system:node", "registry/clusterroles/system%3Anode.yaml"},
		{"/a/B", "a/%42.yaml"},
		{"/a/..", "a/%2E%2E.yaml"},
		{"/a/x.yaml", "a/x.yaml.yaml"},
		{"/a/x.yaml/y", "a/x%2Eyaml/y.yaml"},
		{"/.git/config", "%2Egit/config.yaml"},
		{"compact_rev_key", "%-/compact_rev_key.yaml"},
		{"/%-/x", "%25-/x.yaml"},
		{"/ü", "%C3%BC.yaml"},
		{"/a/" + strings.Repeat("n", 253), "a/" + strings.Repeat("n", 200) + "%+/" + strings.Repeat("n", 53) + ".yaml"},
	} {
		if got := filepath.ToSlash(keyPath(tt.key)); got != tt.path {
			t.Errorf("keyPath(%q): got %q, want %q", tt.key, got, tt.path)
		}
		if got, err := pathKey(filepath.FromSlash(tt.path)); err != nil || got != tt.key {
			t.Errorf("pathKey(%q): got %q, %v, want %q", tt.path, got, err, tt.key)
		}
	}
	for _, path := range []string{"a/B.yaml", "a/x.yml", "a/%zz.yaml", "a/%4.yaml", "a/%61.yaml", ".yaml", "a/.yaml", "a/x%+/y.yaml"} {
		if got, err := pathKey(path); err == nil {
			t.Errorf("pathKey(%q): got %q, want an error", path, got)
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add("/registry/pods/default/web")
	f.Add("/a/.." + strings.Repeat(".%", 300))
	f.Fuzz(func(t *testing.T, key string) {
		pathKey(key)
		if checkKey(key) != nil {
			return
		}
		path := keyPath(key)
		if got, err := pathKey(path); err != nil || got != key {
			t.Fatalf("%q -> %q -> %q, %v", key, path, got, err)
		}
		for part := range strings.SplitSeq(path, string(filepath.Separator)) {
			if part == "" || part[0] == '.' || len(part) > 255 || strings.ToLower(strings.ReplaceAll(part, "%", "")) == "" {
				t.Fatalf("%q -> %q: bad part %q", key, path, part)
			}
		}
		if !filepath.IsLocal(path) {
			t.Fatalf("%q -> %q leaves the folder", key, path)
		}
	})
}

func TestYAMLReads(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a: 1", `{"a":1}`},
		{"a: 0x10\nb: 1_000\nc: .5\nd: +3\ne: 1e400\nf: -0", `{"a":16,"b":1000,"c":0.5,"d":3,"e":1e400,"f":-0}`},
		{"a: 2024-01-01\nb: ~\nc:\nd: yes\ne: 'x'", `{"a":"2024-01-01","b":null,"c":null,"d":"yes","e":"x"}`},
		{"a: &x {b: 1}\nc: *x", `{"a":{"b":1},"c":{"b":1}}`},
		{"# only\n{\"a\": [1, \"2\"]} # json", `{"a":[1,"2"]}`},
		{"1: a\ntrue: b", `{"1":"a","true":"b"}`},
		{"a: |\n  x\n  y\n", `{"a":"x\ny\n"}`},
		{`!!binary "AAH/"`, "\x00\x01\xff"},
	} {
		if got, err := decode([]byte(tt.in)); err != nil || string(got) != tt.want {
			t.Errorf("decode(%q): got %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", "# nothing\n", "a: [", "a: 1\n---\nb: 2", "a: .inf", "a: 1\na: 2", "<<: {a: 1}",
		"? [x]\n: y", "!!binary '%%'", "a: &a [*a]",
		"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]",
	} {
		if got, err := decode([]byte(in)); err == nil {
			t.Errorf("decode(%.40q): got %.60s, want an error", in, got)
		}
	}
}

// FuzzValue checks that every value comes back: JSON as the same JSON, anything else byte by byte.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x\ny\n",{"b":null}],"":"- x"}`, `"y"`, `{"k":"a\n b\n\n","l":[[],[[1]],{}]}`, "k8s\x00binary",
		`{"n":1e400,"m":-0.0,"o":"1e400"}`, `{"s":" lead","t":"trail ","u":"# c","v":"a: b","w":"\u007f\u0085\u2028"}`, `[{"a":[{"b":"x\ny"}]}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		content := encode(value)
		got, err := decode(content)
		if err != nil {
			t.Fatalf("%q -> %q: %v", value, content, err)
		}
		if want, ok := canonical(value); ok && !bytes.HasPrefix(content, []byte("!!binary")) {
			if !bytes.Equal(got, want) {
				t.Fatalf("%q -> %q -> %q", value, content, got)
			}
		} else if !bytes.Equal(got, value) {
			t.Fatalf("%q -> %q -> %q", value, content, got)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a: &x [1, *x]\n"))
	f.Add([]byte("!!int 'x'"))
	f.Add([]byte("a: !!float 0x1\nb: !!str 1"))
	f.Fuzz(func(t *testing.T, content []byte) {
		value, err := decode(content)
		if err != nil {
			return
		}
		if again, err := decode(encode(value)); err != nil || !bytes.Equal(again, value) {
			t.Fatalf("%q -> %q -> %q, %v", content, value, again, err)
		}
	})
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, state, err := openJournal(path, false)
	if err != nil || state.rev != 0 {
		t.Fatal(state, err)
	}
	ends := time.UnixMilli(1700000000123)
	for _, n := range []note{{rev: 2, key: "/a/x", hash: 7}, {rev: 3, key: "/a/\"y\n", hash: 8, ends: ends}, {rev: 4, key: "/a/x", deleted: true}} {
		if err := j.add(n); err != nil {
			t.Fatal(err)
		}
	}
	j.file.WriteString("00000000 5 put 0000") // a torn line
	j.close()
	for range 2 {
		j, state, err = openJournal(path, false)
		if err != nil || state.rev != 4 || len(state.keys) != 1 || j.lines != 3 {
			t.Fatalf("got %+v, %d lines, %v", state, j.lines, err)
		}
		if n := state.keys["/a/\"y\n"]; n.rev != 3 || n.hash != 8 || !n.ends.Equal(ends) {
			t.Fatalf("got %+v", n)
		}
		j.lines = 1000
		if err := j.rewriteIfLong(func() journalState { return state }); err != nil || j.lines != 2 {
			t.Fatalf("rewrite: %d lines, %v", j.lines, err)
		}
		j.lines = 3
		j.add(note{rev: 4, key: "/a/x", deleted: true})
		j.close()
	}
}

func FuzzNote(f *testing.F) {
	f.Add("00000000 1 put 0000000000000007 \"/a\"")
	f.Add(string(note{rev: 9, key: "/x", hash: 3, ends: time.UnixMilli(5)}.append(nil)))
	f.Add(string(note{rev: 9, key: "/\xff\"", deleted: true}.append(nil)))
	f.Fuzz(func(t *testing.T, line string) {
		n, err := parseNote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			n = note{rev: 1, key: line, hash: 5}
		}
		again, err := parseNote(strings.TrimSuffix(string(n.append(nil)), "\n"))
		if err != nil || again.rev != n.rev || again.key != n.key || again.hash != n.hash || again.deleted != n.deleted || !again.ends.Equal(n.ends) {
			t.Fatalf("%+v -> %+v, %v", n, again, err)
		}
	})
}
