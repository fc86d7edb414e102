package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/codec"
)

// player takes one example through all verbs.
type player struct {
	*inProcess
	r      *playedResource
	item   string   // path of the object
	seen   string   // its resourceVersion
	events []string // the events that the watch must have: "MODIFIED 7", or "MODIFIED" if the revision is unknown
}

func (r *playedResource) play(p *inProcess, text []byte) {
	data, _, err := codec.YAMLToJSON(text, true, nil)
	if err != nil {
		p.TB.Fatal(err)
	}
	example := treeOf(p.TB, data)
	name := at(example, "metadata.name")
	if name == nil || at(example, "metadata.labels") == nil {
		p.TB.Fatal("the example has no name, or no labels")
	}
	k := &player{inProcess: p, r: r, item: fmt.Sprint(r.paths[0], "/", name)}
	_, empty := p.do("GET", r.paths[0], "")
	before := at(treeOf(p.TB, []byte(empty)), "metadata.resourceVersion")

	made := k.write("ADDED", "POST", r.paths[0]+"?fieldValidation=Strict", string(text), "Content-Type", "application/yaml")
	if k.isDefinition() {
		made = k.judged()
	}
	status := example["status"]
	if delete(example, "status"); slices.Contains(r.doors, "status") && status == nil {
		p.TB.Error("there is a door to the status, but the example has none")
	}
	k.holds(made, example)
	k.changeStatus(made, status)
	k.readAndWriteBack()
	k.patch()
	k.update()
	k.table()
	k.list()
	k.remove()
	k.watch(fmt.Sprint(before))
}

// request sends a request that must succeed, and returns the tree of the answer if it is JSON.
func (k *player) request(method, path, body string, header ...string) map[string]any {
	k.TB.Helper()
	code, answer := k.do(method, path, body, header...)
	if code >= 300 {
		k.TB.Fatalf("%s %s: got %d %s\nof %s", method, path, code, answer, body)
	}
	return treeOf(k.TB, []byte(answer))
}

// write is request for a request that changes the object. The watch must have the event.
func (k *player) write(event, method, path, body string, header ...string) map[string]any {
	k.TB.Helper()
	obj := k.request(method, path, body, header...)
	now := fmt.Sprint(at(obj, "metadata.resourceVersion"))
	if now == k.seen {
		k.TB.Errorf("%s %s changes nothing", method, path)
	}
	k.seen = now
	k.events = append(k.events, event+" "+now)
	return obj
}

// changeStatus sets the status through the subresource status.
func (k *player) changeStatus(obj map[string]any, status any) {
	if !slices.Contains(k.r.doors, "status") || status == nil {
		return
	}
	obj["status"] = status
	at(obj, "metadata").(map[string]any)["annotations"] = map[string]any{"changed-by": "status"}
	changed := k.write("MODIFIED", "PUT", k.item+"/status", text(k.TB, obj))
	k.holds(changed, map[string]any{"status": status})
}

// readAndWriteBack reads the object in each version and each encoding, and writes it back. That
// changes nothing.
func (k *player) readAndWriteBack() {
	_, first := k.do("GET", k.item, "")
	name := k.item[len(k.r.paths[0]):]
	for _, path := range k.r.paths {
		_, plain := k.do("GET", path+name, "")
		for _, form := range []struct {
			mediaType string
			typ       codec.Type
		}{{"application/json", codec.JSON}, {"application/yaml", codec.YAML}, {"application/vnd.kubernetes.protobuf", codec.Protobuf}} {
			what := path + name + " as " + form.mediaType
			code, body := k.do("GET", path+name, "", "Accept", form.mediaType)
			decoded, err := k.Codecs.Decode(codec.DecodeRequest{Data: []byte(body), Type: form.typ})
			if code != 200 || err != nil {
				k.TB.Errorf("%s: got %d, %v", what, code, err)
				continue
			}
			k.Scheme.Default(decoded.Object) // objects inside of others, such as claim templates, have no kind
			again, err := codec.AppendJSON(nil, decoded.Object)
			if err != nil || !reflect.DeepEqual(treeOf(k.TB, again), treeOf(k.TB, []byte(plain))) {
				k.TB.Errorf("%s: got %s, %v\nwant %s", what, again, err, plain)
			}
			if code, answer := k.do("PUT", path+name, body, "Content-Type", form.mediaType); code != 200 {
				k.TB.Errorf("PUT %s: got %d %s", what, code, answer)
			}
			if _, last := k.do("GET", k.item, ""); last != first {
				k.TB.Fatalf("%s, written back as it was read, changes the object: got %s\nwant %s", what, last, first)
			}
		}
	}
}

// patch sets an annotation with each of three types of patches.
func (k *player) patch() {
	for media, body := range map[string]string{
		"application/json-patch+json":            `[{"op":"add","path":"/metadata/annotations","value":{"changed-by":%q}}]`,
		"application/merge-patch+json":           `{"metadata":{"annotations":{"changed-by":%q}}}`,
		"application/strategic-merge-patch+json": `{"metadata":{"annotations":{"changed-by":%q}}}`,
	} {
		obj := k.write("MODIFIED", "PATCH", k.item, fmt.Sprintf(body, media), "Content-Type", media)
		if got := at(obj, "metadata.annotations.changed-by"); got != media {
			k.TB.Errorf("%s: got the annotation %v", media, got)
		}
	}
}

// update sets a label with a PUT.
func (k *player) update() {
	obj := k.request("GET", k.item, "")
	at(obj, "metadata.labels").(map[string]any)["changed-by"] = "update"
	updated := k.write("MODIFIED", "PUT", k.item, text(k.TB, obj))
	if got := at(updated, "metadata.labels.changed-by"); got != "update" {
		k.TB.Errorf("PUT: got the label %v", got)
	}
}

// table requires a cell of the right type for each column.
func (k *player) table() {
	table := k.request("GET", k.item, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	columns, _ := table["columnDefinitions"].([]any)
	rows, _ := table["rows"].([]any)
	if len(rows) != 1 || len(columns) == 0 {
		k.TB.Fatalf("got %d rows of %d columns", len(rows), len(columns))
	}
	cells := at(rows[0], "cells").([]any)
	if len(cells) != len(columns) {
		k.TB.Fatalf("got %d cells in %d columns: %v", len(cells), len(columns), cells)
	}
	for i, cell := range cells {
		typ, fits := at(columns[i], "type"), false
		switch cell.(type) {
		case string:
			fits = typ == "string" || typ == "date" || typ == "boolean" && (cell == "True" || cell == "False") // as in cron jobs
		case float64, bool:
			fits = typ != "date" // Kubernetes also has numbers in columns of strings
		}
		if !fits {
			k.TB.Errorf("column %v, of type %v, has the cell %#v", at(columns[i], "name"), typ, cell)
		}
	}
}

// list selects the object among others by its label and by each selectable field.
func (k *player) list() {
	obj := k.request("GET", k.item, "")
	k.selects("labelSelector", "changed-by", "update")
	version := k.r.store.Kind().Versions()[0].GVK.Version
	fields := []registry.FieldValue{{Label: "metadata.name", Path: "metadata.name"}}
	if strings.Contains(k.item, "/namespaces/ns/") {
		fields = append(fields, registry.FieldValue{Label: "metadata.namespace", Path: "metadata.namespace"})
	}
	for _, f := range append(fields, k.r.store.Resource().Fields...) {
		if f.Version != "" && f.Version != version {
			continue
		}
		value := at(obj, f.Path)
		if value == nil && f.Else != "" {
			value = at(obj, f.Else)
		}
		if value == nil {
			value = f.Default
		}
		k.selects("fieldSelector", f.Label, fmt.Sprint(value))
	}
}

// selects requires that a list with key=value has the object, and one with key!=value does not.
func (k *player) selects(by, key, value string) {
	for op, want := range map[string]bool{"=": true, "!=": false} {
		list := k.request("GET", k.r.paths[0]+"?"+by+"="+url.QueryEscape(key+op+value), "")
		items, _ := list["items"].([]any)
		if got := slices.ContainsFunc(items, func(obj any) bool {
			return strings.HasSuffix(k.item, "/"+fmt.Sprint(at(obj, "metadata.name")))
		}); got != want {
			k.TB.Errorf("list by %s %s%s%s: got the object: %v", by, key, op, value, got)
		}
	}
}

// remove deletes the object, and removes finalizers that hold it.
func (k *player) remove() {
	if code, answer := k.do("DELETE", k.item+"?gracePeriodSeconds=0", ""); code >= 300 {
		k.TB.Fatalf("DELETE: got %d %s", code, answer)
	}
	if k.isDefinition() {
		k.emptied()
		return
	}
	if k.r.store.Resource().Strategy.Graceful != nil { // the end of the grace period is an event of its own
		k.events = append(k.events, "MODIFIED")
	}
	if code, held := k.do("GET", k.item, ""); code == http.StatusOK {
		obj := treeOf(k.TB, []byte(held))
		k.events = append(k.events, fmt.Sprint("MODIFIED ", at(obj, "metadata.resourceVersion")))
		delete(at(obj, "metadata").(map[string]any), "finalizers")
		door := ""
		if at(obj, "spec.finalizers") != nil {
			delete(at(obj, "spec").(map[string]any), "finalizers")
			door = "/finalize"
		}
		k.request("PUT", k.item+door, text(k.TB, obj))
	}
	k.events = append(k.events, "DELETED")
	if code, _ := k.do("GET", k.item, ""); code != http.StatusNotFound {
		k.TB.Errorf("after DELETE: got %d", code)
	}
}

// isDefinition reports whether the server itself writes to the object, as it does with definitions.
func (k *player) isDefinition() bool { return k.r.Resource == "customresourcedefinitions" }

// judged waits until the server has written the status of a new definition. It has nothing to write
// if the example has that status already.
func (k *player) judged() (obj map[string]any) {
	k.until(func() bool {
		obj = k.request("GET", k.item, "")
		return at(obj, "status.conditions") != nil
	})
	k.events = append(k.events, fmt.Sprint("MODIFIED ", at(obj, "metadata.resourceVersion")))
	return obj
}

// emptied waits until a deleted definition is gone. Its condition Terminating is an event of its
// own.
func (k *player) emptied() {
	k.until(func() bool {
		code, _ := k.do("GET", k.item, "")
		return code == http.StatusNotFound
	})
	k.events = append(k.events, "MODIFIED", "MODIFIED", "DELETED")
}

// until waits until holds returns true.
func (k *player) until(holds func() bool) {
	k.TB.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			k.TB.Fatal("the server does not get to it")
		}
	}
}

// watch checks that a watch from the start has all events.
func (k *player) watch(from string) {
	_, body := k.do("GET", k.r.paths[0]+"?watch=1&timeoutSeconds=1&resourceVersion="+from, "")
	var got []string
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		event := treeOf(k.TB, lines.Bytes())
		if strings.HasSuffix(k.item, "/"+fmt.Sprint(at(event, "object.metadata.name"))) {
			got = append(got, fmt.Sprint(event["type"], " ", at(event, "object.metadata.resourceVersion")))
		}
	}
	if !slices.EqualFunc(got, k.events, func(got, want string) bool { return strings.HasPrefix(got+" ", want+" ") }) {
		k.TB.Errorf("a watch sees %q, want %q", got, k.events)
	}
}

// holds requires that obj contains all of fields.
func (k *player) holds(obj, fields any) {
	k.TB.Helper()
	for _, d := range missing(obj, fields, "") {
		k.TB.Error(d)
	}
}

// missing returns the paths at which got lacks a value of want, or differs.
func missing(got, want any, path string) (list []string) {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for name := range want {
			list = append(list, missing(fields[name], want[name], path+"."+name)...)
		}
		return list
	case []any:
		if items, _ := got.([]any); len(items) == len(want) {
			for i := range want {
				list = append(list, missing(items[i], want[i], fmt.Sprintf("%s[%d]", path, i))...)
			}
			return list
		}
	}
	if !reflect.DeepEqual(got, want) {
		return []string{fmt.Sprintf("%s: got %v, want %v, as in the example", path, got, want)}
	}
	return nil
}

// at returns the value at a path of names in a tree; nil for none.
func at(tree any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := tree.(map[string]any)
		tree = fields[name]
	}
	return tree
}

func treeOf(tb testing.TB, data []byte) (tree map[string]any) {
	tb.Helper()
	if err := json.Unmarshal(data, &tree); err != nil {
		tb.Fatalf("%v in %.300s", err, data)
	}
	return tree
}

func text(tb testing.TB, tree any) string {
	tb.Helper()
	data, err := json.Marshal(tree)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
