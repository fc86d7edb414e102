package router

import (
	"net/http"

	"github.com/coracle-project/coracle/router/request"
)

// get answers with one object. It copies the stored bytes if they are in the form that the client
// accepts.
func (e *endpoint) get(out answer, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, 0)
	if err != nil {
		return err
	}
	enc, err := e.res.Getter.Get(r.Context(), info.Namespace, info.Name, info.Query.Get("resourceVersion"))
	if err != nil {
		return err
	}
	return e.writeEncoded(out, r, http.StatusOK, enc, media)
}
