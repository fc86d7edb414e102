package inspect

import (
	"encoding/json"
	"errors"
	"net/http"
	"sort"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/server/generic"
)

// installIndex serves the list of the server's paths at / and /index.html, as it is at each
// request: {"paths": ["/.well-known/openid-configuration", "/api", ...]}.
func installIndex(on *generic.Server) error {
	index := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		paths := append(on.Paths.Paths(), on.Discovery.Paths()...)
		paths = append(paths, "/apis/") // kube-apiserver lists it beside /apis
		sort.Strings(paths)
		body, err := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ")
		if err != nil { // a map of strings cannot fail
			panic(err)
		}
		w.Header().Set("Content-Type", codec.JSONType)
		w.Write(body)
	})
	return errors.Join(on.Paths.HandleHidden("/", index), on.Paths.HandleHidden("/index.html", index))
}
