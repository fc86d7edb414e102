package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// ruleWriter makes up expressions about values of schemas, mostly right.
type ruleWriter struct{ rnd *rand.Rand }

// condition makes up a condition on a value.
func (w ruleWriter) condition(self string, s jsonObject, depth int) string {
	if depth > 0 && chance(w.rnd, 4) {
		return fmt.Sprintf("(%s) %s (%s)", w.condition(self, s, depth-1), oneOf(w.rnd, "&&", "||"), w.condition(self, s, depth-1))
	}
	if s["x-kubernetes-int-or-string"] == true {
		return oneOf(w.rnd, "type("+self+") == int ? "+self+" < 5 : "+self+".size() < 5", self+" == 1", self+" != 'a'", self+" > 3")
	}
	switch s["type"] {
	case "string":
		return w.onString(self, s)
	case "integer":
		return oneOf(w.rnd, self+" > 0", self+" % 2 == 0", self+" < 1.5", self+" / ("+self+" - 1) > 0", self+" in [1, 2, 3]", "-"+self+" < 7")
	case "number":
		return oneOf(w.rnd, self+" > 0.5", self+" < 3", "int("+self+") == 1", self+" * 2.0 != 4.0")
	case "boolean":
		return oneOf(w.rnd, self, "!"+self, self+" == true")
	case "array":
		return w.onList(self, s, depth)
	case "object":
		if item, ok := s["additionalProperties"].(jsonObject); ok {
			return oneOf(w.rnd, "size("+self+") < 2", self+".all(k, k.size() < 3)", "'a' in "+self, self+" == "+self,
				self+".exists(k, "+w.condition(self+"[k]", item, depth-1)+")", self+".all(k, v, "+w.condition("v", item, depth-1)+")", self+"['a'] == "+self+"['b']")
		}
		return w.onObject(self, s, depth)
	}
	return oneOf(w.rnd, "true", "false", "1 == 2", self+" == "+self)
}

func (w ruleWriter) onString(self string, s jsonObject) string {
	switch s["format"] {
	case "date", "date-time":
		return oneOf(w.rnd, self+" > timestamp('2020-01-01T00:00:00Z')", self+".getFullYear() < 2024", self+" == "+self)
	case "duration":
		return oneOf(w.rnd, self+" > duration('1h')", self+".getSeconds() < 100", self+" + duration('1s') > "+self)
	case "byte":
		return oneOf(w.rnd, "size("+self+") > 1", self+" == b'a'", "string("+self+") != 'a'")
	}
	return oneOf(w.rnd, self+".size() < 3", self+" != 'a'", self+".startsWith('a')", self+".matches('^[a-m]*$')", self+" + 'x' == 'ax'",
		"quantity("+self+").sign() > 0", self+".split('').isSorted()", "isIP("+self+")", self+" in ['a', 'b']", self+" < 'b'", "int("+self+") > 3")
}

func (w ruleWriter) onList(self string, s jsonObject, depth int) string {
	item, _ := s["items"].(jsonObject)
	if item == nil || depth <= 0 {
		return "size(" + self + ") < 2"
	}
	of := func(name string) string { return w.condition(name, item, depth-1) }
	return oneOf(w.rnd, "size("+self+") < 3", self+".all(x, "+of("x")+")", self+".exists(x, "+of("x")+")", self+".exists_one(x, "+of("x")+")",
		of(self+"[0]"), self+" == "+self, self+" + "+self+" == "+self, self+".filter(x, "+of("x")+").size() < 2", self+".map(x, x) == "+self,
		self+"[0] in "+self, "("+self+" + "+self+").size() == "+self+".size()", self+".all(i, x, i < 2 && "+of("x")+")",
		self+" == "+self+".map(x, x)", self+".all(x, x in "+self+")", "dyn("+self+") == dyn([1])", "[] == dyn("+self+")", "("+self+" + "+self+")[0] == "+self+"[0]")
}

func (w ruleWriter) onObject(self string, s jsonObject, depth int) string {
	fields, _ := s["properties"].(jsonObject)
	names := slices.Sorted(maps.Keys(fields))
	if len(names) == 0 || depth <= 0 {
		return oneOf(w.rnd, self+" == "+self, "dyn("+self+").size() < 3", "has("+self+".a)")
	}
	name := names[w.rnd.IntN(len(names))]
	f, at := fields[name].(jsonObject), self+"."+asIdent(name)
	switch w.rnd.IntN(9) {
	case 0:
		return "has(" + at + ")"
	case 1:
		return "!has(" + at + ")"
	case 2:
		return w.condition(at, f, depth-1)
	case 3:
		return at + " == " + at
	case 4:
		return fmt.Sprintf("dyn(%s)[%q] == dyn(%s)", self, asIdent(name), at)
	case 5:
		return oneOf(w.rnd, self+".?"+asIdent(name)+".hasValue()", "'"+name+"' in dyn("+self+")", self+".metadata.name == 'a'", self+".kind == 'Widget'")
	}
	return "!has(" + at + ") || " + w.condition(at, f, depth-1)
}

// changed makes up a condition on a change (a transition rule).
func (w ruleWriter) changed(s jsonObject) string {
	switch s["type"] {
	case "integer", "number":
		return oneOf(w.rnd, "self >= oldSelf", "self == oldSelf", "self - oldSelf < self")
	case "array":
		return oneOf(w.rnd, "self == oldSelf", "size(self) >= size(oldSelf)", "oldSelf.all(x, x in self)", "self + oldSelf == self", "oldSelf == self")
	case "object":
		return oneOf(w.rnd, "self == oldSelf", "oldSelf == self", "!has(oldSelf.a) || has(self.a)", "has(self.name) == has(oldSelf.name)", "dyn(self).size() == dyn(oldSelf).size()")
	}
	return "self == oldSelf"
}

// asIdent returns the identifier by which expressions name a field.
func asIdent(name string) string {
	return strings.NewReplacer(".", "__dot__", "-", "__dash__").Replace(name)
}
