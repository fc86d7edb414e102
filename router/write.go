package router

import (
	"cmp"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// write returns a Write with everything that all writes have in common. The caller sets what
// depends on options.
func (e *endpoint) write(r *http.Request, info *request.Info, options meta.Typed) *request.Write {
	w := &request.Write{
		Namespace: info.Namespace, Name: info.Name, Version: e.gv.Version, User: info.User,
		Manager: cmp.Or(managerOf(r), unknownManager), Options: options, Rights: info.Rights,
		Warn: info.Warn, Annotate: info.Annotate, AnnotateRequest: info.AnnotateRequest,
	}
	if info.Record != nil {
		w.Story = info.Record.Story
	}
	return w
}

// unknownManager is the field manager of a client without a user agent.
const unknownManager = "unknown"

// maxManager is the longest name of a field manager, in bytes.
const maxManager = 128

// managerOf returns the default field manager of a client: the user agent up to the first slash,
// without unprintable characters and cut to maxManager bytes. kube-apiserver does the same.
func managerOf(r *http.Request) string {
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, name)
	if len(name) <= maxManager {
		return name
	}
	n := maxManager
	for !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n]
}
