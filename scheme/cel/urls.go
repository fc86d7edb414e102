package cel

import (
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// urlType is the type of URLs.
var urlType = &valueType[*url.URL]{
	Type:  cel.ObjectType("kubernetes.URL"),
	short: "URL",
	text:  (*url.URL).String,
	equal: func(a, b *url.URL) bool { return a.String() == b.String() },
}

// urls returns the declarations of the URL library: url(), isURL() and the parts of a URL.
func urls() []cel.EnvOption {
	part := func(name, id string, get func(*url.URL) string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, []*cel.Type{urlType.Type}, cel.StringType,
			cel.UnaryBinding(on(func(u *url.URL) ref.Val { return types.String(get(u)) }))))
	}
	return []cel.EnvOption{
		cel.Function("url", cel.Overload("string_to_url", []*cel.Type{cel.StringType}, urlType.Type,
			cel.UnaryBinding(on(toURL)))),
		cel.Function("isURL", cel.Overload("is_url_string", []*cel.Type{cel.StringType}, cel.BoolType,
			cel.UnaryBinding(on(isURL)))),
		part("getScheme", "url_get_scheme", func(u *url.URL) string { return u.Scheme }),
		part("getHost", "url_get_host", func(u *url.URL) string { return u.Host }),
		part("getHostname", "url_get_hostname", (*url.URL).Hostname),
		part("getPort", "url_get_port", (*url.URL).Port),
		part("getEscapedPath", "url_get_escaped_path", (*url.URL).EscapedPath),
		cel.Function("getQuery", cel.MemberOverload("url_get_query", []*cel.Type{urlType.Type},
			cel.MapType(cel.StringType, cel.ListType(cel.StringType)), cel.UnaryBinding(on(query)))),
	}
}

// toURL accepts absolute URLs and absolute paths. ParseRequestURI decides which strings are such,
// but treats a fragment as a part of the path, so the string is parsed again by Parse.
func toURL(s string) ref.Val {
	_, err := url.ParseRequestURI(s)
	var u *url.URL
	if err == nil {
		u, err = url.Parse(s)
	}
	if err != nil {
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	return urlType.of(u)
}

func isURL(s string) ref.Val {
	_, err := url.ParseRequestURI(s)
	return types.Bool(err == nil)
}

// query implements getQuery(): a map from each parameter to the list of its values.
func query(u *url.URL) ref.Val {
	values := map[ref.Val]ref.Val{}
	for k, v := range u.Query() {
		values[types.String(k)] = types.NewStringList(types.DefaultTypeAdapter, v)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, values)
}
