package file

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

const (
	suffix     = ".yaml"
	joint      = "%+" // ends the name of a folder that continues in the next part
	maxSegment = 200  // bytes of a name, joint apart, beyond which it is cut
	maxKey     = 2048 // bytes
)

// The path of a key. Its parts, without the leading slash, are folders, and the last part is a file
// with the suffix. A byte that is not safe in file names on every system is written %XX: upper-case
// letters, because some file systems ignore case; bytes outside ASCII, because some change their
// form; a dot at the beginning of a name, which hides it, or at the end; and the dot of a folder's
// ".yaml", which would look like a file's. A longer name than file systems accept is cut, and a
// joint marks the cut. For example, /registry/Pods/a is the file registry/%50ods/a.yaml.

// checkKey returns an error for a key that has no path of its own.
func checkKey(key string) error {
	switch {
	case len(key) > maxKey:
		return fmt.Errorf("the key has more than %d bytes", maxKey)
	case key == "", strings.HasSuffix(key, "/"), strings.Contains(key, "//"):
		return errors.New("the key has an empty part")
	}
	return nil
}

// keyPath returns the path of a key's file, relative to the folder. A key without a leading slash
// gets a first part "%-", which no other key has.
func keyPath(key string) string {
	parts := []string{}
	rest, rooted := strings.CutPrefix(key, "/")
	if !rooted {
		parts = append(parts, "%-")
	}
	all := strings.Split(rest, "/")
	for i, part := range all {
		name := escape(part)
		if i < len(all)-1 && strings.HasSuffix(name, suffix) {
			name = name[:len(name)-len(suffix)] + "%2Eyaml"
		}
		for len(name) > maxSegment {
			cut := maxSegment
			for strings.LastIndexByte(name[cut-2:cut], '%') >= 0 { // not within %XX
				cut--
			}
			parts = append(parts, name[:cut]+joint)
			name = name[cut:]
			if name[0] == '.' { // hidden after the cut
				name = "%2E" + name[1:]
			}
		}
		parts = append(parts, name)
	}
	return filepath.Join(parts...) + suffix
}

// pathKey returns the key of a path. It is the inverse of keyPath, and refuses paths that keyPath
// does not make.
func pathKey(path string) (string, error) {
	rest, ok := strings.CutSuffix(filepath.ToSlash(path), suffix)
	if !ok {
		return "", errors.New("not a YAML file")
	}
	var b strings.Builder
	after, unrooted := strings.CutPrefix(rest, "%-/")
	if !unrooted {
		b.WriteByte('/')
	}
	joined := true
	for part := range strings.SplitSeq(after, "/") {
		if !joined {
			b.WriteByte('/')
		}
		part, joined = strings.CutSuffix(part, joint)
		plain, err := unescape(part)
		if err != nil {
			return "", err
		}
		b.WriteString(plain)
	}
	key := b.String()
	if err := checkKey(key); err != nil {
		return "", err
	}
	if want := keyPath(key); want != filepath.FromSlash(path) {
		return "", fmt.Errorf("not the file name of a key; the file name of the key %q is %s", key, want)
	}
	return key, nil
}

// safe reports whether a byte stands in file names as it is.
func safe(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '@' || c == '=' ||
		c == ',' || c == '+'
}

// escape returns a part of a key as a name, with %XX for unsafe bytes.
func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; safe(c) && (c != '.' || i > 0 && i < len(s)-1) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape is the inverse of escape.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", errors.New("a % without two digits")
		}
		hi, lo := strings.IndexByte("0123456789ABCDEF", s[i+1]), strings.IndexByte("0123456789ABCDEF", s[i+2])
		if hi < 0 || lo < 0 {
			return "", errors.New("a % without two digits")
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	return b.String(), nil
}
