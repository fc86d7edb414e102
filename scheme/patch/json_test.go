package patch

import (
	"fmt"
	"testing"
)

// TestJSON checks the results of JSON patches on {"a":[0,1,2],"n":null,"o":{"k":"v"}}. refused
// means that the patch does not apply.
func TestJSON(t *testing.T) {
	const (
		doc     = `{"a":[0,1,2],"n":null,"o":{"k":"v"}}`
		refused = ""
	)
	for _, tt := range []struct{ ops, want string }{
		{`{"op":"add","path":"/a/3","value":9}`, `{"a":[0,1,2,9],"n":null,"o":{"k":"v"}}`},
		{`{"op":"add","path":"/a/4","value":9}`, refused},
		{`{"op":"add","path":"/a/-1","value":9}`, `{"a":[0,1,2,9],"n":null,"o":{"k":"v"}}`},
		{`{"op":"add","path":"/a/-4","value":9}`, `{"a":[9,0,1,2],"n":null,"o":{"k":"v"}}`},
		{`{"op":"add","path":"/a/-5","value":9}`, refused},
		{`{"op":"add","path":"/a/x","value":9}`, refused},
		{`{"op":"add","path":"/n/x","value":9}`, refused},
		{`{"op":"add","path":"/o/k/x","value":9}`, refused},
		{`{"op":"add","path":"/a/0/x","value":9}`, refused},
		{`{"op":"add","path":"/a/9/x","value":9}`, refused},
		{`{"op":"add","path":"o","value":9}`, refused},
		{`{"op":"add","path":"o/x","value":9}`, `{"a":[0,1,2],"n":null,"o":{"k":"v"},"x":9}`},
		{`{"op":"add","path":"","value":{}}`, refused},
		{`{"op":"add","value":9}`, refused},
		{`{"op":"remove","path":"/a/2"}`, `{"a":[0,1],"n":null,"o":{"k":"v"}}`},
		{`{"op":"remove","path":"/a/-3"}`, `{"a":[1,2],"n":null,"o":{"k":"v"}}`},
		{`{"op":"remove","path":"/a/3"}`, refused},
		{`{"op":"remove","path":"/a/-4"}`, refused},
		{`{"op":"remove","path":"/a/-"}`, refused},
		{`{"op":"remove","path":""}`, refused},
		{`{"op":"remove"}`, refused},
		{`{"op":"replace","path":"/a/-1","value":9}`, `{"a":[0,1,9],"n":null,"o":{"k":"v"}}`},
		{`{"op":"replace","path":"/a/3","value":9}`, refused},
		{`{"op":"replace","path":"","value":[1]}`, `[1]`},
		{`{"op":"replace","path":"","value":null}`, refused},
		{`{"op":"replace","path":"","value":{"x":{"y":1}}},{"op":"add","path":"/x/z","value":2}`, `{"x":{"y":1,"z":2}}`},
		{`{"op":"replace","path":"","value":[1]},{"op":"add","path":"/-","value":2}`, `[1,2]`},
		{`{"op":"replace","path":"","value":[1]},{"op":"remove","path":"/0"}`, `[]`},
		{`{"op":"replace","path":"","value":[[1]]},{"op":"add","path":"/0/-","value":2}`, `[[1,2]]`},
		{`{"op":"replace","value":{}}`, refused},
		{`{"op":"test","path":"/a/-1","value":2}`, doc},
		{`{"op":"test","path":"/a/3","value":2}`, refused},
		{`{"op":"test","path":"/o","value":{"k":"v"}}`, doc},
		{`{"op":"test","path":"/o","value":{"k":"w"}}`, refused},
		{`{"op":"test","path":"/o","value":{"k":"v","l":1}}`, refused},
		{`{"op":"test","path":"/o","value":{"l":"v"}}`, refused},
		{`{"op":"test","path":"/o","value":[1]}`, refused},
		{`{"op":"test","path":"/o","value":"k"}`, refused},
		{`{"op":"test","path":"/a","value":[0,1,2]}`, doc},
		{`{"op":"test","path":"/a","value":[0,1]}`, refused},
		{`{"op":"test","path":"/a","value":[0,1,3]}`, refused},
		{`{"op":"test","path":"/a","value":{}}`, refused},
		{`{"op":"test","path":"/n","value":null}`, doc},
		{`{"op":"test","path":"/none"}`, doc},
		{`{"op":"test","path":"/n","value":0}`, refused},
		{`{"op":"test","path":"/o/k","value":null}`, refused},
		{`{"op":"test","path":"/none","value":1}`, refused},
		{`{"op":"test","path":"","value":` + doc + `}`, doc},
		{`{"op":"test","path":"","value":{"a":[0,1,2],"o":{"k":"v"}}}`, refused},
		{`{"op":"test"}`, refused},
		{`{"op":"copy","from":"/o","path":"/p"},{"op":"add","path":"/p/k","value":"w"}`, `{"a":[0,1,2],"n":null,"o":{"k":"v"},"p":{"k":"w"}}`},
		{`{"op":"copy","from":"/a/0","path":"/a/3"}`, `{"a":[0,1,2,0],"n":null,"o":{"k":"v"}}`},
		{`{"op":"copy","from":"/n","path":"/z"}`, `{"a":[0,1,2],"n":null,"o":{"k":"v"},"z":null}`},
		{`{"op":"copy","from":"/none","path":"/z"}`, `{"a":[0,1,2],"n":null,"o":{"k":"v"},"z":null}`},
		{`{"op":"copy","from":"/a/7","path":"/z"}`, refused},
		{`{"op":"copy","from":"/q/7","path":"/z"}`, refused},
		{`{"op":"copy","from":"/o/k","path":"/a/9"}`, refused},
		{`{"op":"copy","from":"","path":"/z"}`, refused},
		{`{"op":"copy","from":"/o","path":""}`, refused},
		{`{"op":"copy","path":"/z"}`, refused},
		{`{"op":"copy","from":"/o"}`, refused},
		{`{"op":"move","from":"/o","path":"/a/0"},{"op":"add","path":"/a/0/j","value":1}`, `{"a":[{"j":1,"k":"v"},0,1,2],"n":null}`},
		{`{"op":"move","from":"/a/0","path":"/a/-"}`, `{"a":[1,2,0],"n":null,"o":{"k":"v"}}`},
		{`{"op":"move","from":"/a/0","path":"/a/3"}`, refused},
		{`{"op":"move","from":"/none","path":"/z"}`, refused},
		{`{"op":"move","from":"/o/k","path":"/q/r"}`, refused},
		{`{"op":"move","from":"/o","path":""}`, refused},
		{`{"op":"move","path":"/z"}`, refused},
		{`{"op":"move","from":"/o"}`, refused},
	} {
		got, err := JSON([]byte(doc), []byte("["+tt.ops+"]"), nil)
		if string(got) != tt.want || tt.want == refused && !refuses(err) || tt.want != refused && err != nil {
			t.Errorf("%s: got %s, %v, want %s", tt.ops, got, err, tt.want)
		}
	}
}

// TestOperations: operations with members that are no strings or occur twice, paths with escapes,
// and texts that are no patch.
func TestOperations(t *testing.T) {
	const intoString = "error decoding patch: json: cannot unmarshal %s into Go struct field jsonPatchOp.%s of type string"
	for _, tt := range []struct{ op, want string }{
		{`{"op":"add","path":{}}`, fmt.Sprintf(intoString, "object", "path")},
		{`{"op":"add","from":[]}`, fmt.Sprintf(intoString, "array", "from")},
		{`{"op":true}`, fmt.Sprintf(intoString, "bool", "op")},
		{`{"op":null,"path":"/a"}`, "Unexpected kind: unknown"},
		{`{"op":"add","path":"/a","path":null}`, "add operation failed to decode path: missing value"},
		{`{"op":"move","from":"/a","from":null,"path":"/b"}`, "move operation failed to decode from: operation, missing from field: missing value"},
		{`{"op":"add","path":null,"path":"/a","other":5,"value":1}`, ""},
		{`{"op":"add","path":"/a","value":[1],"value":{"b":1e-400}}`, ""},
	} {
		_, err := checked(JSON, CheckJSON)([]byte(`{}`), []byte("["+tt.op+"]"), nil)
		if got := fmt.Sprint(err); got != tt.want && (tt.want != "" || err != nil) {
			t.Errorf("%s: got %s, want %s", tt.op, got, tt.want)
		}
	}
	for path, want := range map[string]string{"/~0b": `{"a/~1":{"c":0},"~b":9}`, "/a~1~01/c": `{"a/~1":{"c":9},"~b":0}`} {
		got, err := JSON([]byte(`{"~b":0,"a/~1":{"c":0}}`), []byte(`[{"op":"replace","path":"`+path+`","value":9}]`), nil)
		if err != nil || string(got) != want {
			t.Errorf("path %s: got %s, %v, want %s", path, got, err, want)
		}
	}
	for patch, want := range map[string]string{`null`: `{"a":1}`, `[]`: `{"a":1}`} {
		if got, err := JSON([]byte(`{"a":1}`), []byte(patch), nil); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", patch, got, err, want)
		}
	}
	for _, doc := range []string{``, `1`, `"x"`, `null`, `{`, `[1`} {
		if got, err := JSON([]byte(doc), []byte(`[]`), nil); kindOf(err) != Inapplicable {
			t.Errorf("of the document %q: got %s, %v", doc, got, err)
		}
	}
}

// TestJSONSortsWhatItTests checks that objects have sorted keys after a test operation, or the way
// to a target, has decoded them. The same is so in Kubernetes, and clients see it.
func TestJSONSortsWhatItTests(t *testing.T) {
	for patch, want := range map[string]string{
		`{"op":"test","path":"/a","value":{"x":{"p":1,"q":2},"y":[{"t":1,"s":2}]}}`: `{"a":{"x":{"p":1,"q":2},"y":[{"s":2,"t":1}]},"b":{"z":1,"y":2}}`,
		`{"op":"test","path":"/a/y","value":[{"t":1,"s":2}]}`:                       `{"a":{"x":{"q":2,"p":1},"y":[{"s":2,"t":1}]},"b":{"z":1,"y":2}}`,
		`{"op":"copy","from":"/b","path":"/b/c"}`:                                   `{"a":{"y":[{"t":1,"s":2}],"x":{"q":2,"p":1}},"b":{"c":{"y":2,"z":1},"y":2,"z":1}}`,
	} {
		got, err := JSON([]byte(`{"b":{"z":1,"y":2},"a":{"y":[{"t":1,"s":2}],"x":{"q":2,"p":1}}}`), []byte("["+patch+"]"), nil)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", patch, got, err, want)
		}
	}
}
