package quota

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the arithmetic on amounts. Usage is a short slice and not a corev1.ResourceList,
// because a map for each container costs more than the sums.

// Amount is a quantity of one resource.
type Amount struct {
	Name     corev1.ResourceName
	Quantity meta.Quantity
}

// Amounts are quantities of resources, in no order. A name occurs at most once.
type Amounts []Amount

// Get returns the quantity of a name. It reports false if there is none.
func (a Amounts) Get(name corev1.ResourceName) (meta.Quantity, bool) {
	if i := a.index(name); i >= 0 {
		return a[i].Quantity, true
	}
	return meta.Quantity{}, false
}

// AddTo adds the amounts to a list.
func (a Amounts) AddTo(list corev1.ResourceList) {
	for _, x := range a {
		list[x.Name] = list[x.Name].Add(x.Quantity)
	}
}

// TakeFrom subtracts the amounts from a list. An amount that would fall below zero becomes zero. It
// ignores names that the list does not have.
func (a Amounts) TakeFrom(list corev1.ResourceList) {
	for _, x := range a {
		have, ok := list[x.Name]
		if !ok {
			continue
		}
		if have = have.Sub(x.Quantity); have.Sign() < 0 {
			have = meta.Quantity{}
		}
		list[x.Name] = have
	}
}

// one is the amount that an object adds to a count.
var one = meta.NewQuantity(1, meta.DecimalSI)

func (a Amounts) index(name corev1.ResourceName) int {
	for i := range a {
		if a[i].Name == name {
			return i
		}
	}
	return -1
}

// set replaces or adds an amount.
func (a *Amounts) set(name corev1.ResourceName, q meta.Quantity) {
	if i := a.index(name); i >= 0 {
		(*a)[i].Quantity = q
		return
	}
	*a = append(*a, Amount{name, q})
}

// add adds q to an amount.
func (a *Amounts) add(name corev1.ResourceName, q meta.Quantity) {
	if i := a.index(name); i >= 0 {
		(*a)[i].Quantity = (*a)[i].Quantity.Add(q)
		return
	}
	*a = append(*a, Amount{name, q})
}

// raise replaces an amount by q if q is larger, or if there is none.
func (a *Amounts) raise(name corev1.ResourceName, q meta.Quantity) {
	if i := a.index(name); i < 0 || q.Cmp((*a)[i].Quantity) > 0 {
		a.set(name, q)
	}
}

// withoutZeros removes amounts that are zero. It changes a.
func (a Amounts) withoutZeros() Amounts {
	return slices.DeleteFunc(a, func(x Amount) bool { return x.Quantity.IsZero() })
}

// beyond returns the positive part of a - b.
func (a Amounts) beyond(b Amounts) Amounts {
	rest := make(Amounts, 0, len(a))
	for _, x := range a {
		q := x.Quantity
		if have, ok := b.Get(x.Name); ok {
			if q.Cmp(have) <= 0 {
				continue
			}
			q = q.Sub(have)
		}
		if q.Sign() > 0 {
			rest = append(rest, Amount{x.Name, q})
		}
	}
	return rest
}

// text returns name=quantity of each amount, sorted by name.
func (a Amounts) text() string {
	parts := make([]string, len(a))
	for i, x := range sorted(a) {
		parts[i] = string(x.Name) + "=" + x.Quantity.String()
	}
	return strings.Join(parts, ",")
}

// sorted returns a copy in the order of the names.
func sorted(a Amounts) Amounts {
	a = slices.Clone(a)
	slices.SortFunc(a, func(x, y Amount) int { return strings.Compare(string(x.Name), string(y.Name)) })
	return a
}
