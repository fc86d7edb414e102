package rules_test

import (
	"context"
	"fmt"
	"reflect"

	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Fleet is a kind whose rules stand in its tags, as those of a custom resource stand in its schema.
type Fleet struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            FleetSpec `json:"spec"`
}

type FleetSpec struct {
	_ struct{} `rule:"self.min <= self.max" message:"a fleet is not larger than it may be" fieldPath:".min"`
	_ struct{} `rule:"!has(self.ships) || self.ships.all(s, s.port == self.home)" messageExpression:"'all ships have to be in ' + self.home"`

	Min   int32  `json:"min"`
	Max   int32  `json:"max"`
	Home  string `json:"home" rule:"self == oldSelf" message:"a fleet does not move" reason:"FieldValueForbidden"`
	Ships []Ship `json:"ships,omitempty" list:"map,key=name"`
}

type Ship struct {
	Name string        `json:"name"`
	Port string        `json:"port"`
	Crew meta.Quantity `json:"crew" rule:"quantity(self).isGreaterThan(quantity('2'))"`
	Date *meta.Time    `json:"date,omitempty" rule:"self.getFullYear() > 1900"`
}

func ExampleOfType() {
	declared := rules.OfType(typeinfo.Of(reflect.TypeFor[Fleet]()))
	fleet := &Fleet{ObjectMeta: meta.ObjectMeta{Name: "north"}, Spec: FleetSpec{Min: 1, Max: 3, Home: "Oslo"}}
	fmt.Println(len(declared.Validate(context.Background(), fleet, nil)))

	moved := *fleet
	moved.Spec = FleetSpec{Min: 4, Max: 3, Home: "Bergen", Ships: []Ship{{Name: "Fram", Port: "Oslo", Crew: meta.MustParse("2")}}}
	for _, err := range declared.Validate(context.Background(), &moved, fleet) {
		fmt.Println(err)
	}
	// Output:
	// 0
	// spec.min: Invalid value: a fleet is not larger than it may be
	// spec: Invalid value: all ships have to be in Bergen
	// spec.home: Forbidden: a fleet does not move
	// spec.ships[0].crew: Invalid value: "2": failed rule: quantity(self).isGreaterThan(quantity('2'))
}
