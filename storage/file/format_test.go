package file

import (
	"bytes"
	"os"
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
		{"b: 1\na: 2", `{"b":1,"a":2}`},
		{"apiVersion: v1\ndata: {}\nkind: ConfigMap", `{"kind":"ConfigMap","apiVersion":"v1","data":{}}`},
		{"apiVersion: v1\nkind: ConfigMap\ndata: {}", `{"apiVersion":"v1","kind":"ConfigMap","data":{}}`},
		{"!!map\napiVersion: v1\ndata: {}\nkind: ConfigMap", `{"apiVersion":"v1","data":{},"kind":"ConfigMap"}`},
		{"spec: {b: 1, kind: x, apiVersion: y}\nkind: C", `{"spec":{"b":1,"kind":"x","apiVersion":"y"},"kind":"C"}`},
		{"a: <&>\nb: !!str <&>\nc: !!str 1", `{"a":"\u003c\u0026\u003e","b":"<&>","c":"1"}`},
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

// odd has values in all spellings of JSON, and some values that are not JSON.
var odd = []string{`{"a":[1,"x\ny\n",{"b":null}],"":"- x"}`, `"y"`, `{"k":"a\n b\n\n","l":[[],[[1]],{},[{}],[{"x":[]}]]}`, "k8s\x00binary",
	`{"n":1e400,"m":-0.0,"o":"1e400","p":1E3,"q":1e+3,"r":123456789012345678901234567890,"s":0.10}`,
	`{"s":" lead","t":"trail ","u":"# c","v":"a: b","w":"\u007f\u0085\u2028"}`, `[{"a":[{"b":"x\ny"}]}]`,
	`{"z":1,"a":{"y":[],"b":{}},"m":null}`, `{"a":1,"a":2}`, `{"a":1,"b":{"x":1,"x":1}}`, `{ "a": 1 }`, "{}\n", " {}", `{"a":1 }`, `[1, 2]`, `{"a" :1}`,
	`{"a":"\u003c\u003e\u0026"}`, `{"a":"<>&"}`, `{"a":"<\u003e"}`, `{"<":"\u003c","\u0026":"&"}`, `{"a":"\/"}`, `{"a":"\u00e9é\ud83d\ude00😀"}`,
	`{"a":"\b\f\u0000\u001f\u0008"}`, "{\"a\":\"\u2028\u2029\x7f\u0085\ufeff\"}", `{"a":"\ufffd"}`, "{\"a\":\"\xff\"}", "\ufeff{}", `{"a":"x\ny < z\n"}`, `{"a":"x\ny \u003c z\n"}`,
	`{"yes":"no","null":"~","1":"2","0x1":"0o7","true":true,"1e3":"2024-01-01",".inf":"-","=":"<<","<<":"*a","!x":"!!str y","? ":"%"}`,
	`{"apiVersion":"v1","data":{},"kind":"C"}`, `{"apiVersion":"v1","kind":"C","data":{}}`, `{"data":{},"kind":"C","apiVersion":"v1","x":"<"}`,
	`{"kind":1,"x":2,"apiVersion":[]}`, `{"kind":"a","x":1}`, `true`, `null`, `-1.5`, `""`, `[]`, `{}`, ``, `"a\nb"`, `{"a":"a\r\nb"}`, `{"a":"\ta\n\tb"}`, `{"a":"a\n\tb \n"}`,
	`{"` + strings.Repeat("k", 2000) + `":1}`, `{"a":"` + strings.Repeat("word ", 500) + `"}`, strings.Repeat("[", 600) + strings.Repeat("]", 600),
	strings.Repeat("[", 499) + strings.Repeat("0,", 50_000) + "0" + strings.Repeat("]", 499),
}

// FuzzValue checks that every value comes back byte by byte, from a file that can be read back.
func FuzzValue(f *testing.F) {
	for _, s := range odd {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		content := encode(value)
		if got, err := decode(content); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("%q -> %q -> %q, %v", value, content, got, err)
		}
		if len(content) > maxFile/2+4*len(value)+100 {
			t.Fatalf("a value of %d bytes makes a file of %d", len(value), len(content))
		}
	})
}

// TestReadable checks that what the API writes is stored as YAML, and not as a scalar that people
// cannot read.
func TestReadable(t *testing.T) {
	for _, value := range []string{
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{"run":"a \u0026\u0026 b\n","\u003c":"é\u2028"}}`,
		`{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"annotations":{"a":"\u003c"}},"spec":{"run":"a && b\nc < d\n"}}`,
		`{"apiVersion":"example.org/v1","data":{},"kind":"Widget","metadata":{"name":"x"}}`,
	} {
		if content := encode([]byte(value)); bytes.HasPrefix(content, []byte("!!binary")) {
			t.Errorf("%s is stored as %s", value, content)
		}
	}
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

func openRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err == nil {
		err = root.Mkdir(stateDir, dirMode)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestJournal(t *testing.T) {
	root := openRoot(t)
	j, state, err := openJournal(root, false)
	if err != nil || state.rev != 0 {
		t.Fatal(state, err)
	}
	ends := time.UnixMilli(1700000000123)
	add := func(notes ...note) {
		t.Helper()
		for _, n := range notes {
			if err := j.add(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(note{rev: 2, op: opPut, key: "/a/x", hash: 7}, note{rev: 2, op: opLease, key: "/a/\"y\n", hash: 8, ends: ends})
	j.file.WriteString("00000000 3 damaged \"/a/x\"\n")
	add(note{rev: 3, op: opPut, key: "/a/\"y\n", hash: 8, ends: ends}, note{rev: 4, op: opDelete, key: "/a/x"},
		note{rev: 4, op: opLease, key: "/a/z", hash: 9, ends: ends})
	j.file.WriteString("00000000 5 put 00\n00000000 5 put 0000") // torn lines
	j.close()
	for i := range 2 {
		j, state, err = openJournal(root, false)
		if err != nil || state.rev != 4 || len(state.keys) != 1 {
			t.Fatalf("got %+v, %v", state, err)
		}
		if n := state.keys["/a/\"y\n"]; n.rev != 3 || n.hash != 8 || !n.ends.Equal(ends) {
			t.Fatalf("got %+v", n)
		}
		// A finished write has no pending lease, and a rewrite of the journal drops pending ones.
		if n := state.leases["/a/z"]; len(state.leases) != 1-i || i == 0 && (n.hash != 9 || !n.ends.Equal(ends)) {
			t.Fatalf("got leases %+v", state.leases)
		}
		j.lines = 1000
		if err := j.rewriteIfLong(func() journalState { return state }); err != nil || j.lines != 2 {
			t.Fatalf("rewrite: %d lines, %v", j.lines, err)
		}
		add(note{rev: 4, op: opDelete, key: "/a/x"})
		j.close()
	}
}

func FuzzNote(f *testing.F) {
	f.Add("00000000 1 put 0000000000000007 \"/a\"")
	f.Add(string(note{rev: 9, op: opPut, key: "/x", hash: 3, ends: time.UnixMilli(5)}.append(nil)))
	f.Add(string(note{rev: 9, op: opLease, key: "/x", hash: 3, ends: time.UnixMilli(5)}.append(nil)))
	f.Add(string(note{rev: 9, op: opDelete, key: "/\xff\""}.append(nil)))
	f.Add(string(note{rev: 9, op: opBorn, key: "/x", birth: Birth{ID: "a b", At: time.UnixMilli(5)}}.append(nil)))
	f.Fuzz(func(t *testing.T, line string) {
		n, err := parseNote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			n = note{rev: 1, op: opPut, key: line, hash: 5}
		}
		again, err := parseNote(strings.TrimSuffix(string(n.append(nil)), "\n"))
		if err != nil || again.rev != n.rev || again.key != n.key || again.hash != n.hash || again.op != n.op || !again.ends.Equal(n.ends) ||
			again.birth != n.birth {
			t.Fatalf("%+v -> %+v, %v", n, again, err)
		}
	})
}
