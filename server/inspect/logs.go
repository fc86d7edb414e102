package inspect

import (
	"errors"
	"io/fs"
	"net/http"
	"syscall"

	"github.com/coracle-project/coracle/router"
)

// installLogs serves the files of a folder at /logs, if there is one.
func installLogs(paths *router.PrefixMux, dir string) error {
	if dir == "" {
		return nil
	}
	return paths.Handle("/logs/", router.ReadOnly(http.StripPrefix("/logs", http.FileServer(logDir{http.Dir(dir)}))))
}

// logDir is a folder of logs. A name that no file can have, because it is too long, is answered as
// that of a file that is not there, as by kube-apiserver.
type logDir struct{ http.Dir }

// Open implements http.FileSystem.
func (d logDir) Open(name string) (http.File, error) {
	f, err := d.Dir.Open(name)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		err = fs.ErrNotExist
	}
	return f, err
}
