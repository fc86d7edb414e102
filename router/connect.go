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

// connect serves a verb of a Connecter (exec, attach, portforward, proxy, log): it asks the
// Connecter for the handler of the connection and hands the request on to that handler.
func (e *endpoint) connect(out answer, r *http.Request, info *request.Info) error {
	path := ""
	if len(info.Parts) > 3 {
		path = strings.Join(info.Parts[3:], "/")
		if strings.HasSuffix(info.Path, "/") { // Parse trims the slash, but the server behind may need it
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
	out.handOn(h, r)
	return nil
}

// optionsType returns the Go type of a Connecter's options, or nil if it has none. A Connecter
// without options is recognized by its Kind, which is then that of the resource.
func (r *Resource) optionsType(codecs *codec.Factory) *typeinfo.Type {
	if r.Connecter == nil || r.Kind.GroupKind() == r.Type.GroupKind() {
		return nil
	}
	return codecs.TypeOf(r.Kind)
}

// connectOptions decodes the options of a connection from the query; nil if the Connecter has none.
// A field called path is not read from the query: its value is the rest of the request's path
// behind the subresource, with a leading slash.
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
			member, ok = jsontext.AppendString(nil, "/"+path, jsontext.Plain), path != "" ||
				strings.HasSuffix(info.Path, "/")
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

// member returns the value of a field of options as JSON, and whether the query has the field.
// Fields that are objects or maps cannot be set by a query.
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
	case typeinfo.Custom: // such as a time: an empty parameter leaves it unset
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
