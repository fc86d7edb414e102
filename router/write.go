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

// write is what all writes have in common of what the registry is told. What options say is filled in by the caller.
func (e *endpoint) write(r *http.Request, info *request.Info, options meta.Typed) *request.Write {
	return &request.Write{
		Namespace: info.Namespace, Name: info.Name, Version: e.gv.Version, User: info.User,
		Manager: cmp.Or(managerOf(r), unknown), Options: options, Warn: info.Warn, Annotate: info.Annotate, Rights: info.Rights,
	}
}

// unknown is the manager of who does not say what program it is.
const unknown = "unknown"

// maxManager is how long the name of a field manager may be, in bytes.
const maxManager = 128

// managerOf is who owns the fields that a client sets without saying a fieldManager: its program, which the user agent
// begins with. What cannot be printed is left out, and what is too long cut off.
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
