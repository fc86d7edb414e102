package corev1

import (
	"regexp"
	"strings"
)

// imageDigest is what follows the "@" of an image reference: [domain/]path[:tag][@digest]. The
// other parts are read by hand, as every container of every write has them.
var imageDigest = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$`)

// Names of Docker's hub may leave out where they are: a domain, and a folder for those without one.
const (
	hubDomain = "docker.io"
	hubFolder = "library/"
)

// The most that the path of a name and a tag may have, in bytes; and how long the id of an image
// is, which is no name.
const (
	maxImageName = 255
	maxImageTag  = 128
	imageID      = 64
)

// ImageTag returns the tag of an image reference: "latest" if it has neither tag nor digest, and
// nothing if it has only a digest or is malformed.
func ImageTag(ref string) string {
	name, digest, hasDigest := strings.Cut(ref, "@")
	if hasDigest && !imageDigest.MatchString(digest) {
		return ""
	}
	tag, hasTag := "", false
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag, hasTag = name[:i], name[i+1:], true
	}
	if hasTag && !validImageTag(tag) || len(ref) == imageID && consistsOf(ref, isLowerHex) || !validImageName(name) {
		return ""
	}
	if !hasTag && !hasDigest {
		return "latest"
	}
	return tag
}

func validImageTag(tag string) bool {
	return len(tag) <= maxImageTag && strings.IndexAny(tag, ".-") != 0 &&
		consistsOf(tag, func(c byte) bool { return isAlphanumeric(c) || c == '_' || c == '.' || c == '-' })
}

// validImageName tells the domain, which must hold a dot or port, be localhost or have capital
// letters, from the path.
func validImageName(name string) bool {
	domain, path, ok := strings.Cut(name, "/")
	switch {
	case !ok || !strings.ContainsAny(domain, ".:") && domain != "localhost" && strings.ToLower(domain) == domain:
		domain, path = hubDomain, name
	case domain == "index."+hubDomain:
		domain = hubDomain
	}
	size := len(path)
	if domain == hubDomain && !strings.Contains(path, "/") {
		size += len(hubFolder)
	}
	return size <= maxImageName && validImageDomain(domain) && validImagePath(path)
}

// validImageDomain checks the name or, in brackets, the address of a host, and its port.
func validImageDomain(domain string) bool {
	if address, port, ok := strings.Cut(domain, "]"); ok {
		address, ok = strings.CutPrefix(address, "[")
		return ok && consistsOf(address, func(c byte) bool { return isHex(c) || c == ':' }) &&
			(port == "" || port[0] == ':' && consistsOf(port[1:], isDigit))
	}
	host, port, ok := strings.Cut(domain, ":")
	if ok && !consistsOf(port, isDigit) {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if !consistsOf(label, func(c byte) bool { return isAlphanumeric(c) || c == '-' }) ||
			strings.Trim(label, "-") != label {
			return false
		}
	}
	return true
}

// validImagePath checks that a path is made of words with a separator between each two: ".", "/",
// "_", "__" or dashes.
func validImagePath(path string) bool {
	for {
		word := 0
		for word < len(path) && isLowerAlphanumeric(path[word]) {
			word++
		}
		if word == 0 || word == len(path) {
			return word > 0
		}
		path = path[word:]
		switch rest := strings.TrimLeft(path, "-"); {
		case len(rest) < len(path):
			path = rest
		case strings.HasPrefix(path, "__"):
			path = path[2:]
		case path[0] == '.' || path[0] == '/' || path[0] == '_':
			path = path[1:]
		default:
			return false
		}
	}
}

// consistsOf reports whether s has bytes and all are ok.
func consistsOf(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool             { return '0' <= c && c <= '9' }
func isLowerAlphanumeric(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' }
func isAlphanumeric(c byte) bool      { return isLowerAlphanumeric(c) || 'A' <= c && c <= 'Z' }
func isLowerHex(c byte) bool          { return isDigit(c) || 'a' <= c && c <= 'f' }
func isHex(c byte) bool               { return isLowerHex(c) || 'A' <= c && c <= 'F' }
