package schema

// Unchanged reports whether a value that s describes, which an update may not be held to, is what it was. As in kube-apiserver, an
// object with a field that s does not describe never is.
func (s *Schema) Unchanged(v, old any) bool { return s.Target().unchanged(v, old) }
