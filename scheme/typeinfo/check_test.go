package typeinfo_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type checked struct {
	Low      *int32            `json:"low,omitempty" check:"min=0"`
	Ratio    float64           `json:"ratio,omitempty" check:"max=0.5"`
	Text     string            `json:"text,omitempty" check:"minLength=2,maxLength=3"`
	Code     string            `json:"code,omitempty" check:"pattern=^[a-z]{1,2}$"`
	IP       string            `json:"ip,omitempty" check:"format=ip"`
	List     []string          `json:"list,omitempty" check:"minItems=2"`
	Map      map[string]string `json:"map,omitempty" itemEnum:"A,B" check:"enum"`
	Choice   *string           `json:"choice,omitempty" enum:"B,A" check:"enum"`
	Must     []checkedItem     `json:"must" check:"required" list:"map,key=id"`
	Fixed    *string           `json:"fixed,omitempty" check:"immutable"`
	Optional string            `json:"optional" check:"optional"`
	Listed   string            `json:"listed,omitempty" check:"listed"`
	Deep     [][]checkedItem   `json:"deep,omitempty"`
	Refs     []*checkedItem    `json:"refs,omitempty"`
	Again    *checked          `json:"again,omitempty"`
}

type checkedItem struct {
	ID    string            `json:"id" check:"required"`
	Fixed map[string]string `json:"fixed,omitempty" check:"immutable"`
}

// TestImmutableMeaning: an immutable field accepts another spelling of an equal value.
func TestImmutableMeaning(t *testing.T) {
	type part struct {
		Amount meta.Quantity `json:"amount"`
		List   []string      `json:"list"`
	}
	type sealed struct {
		Part *part      `json:"part,omitempty" check:"immutable"`
		At   *meta.Time `json:"at,omitempty" check:"immutable"`
	}
	amount := func(text string) meta.Quantity {
		q, err := meta.ParseQuantity(text)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	old := &sealed{Part: &part{Amount: amount("1")}, At: &meta.Time{Time: at}}
	same := &sealed{Part: &part{Amount: amount("1000m"), List: []string{}}, At: &meta.Time{Time: at.In(time.FixedZone("x", 3600))}}
	if errs := typeinfo.Validate(same, old); len(errs) != 0 {
		t.Errorf("the same in other words: got %v", errs)
	}
	other := &sealed{Part: &part{Amount: amount("2")}, At: &meta.Time{Time: at.Add(time.Second)}}
	if errs := typeinfo.Validate(other, old); len(errs) != 2 {
		t.Errorf("others: got %v, want two errors", errs)
	}
}

func TestValidate(t *testing.T) {
	good := func() *checked { return &checked{Must: []checkedItem{{ID: "a"}}} }
	for _, tt := range []struct {
		name   string
		change func(now, old *checked)
		want   string // the only error begins with it; "" for none
	}{
		{"nothing wrong", func(_, _ *checked) {}, ""},
		{"below min", func(n, _ *checked) { n.Low = ptr(int32(-1)) }, "low: Invalid value: -1: must be greater than or equal to 0"},
		{"zero that was said", func(n, _ *checked) { n.Low = ptr(int32(0)) }, ""},
		{"above max", func(n, _ *checked) { n.Ratio = 0.75 }, "ratio: Invalid value: 0.75: must be less than or equal to 0.5"},
		{"too short", func(n, _ *checked) { n.Text = "x" }, `text: Invalid value: "x": must be at least 2 characters long`},
		{"characters, not bytes", func(n, _ *checked) { n.Text = "äöü" }, ""},
		{"too long", func(n, _ *checked) { n.Text = "xxxx" }, "text: Too long: may not be more than 3 bytes"},
		{"pattern with a comma", func(n, _ *checked) { n.Code = "abc" }, `code: Invalid value: "abc": must match the regular expression '^[a-z]{1,2}$'`},
		{"format", func(n, _ *checked) { n.IP = "1.2.3" }, `ip: Invalid value: "1.2.3": must be a valid IP address`},
		{"too few", func(n, _ *checked) { n.List = []string{"a"} }, `list: Invalid value: ["a"]: must have at least 2 items`},
		{"map values", func(n, _ *checked) { n.Map = map[string]string{"k": "C"} }, `map[k]: Unsupported value: "C": supported values: "A", "B"`},
		{"enum pointer", func(n, _ *checked) { n.Choice = ptr("") }, `choice: Unsupported value: "": supported values: "A", "B"`},
		{"required", func(n, _ *checked) { n.Must = nil }, "must: Required value"},
		{"required, empty", func(n, _ *checked) { n.Must = []checkedItem{} }, "must: Required value"},
		{"immutable set", func(n, _ *checked) { n.Fixed = ptr("x") }, `fixed: Invalid value: "x": field is immutable`},
		{"immutable unset", func(_, o *checked) { o.Fixed = ptr("x") }, `fixed: Invalid value: null: field is immutable`},
		{"immutable same", func(n, o *checked) { n.Fixed, o.Fixed = ptr("x"), ptr("x") }, ""},
		{"immutable in a keyed list", func(n, _ *checked) { n.Must[0].Fixed = map[string]string{"a": "b"} },
			`must[0].fixed: Invalid value: {"a":"b"}: field is immutable`},
		{"empty is none", func(n, _ *checked) { n.Must[0].Fixed = map[string]string{} }, ""},
		{"new element", func(n, o *checked) { n.Must[0].Fixed, o.Must[0].ID = map[string]string{"a": "b"}, "other" }, ""},
		{"list of lists", func(n, _ *checked) { n.Deep = [][]checkedItem{{{ID: "a"}}, {{ID: "b"}, {}}} }, "deep[1][1].id: Required value"},
		{"pointers", func(n, _ *checked) { n.Refs = []*checkedItem{nil, {}} }, "refs[1].id: Required value"},
		{"recursion", func(n, _ *checked) { n.Again = good(); n.Again.Text = "x" }, "again.text: Invalid value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, old := good(), good()
			tt.change(now, old)
			errs := typeinfo.Validate(now, old)
			switch {
			case tt.want == "" && len(errs) > 0:
				t.Errorf("Validate: got %v, want none", errs)
			case tt.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want)):
				t.Errorf("Validate: got %v, want %s", errs, tt.want)
			}
		})
	}
}

func TestValidateOddArguments(t *testing.T) {
	for _, v := range []any{nil, 1, (*checked)(nil), checked{}, ptr(make(chan int))} {
		if errs := typeinfo.Validate(v, nil); errs != nil {
			t.Errorf("Validate(%T): got %v", v, errs)
		}
	}
	now := &checked{Must: []checkedItem{{ID: "a"}}, Fixed: ptr("x")}
	for _, old := range []any{nil, (*checked)(nil), &checkedItem{}} {
		if errs := typeinfo.Validate(now, old); errs != nil {
			t.Errorf("Validate with an old %T: got %v", old, errs)
		}
	}
}

// TestValidateLongLists compares a long list with its old elements, which are in another order, and
// checks lists with a mistake in every element.
func TestValidateLongLists(t *testing.T) {
	const many = 1000
	now, old := &checked{Must: make([]checkedItem, many)}, &checked{Must: make([]checkedItem, many)}
	for i := range many {
		now.Must[i].ID = strconv.Itoa(i)
		old.Must[many-1-i].ID = strconv.Itoa(i)
	}
	old.Must[0].Fixed = map[string]string{"a": "b"}
	if errs := typeinfo.Validate(now, old); len(errs) != 1 || errs[0].Field != "must[999].fixed" {
		t.Errorf("got %v, want what belongs to the key", errs.ToAggregate())
	}
	if got := testing.AllocsPerRun(1, func() { typeinfo.Validate(now, old) }); got > 30*many {
		t.Errorf("got %v allocations for %d elements", got, many)
	}
	wrong := &checked{Must: make([]checkedItem, many), Deep: [][]checkedItem{make([]checkedItem, many)}, Map: map[string]string{}}
	for i := range many {
		wrong.Map[strconv.Itoa(i)] = "C"
	}
	if errs := typeinfo.Validate(wrong, nil); len(errs) > field.MaxErrors+1 {
		t.Errorf("got %d errors, want at most %d", len(errs), field.MaxErrors+1)
	}
}
