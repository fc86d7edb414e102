package router

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// connect hands the request on to what the object stands for.
func (e *endpoint) connect(w http.ResponseWriter, r *http.Request, info *request.Info) error {
	path := ""
	if len(info.Parts) > 3 {
		path = strings.Join(info.Parts[3:], "/")
		if strings.HasSuffix(info.Path, "/") { // the other end may tell one from the other
			path += "/"
		}
	}
	h, err := e.res.Connecter.Connect(r.Context(), e.write(r, info, &meta.CreateOptions{}), path)
	if err != nil {
		return err
	}
	Lift(w)
	h.ServeHTTP(w, r)
	return nil
}
