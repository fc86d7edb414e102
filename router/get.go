package router

import (
	"net/http"

	"github.com/coracle-project/coracle/router/request"
)

// get answers with one object as it is stored.
func (e *endpoint) get(w http.ResponseWriter, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	var rv string
	if r.URL.RawQuery != "" {
		rv, _ = request.Param(r.URL.RawQuery, "resourceVersion")
	}
	enc, err := e.res.Getter.Get(r.Context(), info.Namespace, info.Name, rv)
	if err != nil {
		return err
	}
	return e.writeEncoded(w, r, http.StatusOK, enc, media)
}
