package server

import (
	"errors"
	"io/fs"
	"net/http"
	"syscall"
)

// addDebug shows of the server what the configuration wants shown. Metrics are among the other paths.
func (s *Server) addDebug(c *DebugConfig) error {
	if c.LogDir != "" {
		files := http.StripPrefix("/logs", http.FileServer(logDir{http.Dir(c.LogDir)}))
		if err := s.Core.Paths.Handle("/logs/", readOnly(files)); err != nil {
			return err
		}
	}
	return errors.Join(s.addProfiles(c.Profiles), s.addPages(c))
}

// logDir is a folder of logs. As with kube-apiserver, a name that no file can have is that of no file.
type logDir struct{ http.Dir }

// Open implements http.FileSystem.
func (d logDir) Open(name string) (http.File, error) {
	f, err := d.Dir.Open(name)
	if errors.Is(err, syscall.ENAMETOOLONG) {
		err = fs.ErrNotExist
	}
	return f, err
}
