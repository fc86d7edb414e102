package podspec

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// pathFrom is the path of a file in a volume. source names where the file comes from, in a
// projected volume only.
type pathFrom struct{ path, source string }

// String returns the path as a warning shows it.
func (p pathFrom) String() string {
	if p.source == "" {
		return fmt.Sprintf("%q", p.path)
	}
	return fmt.Sprintf("%q (%s)", p.path, p.source)
}

// paths warns of files of one volume that have the same path, or of which one is a file where the
// other needs a directory.
func (w *warner) paths() {
	for _, v := range each(w, w.spec.Volumes) {
		if c := v.ConfigMap; c != nil {
			w.overlaps(v.Name, fmt.Sprintf("ConfigMap %q", c.Name), keyPaths(c.Items, ""))
		}
		if s := v.Secret; s != nil {
			w.overlaps(v.Name, fmt.Sprintf("Secret %q", s.SecretName), keyPaths(s.Items, ""))
		}
		if d := v.DownwardAPI; d != nil {
			w.overlaps(v.Name, "DownwardAPI", downwardPaths(d.Items, ""))
		}
		if v.Projected == nil {
			continue
		}
		var all []pathFrom
		for _, source := range each(w, v.Projected.Sources) {
			if *source == (corev1.VolumeProjection{}) {
				w.list = append(w.list, fmt.Sprintf("volume %q (Projected) has no sources provided", v.Name))
			}
			all = append(all, projectedPaths(source)...)
		}
		w.overlaps(v.Name, "Projected", all)
	}
}

// overlaps warns of each pair of paths that overlap. volume and what are the name and the type of
// the volume. Each path is compared with the first maxWarnings only: a volume can have any number
// of files, and comparing all pairs would take quadratic time.
func (w *warner) overlaps(volume, what string, paths []pathFrom) {
	for i, p := range each(w, paths) {
		p.path = strings.TrimRight(p.path, "/")
		for _, other := range each(w, paths[:min(i, maxWarnings)]) {
			if overlap(p.path, other.path) {
				w.list = append(w.list,
					fmt.Sprintf("volume %q (%s): overlapping paths: %v with %v", volume, what, *p, *other))
			}
		}
	}
}

// overlap reports whether two paths are equal, or one is a directory above the other: a and a/b
// overlap, a and ab do not.
func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "" && strings.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '/')
}

func keyPaths(items []corev1.KeyToPath, source string) []pathFrom {
	paths := make([]pathFrom, len(items))
	for i := range items {
		paths[i] = pathFrom{items[i].Path, source}
	}
	return paths
}

func downwardPaths(items []corev1.DownwardAPIVolumeFile, source string) []pathFrom {
	paths := make([]pathFrom, len(items))
	for i := range items {
		paths[i] = pathFrom{items[i].Path, source}
	}
	return paths
}

// projectedPaths returns the paths of one source of a projected volume. Secrets and config maps
// without items have unknown paths, and yield none.
func projectedPaths(s *corev1.VolumeProjection) []pathFrom {
	switch {
	case s.ConfigMap != nil && s.ConfigMap.Items != nil:
		return keyPaths(s.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", s.ConfigMap.Name))
	case s.Secret != nil && s.Secret.Items != nil:
		return keyPaths(s.Secret.Items, fmt.Sprintf("Secret %q", s.Secret.Name))
	case s.DownwardAPI != nil && s.DownwardAPI.Items != nil:
		return downwardPaths(s.DownwardAPI.Items, "DownwardAPI")
	case s.ServiceAccountToken != nil:
		return []pathFrom{{s.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case s.ClusterTrustBundle != nil:
		name := s.ClusterTrustBundle.Name
		if name == nil {
			name = s.ClusterTrustBundle.SignerName
		}
		if name == nil { // invalid: the source has neither a name nor a signer
			return nil
		}
		return []pathFrom{{s.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)}}
	case s.PodCertificate != nil:
		c := s.PodCertificate
		return []pathFrom{
			{c.CertificateChainPath, "PodCertificate chain"}, {c.KeyPath, "PodCertificate key"},
			{c.CredentialBundlePath, "PodCertificate credential bundle"},
		}
	}
	return nil
}
