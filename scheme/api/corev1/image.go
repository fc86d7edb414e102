package corev1

import (
	"regexp"
	"strings"
)

// The parts of an image reference: [domain/]path[:tag][@digest].
var (
	imageName   = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	imageDomain = regexp.MustCompile(
		`^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$`)
	imageTag    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageDigest = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$`)
	imageID     = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// Names of Docker's hub may leave out where they are: a domain, and a folder for those without one.
const (
	hubDomain = "docker.io"
	hubFolder = "library/"
)

// maxImageName is the most that the path of a name may have, in bytes.
const maxImageName = 255

// ImageTag returns the tag of an image reference: "latest" if it has neither tag nor digest, and nothing if it has only
// a digest or is malformed.
func ImageTag(ref string) string {
	name, digest, hasDigest := strings.Cut(ref, "@")
	if hasDigest && !imageDigest.MatchString(digest) {
		return ""
	}
	tag, hasTag := "", false
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag, hasTag = name[:i], name[i+1:], true
	}
	if hasTag && !imageTag.MatchString(tag) || imageID.MatchString(ref) || !validImageName(name) {
		return ""
	}
	if !hasTag && !hasDigest {
		return "latest"
	}
	return tag
}

// validImageName tells the domain, which must hold a dot or port, be localhost or have capital letters, from the path.
func validImageName(name string) bool {
	domain, path, ok := strings.Cut(name, "/")
	switch {
	case !ok || !strings.ContainsAny(domain, ".:") && domain != "localhost" && strings.ToLower(domain) == domain:
		domain, path = hubDomain, name
	case domain == "index."+hubDomain:
		domain = hubDomain
	}
	if domain == hubDomain && !strings.Contains(path, "/") {
		path = hubFolder + path
	}
	return len(path) <= maxImageName && imageDomain.MatchString(domain) && imageName.MatchString(path)
}
