package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Merging the documents of other servers (API services) into the document of this one. The router's
// aggregation calls Swagger.Below when it fetches a document, and V2JSON calls MergeV2. Names may
// collide: two servers may have different models of the same name, and the later ones are renamed.
//
// Merging one document takes these steps:
//
//  1. Drop its paths that exist already, and the models that only they used.
//  2. Find new names for its models and parameters whose name stands for something else.
//  3. Change its references to the new names.
//  4. Add its models, parameters and paths. An equal model is added once, with the kinds of both.

// Below returns the part of the document about paths below a prefix, in the form that MergeV2 and
// AppendV3JSON take; nil if there are no such paths.
func (d *Swagger) Below(prefix string) []byte {
	part := *d
	part.definitions, part.paths = maps.Clone(d.definitions), maps.Clone(d.paths)
	part.drop(func(path string) bool { return !strings.HasPrefix(path, prefix) })
	if len(part.paths) == 0 {
		return nil
	}
	return part.append(nil)
}

// drop removes paths, and the models that only these paths used. Models that nothing used before
// stay.
func (d *Swagger) drop(isGone func(path string) bool) {
	before, all := d.used(), len(d.paths)
	maps.DeleteFunc(d.paths, func(path string, _ any) bool { return isGone(path) })
	if len(d.paths) < all {
		now := d.used()
		maps.DeleteFunc(d.definitions, func(name string, _ any) bool {
			return before[v2Models+name] && !now[v2Models+name]
		})
	}
}

// MergeV2 returns a document of version 2, which V2JSON made, together with parts of other servers'
// documents, which Below made. If a part has a model or parameter with the same name but another
// content, that of the part is renamed. Parts that are malformed are left out.
func MergeV2(document []byte, parts [][]byte) []byte {
	tree, _ := jsontext.RawOf(document).Look(0)
	root, ok := tree.(map[string]any)
	if !ok {
		return document
	}
	section := func(name string) map[string]any {
		raw, _ := root[name].(jsontext.Raw)
		tree, _ := raw.Look(1)
		members, ok := tree.(map[string]any)
		if !ok {
			members = map[string]any{}
		}
		root[name] = members
		return members
	}
	to := &Swagger{definitions: section("definitions"), parameters: section("parameters"), paths: section("paths")}
	for _, part := range parts {
		if from, err := ReadSwagger(part); err == nil {
			to.merge(from)
		}
	}
	return appendTree(make([]byte, 0, len(document)+len(document)/4), root)
}

// merge adds the paths of another document and what they use. A path that d has already stays as it
// is.
func (d *Swagger) merge(from *Swagger) {
	from.drop(func(path string) bool { return d.paths[path] != nil })
	if len(from.paths) == 0 {
		return
	}
	definitions := renames(d.definitions, from.definitions, sameModel)
	parameters := renames(d.parameters, from.parameters, jsontext.Equal)
	refs := map[string]string{}
	for name, to := range definitions {
		refs[v2Models+name] = v2Models + to
	}
	for name, to := range parameters {
		refs[v2Parameters+name] = v2Parameters + to
	}
	from.rename(refs)
	for name, model := range from.definitions {
		if to := definitions[name]; to != "" {
			name = to
		}
		if there := look(d.definitions, name); there == nil {
			d.definitions[name] = model
		} else {
			addKinds(there.(map[string]any), model.(map[string]any))
		}
	}
	for name, parameter := range from.parameters {
		if to := parameters[name]; to != "" {
			name = to
		}
		if d.parameters[name] == nil {
			d.parameters[name] = parameter
		}
	}
	maps.Copy(d.paths, from.paths)
}

// renames returns new names for those members of from whose name has another value in to. A new
// name is the old one with a number (Widget_v2): the first number with which to has an equal member
// or, if there is none, with which the name is free.
func renames(to, from map[string]any, same func(a, b any) bool) map[string]string {
	renames, taken := map[string]string{}, map[string]bool{}
	for _, name := range jsontext.Keys(from) {
		there := look(to, name)
		if there == nil || same(there, from[name]) {
			continue
		}
		next, i := name, 1
		for there != nil && !same(there, from[name]) {
			i++
			next = fmt.Sprintf("%s_v%d", name, i)
			there = look(to, next)
		}
		for there == nil && (taken[next] || to[next] != nil || from[next] != nil) {
			i++
			next = fmt.Sprintf("%s_v%d", name, i)
		}
		renames[name], taken[next] = next, true
	}
	return renames
}

// look returns the object called name, nil if there is none. It decodes the object on first use,
// since most models are never looked at.
func look(objects map[string]any, name string) any {
	raw, ok := objects[name].(jsontext.Raw)
	if !ok {
		return objects[name]
	}
	s := jsontext.NewScanner([]byte(raw), true, nil)
	tree, err := s.Document()
	if _, ok := tree.(map[string]any); err != nil || !ok {
		tree = map[string]any{} // cannot happen: V2JSON writes objects
	}
	objects[name] = tree
	return tree
}

// sameModel reports whether two models are equal apart from their kinds.
func sameModel(a, b any) bool {
	left, right := a.(map[string]any), b.(map[string]any)
	count := func(m map[string]any) int {
		if m[kindsKey] != nil {
			return len(m) - 1
		}
		return len(m)
	}
	if count(left) != count(right) {
		return false
	}
	for key, value := range left {
		if other, ok := right[key]; key != kindsKey && (!ok || !jsontext.Equal(value, other)) {
			return false
		}
	}
	return true
}

// addKinds adds the kinds of the model from to those of the equal model to, and sorts them if there
// are new ones.
func addKinds(to, from map[string]any) {
	there, _ := to[kindsKey].([]any)
	more, _ := from[kindsKey].([]any)
	if there == nil {
		if more != nil {
			to[kindsKey] = more
		}
		return
	}
	id := func(kind any) string {
		m, _ := kind.(map[string]any)
		return fmt.Sprintf("%v/%v.%v", m["group"], m["version"], m["kind"])
	}
	ids := map[string]bool{}
	for _, kind := range there {
		ids[id(kind)] = true
	}
	more = slices.DeleteFunc(slices.Clone(more), func(kind any) bool { return ids[id(kind)] })
	if len(more) > 0 {
		all := slices.Concat(there, more)
		slices.SortStableFunc(all, func(a, b any) int { return strings.Compare(id(a), id(b)) })
		to[kindsKey] = all
	}
}
