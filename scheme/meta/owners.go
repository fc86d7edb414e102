package meta

import "strings"

// maxRepeatedOwners is how many owners a warning names, about as many as fit into one.
const maxRepeatedOwners = 100

// DropRepeatedOwners removes owner references that repeat an earlier one in all fields. It returns
// a warning about them, "" if there are none. admitted says that mutating admission has run: the
// warning then says so, since the client may not have written the repetition.
func DropRepeatedOwners(m *ObjectMeta, admitted bool) (warning string) {
	if !shareUID(m.OwnerReferences) {
		return ""
	}
	kept, repeated := distinctOwners(m.OwnerReferences)
	if len(repeated) == 0 {
		return ""
	}
	m.OwnerReferences = kept
	when := ""
	if admitted {
		when = " after mutating admission happens"
	}
	return ".metadata.ownerReferences contains duplicate entries" + when +
		"; API server dedups owner references in 1.20+, and " +
		"may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
		strings.Join(repeated, ", ")
}

// shareUID reports whether two references have the same UID, which is rare.
func shareUID(refs []OwnerReference) bool {
	if len(refs) < 2 {
		return false
	}
	seen := make(map[UID]struct{})
	for i := range refs {
		seen[refs[i].UID] = struct{}{}
		if len(seen) <= i {
			return true
		}
	}
	return false
}

// ownerKey is an owner reference as a comparable value.
type ownerKey struct {
	apiVersion, kind, name string
	uid                    UID
	controller, blocks     string
}

// distinctOwners returns the references that differ from all before them, and the UIDs of the
// others, at most maxRepeatedOwners.
func distinctOwners(refs []OwnerReference) (kept []OwnerReference, repeated []string) {
	seen := make(map[ownerKey]bool)
	for i := range refs {
		ref := &refs[i]
		key := ownerKey{
			ref.APIVersion, ref.Kind, ref.Name, ref.UID,
			flagText(ref.Controller), flagText(ref.BlockOwnerDeletion),
		}
		switch {
		case !seen[key]:
			seen[key] = true
			kept = append(kept, *ref)
		case len(repeated) < maxRepeatedOwners:
			repeated = append(repeated, string(ref.UID))
		}
	}
	return kept, repeated
}

// flagText returns a different text for each of the three states of a flag.
func flagText(flag *bool) string {
	switch {
	case flag == nil:
		return ""
	case *flag:
		return "true"
	}
	return "false"
}
