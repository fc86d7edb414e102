package registry

import (
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/storage/cache"
)

// prefix returns the key prefix of all objects in a namespace, or of all objects if namespace is
// "". It ends in "/".
func (s *Store) prefix(namespace string) string {
	if namespace == "" || !s.res.Namespaced {
		return s.root
	}
	return s.root + namespace + "/"
}

// key returns the key of an object: root/namespace/name, or root/name. It refuses names such as
// ".." and those with "/", which would lead out of the prefix, in the words of kube-apiserver.
func (s *Store) key(namespace, name string) (string, error) {
	if name == "" {
		return "", meta.NewBadRequest("Name parameter required.")
	}
	if bad := names.IsPathSegmentName(name); len(bad) > 0 {
		return "", meta.NewBadRequest("Name parameter invalid: " + quote(meta.Excerpt(name)) + ": " + joinAnd(bad))
	}
	if !s.res.Namespaced {
		return s.root + name, nil
	}
	if namespace == "" {
		return "", meta.NewBadRequest("Namespace parameter required.")
	}
	if bad := names.IsPathSegmentName(namespace); len(bad) > 0 {
		return "", meta.NewBadRequest(
			"Namespace parameter invalid: " + quote(meta.Excerpt(namespace)) + ": " + joinAnd(bad),
		)
	}
	return s.root + namespace + "/" + name, nil
}

// NameOf returns the namespace and name of an object that List returned.
func (s *Store) NameOf(enc request.Encoded) (namespace, name string) {
	if u, ok := enc.(*unread); ok {
		return s.split(u.key)
	}
	return s.split(unwrapped(enc).(*cache.Object).Key)
}

// split is the inverse of key.
func (s *Store) split(key string) (namespace, name string) {
	rest := key[len(s.root):]
	if !s.res.Namespaced {
		return "", rest
	}
	namespace, name, _ = strings.Cut(rest, "/")
	return namespace, name
}
