package callout

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coracle-project/coracle/scheme/configfile"
)

// Users are the credentials in a kubeconfig file, for webhooks that objects of the API name. The
// name of a user in the file says for which hosts the user is: "host:port", or "host" for port 443;
// with "*." for the first labels of the host; "*" for all other hosts. If no name fits, the user of
// the current context is used; without a current context, there are no credentials.
type Users struct {
	byName  map[string]*Target // only credentials are set
	current string             // the user of the current context; "": none
}

// ReadUsers reads a kubeconfig file. All credentials in it are checked now; files with tokens or
// certificates are read again for each call or connection. See ReadKubeconfig for what is not
// supported.
func ReadUsers(path string) (*Users, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	k, err := decodeKubeconfig(data)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	u := &Users{byName: map[string]*Target{}}
	var errs []error
	for i := range k.Users {
		from, t := &k.Users[i].User, &Target{}
		from.resolve(filepath.Dir(path))
		if err := from.fill(t); err != nil {
			errs = append(errs, fmt.Errorf("user %q: %w", k.Users[i].Name, err))
		}
		u.byName[k.Users[i].Name] = t
	}
	for _, c := range k.Contexts {
		if k.CurrentContext != "" && c.Name == k.CurrentContext {
			u.current = c.Context.User
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return u, nil
}

// of returns the credentials for a host and port, nil if there are none. u may be nil.
func (u *Users) of(hostPort string) *Target {
	if u == nil {
		return nil
	}
	if t := u.named(hostPort); t != nil {
		return t
	}
	if host, ok := strings.CutSuffix(hostPort, ":443"); ok {
		if t := u.named(strings.Trim(host, "[]")); t != nil {
			return t
		}
	}
	if t := u.byName["*"]; t != nil {
		return t
	}
	return u.byName[u.current]
}

// named returns the user whose name is host, or "*." and the last labels of host. The longest name
// wins.
func (u *Users) named(host string) *Target {
	if t := u.byName[host]; t != nil {
		return t
	}
	for {
		_, rest, more := strings.Cut(host, ".")
		if !more {
			return nil
		}
		if t := u.byName["*."+rest]; t != nil {
			return t
		}
		host = rest
	}
}
