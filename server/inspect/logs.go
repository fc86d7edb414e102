package inspect

import (
	"errors"
	"io/fs"
	"net/http"
	"syscall"

	"github.com/coracle-project/coracle/router"
)

// installLogs serves the files of dir at /logs/, read-only. It does nothing if dir is "".
func installLogs(paths *router.PrefixMux, dir string) error {
	if dir == "" {
		return nil
	}
	return paths.Handle("/logs/", router.ReadOnly(http.StripPrefix("/logs", http.FileServer(logDir{http.Dir(dir)}))))
}

// logDir is a folder of logs. A name that is too long for a file is answered with 404, as by
// kube-apiserver; http.Dir alone would answer 500.
type logDir struct{ http.Dir }

// Open implements http.FileSystem.
func (d logDir) Open(name string) (http.File, error) {
	f, err := d.Dir.Open(name)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		err = fs.ErrNotExist
	}
	return f, err
}
