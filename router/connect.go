package router

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// connect hands the request on to what the object stands for.
func (e *endpoint) connect(out answer, r *http.Request, info *request.Info) error {
	path := ""
	if len(info.Parts) > 3 {
		path = strings.Join(info.Parts[3:], "/")
		if strings.HasSuffix(info.Path, "/") { // the other end may tell one from the other
			path += "/"
		}
	}
	opts, err := e.connectOptions(info, path)
	if err != nil {
		return meta.NewBadRequest(meta.Excerpt(err.Error()))
	}
	h, err := e.res.Connecter.Connect(r.Context(), e.write(r, info, opts), path)
	if err != nil {
		return err
	}
	Lift(out.w)
	out.handOn(h, r, info)
	return nil
}

// optionsType is the Go type of the options of a Connecter, nil if it has none. A Connecter without
// options has the kind of its resource.
func (r *Resource) optionsType(codecs *codec.Factory) *typeinfo.Type {
	if r.Connecter == nil || r.Kind.GroupKind() == r.Type.GroupKind() {
		return nil
	}
	return codecs.TypeOf(r.Kind)
}

// connectOptions decodes the options of a connection from the query, nil if the Connecter has none.
// A field called path is not read from the query: it is what follows the name of the subresource in
// the path, with a slash before it.
func (e *endpoint) connectOptions(info *request.Info, path string) (meta.Typed, error) {
	t := e.res.optionsType(e.cfg.Codecs)
	if t == nil {
		return nil, nil
	}
	p := params{Query: &info.Query}
	text := []byte{'{'}
	for _, f := range t.Fields {
		member, ok := p.member(f)
		if f.Name == "path" {
			member, ok = jsontext.AppendString(nil, "/"+path, jsontext.Plain), path != "" || strings.HasSuffix(info.Path, "/")
		}
		if !ok || f.Name == "kind" || f.Name == "apiVersion" {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(jsontext.AppendString(text, f.Name, jsontext.Plain), ':'), member...)
	}
	if p.err != nil {
		return nil, p.err
	}
	decoded, err := e.cfg.Codecs.Decode(codec.DecodeRequest{Data: append(text, '}'), As: e.res.Kind})
	return decoded.Object, err
}

// member returns the JSON of a field of options, and whether the query has it. Objects and maps
// cannot stand in a query.
func (p *params) member(f *typeinfo.Field) (json []byte, ok bool) {
	value, ok := p.Lookup(f.Name)
	if !ok {
		return nil, false
	}
	switch t := f.Type; t.Kind {
	case typeinfo.String:
		return jsontext.AppendString(nil, value, jsontext.Plain), true
	case typeinfo.Bool:
		return strconv.AppendBool(nil, p.Bool(f.Name)), true
	case typeinfo.Int32, typeinfo.Int64:
		return strconv.AppendInt(nil, p.integer(f.Name), 10), value != ""
	case typeinfo.Custom: // such as a time, which "" does not set
		return jsontext.AppendString(nil, value, jsontext.Plain), value != ""
	case typeinfo.List:
		if t.Elem.Kind != typeinfo.String {
			return nil, false
		}
		json = []byte{'['}
		for i, one := range p.All(f.Name) {
			if i > 0 {
				json = append(json, ',')
			}
			json = jsontext.AppendString(json, one, jsontext.Plain)
		}
		return append(json, ']'), true
	}
	return nil, false
}
