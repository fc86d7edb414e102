package schema

// Settled reports whether Prune and SetDefaults would leave a tree as it is. It changes nothing.
//
// It is asked of what is read from the store, often for no request, and carries no Meter: it visits
// each value of the tree once, ends at the first property whose default is missing, and so takes
// less than decoding the tree does.
func (s *Schema) Settled(tree any) bool { return settled(s, tree, false) }

// settled walks as Prune does. The depth of trees is bounded by who decodes them.
func settled(s *Schema, v any, keep bool) bool {
	if s != nil {
		s = s.Target()
		keep = keep || s.KeepsUnknown()
	}
	switch v := v.(type) {
	case map[string]any:
		return settledObject(s, v, keep)
	case []any:
		var items *Schema
		if s != nil {
			items = s.Items
		}
		if items == nil && keep {
			return true
		}
		for _, held := range v {
			if items != nil && items.Default != nil && items.forbidsNull(held) || !settled(items, held, keep) {
				return false
			}
		}
	}
	return true
}

func settledObject(s *Schema, v map[string]any, keep bool) bool {
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
			if name == "metadata" && !settled(objectMeta(), held, false) {
				return false
			}
			continue
		}
		switch {
		case below == nil && !keep:
			return false
		case below != nil && (below.Default != nil && below.forbidsNull(held) || !settled(below, held, false)):
			return false
		}
	}
	return true
}
