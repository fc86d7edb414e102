package schema

// PrunedAndDefaulted reports whether Prune and SetDefaults would leave a tree as it is. It changes
// nothing.
//
// It is asked about objects that are read from the store. It takes no Meter, because it visits each
// value of the tree at most once and so takes less time than decoding the tree did.
func (s *Schema) PrunedAndDefaulted(tree any) bool { return unchanged(s, tree, false) }

// unchanged walks as Prune does; for keep see pruner.value. It does not count depth:
// decoding has bounded the depth of the tree.
func unchanged(s *Schema, v any, keep bool) bool {
	if s != nil {
		s = s.Target()
		keep = keep || s.KeepsUnknown()
	}
	switch v := v.(type) {
	case map[string]any:
		return unchangedObject(s, v, keep)
	case []any:
		var items *Schema
		if s != nil {
			items = s.Items
		}
		if items == nil && keep {
			return true
		}
		for _, held := range v {
			if items != nil && items.Default != nil && items.forbidsNull(held) || !unchanged(items, held, keep) {
				return false
			}
		}
	}
	return true
}

// unchangedObject is unchanged for an object.
func unchangedObject(s *Schema, v map[string]any, keep bool) bool {
	if s == nil {
		return keep || len(v) == 0
	}
	for name, p := range s.mayDefault() {
		if p.Default == nil {
			continue
		}
		if held, ok := v[name]; !ok || p.wantsDefault(held) {
			return false
		}
	}
	for name, held := range v {
		below := s.Child(name)
		if below != nil && below.dropsNull(held) {
			return false
		}
		if s.isResource() && isHead(name) {
			if name == "metadata" && !unchanged(objectMeta(), held, false) {
				return false
			}
			continue
		}
		switch {
		case below == nil && !keep:
			return false
		case below != nil && (below.Default != nil && below.forbidsNull(held) || !unchanged(below, held, false)):
			return false
		}
	}
	return true
}
