package codec

import (
	"runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// slowClause and slowAccept read an Accept header as kube-apiserver does: every element with all
// its parameters. They are the plain twin of parseAccept.
type slowClause struct {
	typ, sub string
	quality  float64
	params   map[string]string
}

type slowAccept []slowClause

func (a slowAccept) Len() int      { return len(a) }
func (a slowAccept) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a slowAccept) Less(i, j int) bool {
	return a[i].quality > a[j].quality || a[i].typ != "*" && a[j].typ == "*" || a[i].sub != "*" && a[j].sub == "*"
}

func slowParse(header string) (accept slowAccept) {
	header = strings.TrimSuffix(header, ",")
	for _, element := range strings.Split(header, ",") {
		pieces := strings.Split(strings.Trim(element, " "), ";")
		names := strings.Split(pieces[0], "/")
		c := slowClause{typ: strings.Trim(names[0], " "), sub: "*", quality: 1, params: map[string]string{}}
		switch {
		case len(names) == 1 || len(names) == 2 && names[1] == "":
			if c.typ != "*" {
				continue
			}
		case len(names) > 3 || len(names) == 3 && names[2] != "":
			continue
		default:
			c.sub = strings.Trim(names[1], " ")
		}
		for _, p := range pieces[1:] {
			sides := strings.Split(p, "=")
			switch {
			case len(sides) == 1 || len(sides) == 2 && sides[1] == "" || len(sides) > 3 || len(sides) == 3 && sides[2] != "":
			case strings.Trim(sides[0], " ") == "q":
				c.quality, _ = strconv.ParseFloat(sides[1], 32)
			default:
				c.params[strings.Trim(sides[0], " ")] = strings.Trim(sides[1], " ")
			}
		}
		accept = append(accept, c)
	}
	sort.Sort(accept)
	return accept
}

// slowMedia returns the form for the first clause that can be served. It is the plain twin of
// media.
func slowMedia(accept string, offer Offer) (Media, bool) {
	for _, c := range slowParse(accept) {
		for t := JSON; t <= Protobuf; t++ {
			typ, sub, _ := strings.Cut(t.String(), "/")
			if c.typ != "*" && (c.typ != typ || c.sub != sub && c.sub != "*") || c.typ == "*" && c.sub != "*" {
				continue
			}
			m := Media{Type: t, As: c.params["as"], Group: c.params["g"], Version: c.params["v"], Pretty: c.params["pretty"] == "1",
				DropManagedFields: slowDrops(c.params["drop"])}
			if !slowStream(&m, c.params["stream"], offer) || c.params["sv"] != "" && c.params["sv"] != "v1" {
				continue
			}
			_, as := c.params["as"]
			_, g := c.params["g"]
			_, v := c.params["v"]
			if (as || g || v) && !slowConvert(m, offer) {
				continue
			}
			return m, offer&OfferWatch == 0 || t != YAML
		}
	}
	return Media{}, false
}

func slowDrops(targets string) bool {
	for _, target := range strings.Split(targets, "+") {
		if strings.TrimSpace(target) == "metadata.managedFields" {
			return true
		}
	}
	return false
}

func slowStream(m *Media, stream string, offer Offer) bool {
	m.Stream = stream != "" && offer&OfferWatch != 0
	return stream == "" || stream == "watch" && m.Type != YAML
}

func slowConvert(m Media, offer Offer) bool {
	if m.Group != "meta.k8s.io" || m.Version != "v1" && m.Version != "v1beta1" {
		return false
	}
	return m.As == AsTable && offer&OfferTable != 0 && m.Type != Protobuf || (m.As == AsPartial || m.As == AsPartialList) && offer&OfferPartial != 0
}

// within reports whether a header has so few elements and parameters that all of them count.
func within(accept string) bool {
	if strings.Count(accept, ",") >= maxClauses || strings.Count(accept, ";") > maxParams {
		return false
	}
	for _, p := range strings.FieldsFunc(accept, func(c rune) bool { return c == ',' || c == ';' }) {
		if _, value, _ := strings.Cut(p, "="); len(value) > maxQuality {
			return false
		}
	}
	return true
}

// checkAccept compares Negotiate with its plain twin.
func checkAccept(t *testing.T, accept string, offer Offer) {
	t.Helper()
	got, err := Negotiate(accept, offer)
	if again, errAgain := Negotiate(accept, offer); got != again || errText(err) != errText(errAgain) {
		t.Fatalf("Negotiate(%.300q): %v, %v, then %v, %v", accept, got, err, again, errAgain)
	}
	var buf [maxClauses]clause
	if _, producible := parseAccept(accept, &buf); accept == "" || !producible || !within(accept) {
		return
	}
	want, ok := slowMedia(accept, offer)
	if (err == nil) != ok || ok && got != want {
		t.Errorf("Negotiate(%.300q, %d): got %+v, %v, want %+v, %v", accept, offer, got, err, want, ok)
	}
}

// TestNegotiateAsKubernetes compares Negotiate with its plain twin on random headers, including
// headers with repeated parameters, and headers for which the comparison of clauses is not
// transitive.
func TestNegotiateAsKubernetes(t *testing.T) {
	types := []string{"application/json", "*/*", "application/yaml;q=0.5", "a/b;q=0.9", "application/*;q=0.7", "*", "application/vnd.kubernetes.protobuf;q=0.5"}
	for i := range 1 << 14 {
		var elements []string
		for n := i; n > 0 || len(elements) < 2; n /= len(types) {
			elements = append(elements, types[n%len(types)])
		}
		for len(elements) < i%20 { // more than insertion sort is used for
			elements = append(elements, types[len(elements)*i%len(types)])
		}
		checkAccept(t, strings.Join(elements, ","), 0)
	}
	for _, accept := range []string{
		"application/json;as=x;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;as=;v=v1;g=meta.k8s.io", "application/json;stream=x;stream=",
		"application/json;stream=watch;stream=x, */*", "application/json;sv=v2;sv=v1", "application/json;q=x;q=0.5,application/yaml;q=0.7",
		"application/json;q==,application/yaml;q=0.1", "application/json;q=0.5=,application/yaml;q=0.6", "application/json;q=1=2;q=,application/yaml",
		"application/json ;q=0.1,application/yaml", "application/json/ ;q=1,application/yaml", "application/json/,application/yaml;q=0.9",
		"application/ json,application/json", " application/json , x", "application/json;as==", "application/json; pretty = 1", "application/json;pretty= 1 ",
		"application/json;drop=metadata.managedFields;drop=x", "application/json;drop=x;drop=a+metadata.managedFields", "*/*;drop= a + metadata.managedFields ;drop=",
		"application/json;q=Inf,application/yaml;q=-1", "application/json;q=NaN,application/yaml;q=NaN,*/*;q=NaN",
	} {
		for offer := range Offer(16) {
			checkAccept(t, accept, offer)
		}
	}
}

// nasty are parts of headers. A header that repeats one of them could make negotiation expensive.
var nasty = []string{"application/json;%d=1", ";a%d=1", ";%d", ",", "a/b,", ";as=%d", ";q=%d", "*/*;q=1,", "/", "=", ";=", " ", "application/json,", ";q=x", "9", ";q=0.%d", "*/*;q=x,"}

// The most that Negotiate may allocate for any header: the response, and an error of strconv for
// each clause.
const (
	maxNegotiate = 8 << 10 // bytes
	maxAllocs    = 10 + 2*maxClauses
)

// TestNegotiateBounded: the allocations for a header do not grow with its length.
func TestNegotiateBounded(t *testing.T) {
	for _, piece := range nasty {
		for _, size := range []int{100, 1000, 10_000, 64 << 10} {
			var b strings.Builder
			b.WriteString("application/json;a=1")
			for i := 0; b.Len() < size; i++ {
				b.WriteString(strings.ReplaceAll(piece, "%d", strconv.Itoa(i)))
			}
			for _, accept := range []string{b.String(), b.String()[strings.IndexByte(b.String(), ';'):]} {
				for offer := range Offer(16) {
					checkAccept(t, accept, offer)
				}
				if cost, allocs := costOf(maxNegotiate, func() { negotiate(accept, 0) }); cost > maxNegotiate || allocs > maxAllocs {
					t.Errorf("%q to %d bytes: got %d bytes in %d allocs, want at most %d in %d", piece, len(accept), cost, allocs, maxNegotiate, maxAllocs)
				}
				if cost, _ := costOf(64<<10, func() { BodyType(accept) }); cost > 64<<10 {
					t.Errorf("BodyType of %q to %d bytes: got %d bytes, want at most 64 KiB", piece, len(accept), cost)
				}
			}
		}
	}
}

// costOf returns the bytes and objects that one call of f allocates: the first measurement within
// limit, or the last of many, because other goroutines allocate at the same time.
func costOf(limit uint64, f func()) (bytes, allocs uint64) {
	var before, after runtime.MemStats
	for range 20 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if bytes, allocs = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs; bytes <= limit && allocs <= maxAllocs {
			break
		}
	}
	return bytes, allocs
}

// FuzzAccept compares Negotiate with its plain twin, and checks its bounds.
func FuzzAccept(f *testing.F) {
	f.Add("application/json;as=Table;v=v1;g=meta.k8s.io, */*;q=0.1", uint8(3), uint16(1))
	f.Add("a/b/c;;=;q==1,,*,*/", uint8(255), uint16(100))
	for _, piece := range nasty {
		f.Add(piece, uint8(15), uint16(1000))
	}
	f.Fuzz(func(t *testing.T, accept string, offer uint8, times uint16) {
		accept = strings.Repeat(accept, max(1, min(int(times), 64<<10/max(1, len(accept)))))
		checkAccept(t, accept, Offer(offer))
		if cost, allocs := costOf(maxNegotiate, func() { negotiate(accept, Offer(offer)) }); cost > maxNegotiate || allocs > maxAllocs {
			t.Errorf("Negotiate(%.300q) of %d bytes: got %d bytes in %d allocs, want at most %d in %d",
				accept, len(accept), cost, allocs, maxNegotiate, maxAllocs)
		}
	})
}
