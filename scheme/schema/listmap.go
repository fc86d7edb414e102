package schema

// Key identifies an element of a list: in a list of type map by the values of its keys, {"name":"a","port":80}, in a
// set by the element itself. It is JSON with sorted names, the same for equal values.
type Key string

// Key returns the key of an element of the list that s describes. Keys that the element leaves out count with their
// defaults. ok is false if s is no set and no list of type map, or the element of the latter is no object or lacks a
// key that has no default.
func (s *Schema) Key(element any) (_ Key, ok bool) {
	switch s.ListType {
	case "set":
		return Key(text(element)), true
	case "map":
		keys, complete := s.keys(element)
		return Key(text(keys)), complete
	}
	return "", false
}

// Index returns where the elements of a list are, by their keys. Elements without a key are left out; of several with
// the same, the first counts.
func (s *Schema) Index(list []any) map[Key]int {
	index := make(map[Key]int, len(list))
	for i, element := range list {
		if key, ok := s.Key(element); ok {
			if _, repeated := index[key]; !repeated {
				index[key] = i
			}
		}
	}
	return index
}

// Element returns the element of a list that has a key, and its index. To find many, take Index.
func (s *Schema) Element(list []any, key Key) (element any, index int, ok bool) {
	for i, element := range list {
		if k, ok := s.Key(element); ok && k == key {
			return element, i, true
		}
	}
	return nil, -1, false
}

// keys returns the values of the keys of an element of a list of type map, and whether all are there.
func (s *Schema) keys(element any) (keys map[string]any, complete bool) {
	fields, ok := element.(map[string]any)
	if !ok {
		return nil, false
	}
	complete = true
	keys = make(map[string]any, len(s.ListKeys))
	for _, name := range s.ListKeys {
		value, ok := fields[name]
		if p := s.item().Child(name); p != nil && (!ok || p.wantsDefault(value)) {
			// Of Go values, those without a default are the zero value, which is written as null here.
			value, ok = p.Default, p.Default != nil || p.Go != nil
		}
		if ok {
			keys[name] = value
		} else {
			complete = false
		}
	}
	return keys, complete
}

// item returns the schema of the contents of elements, nil if there is none.
func (s *Schema) item() *Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Target()
}
