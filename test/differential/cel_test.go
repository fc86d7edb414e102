package differential

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	celref "github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	mine "github.com/coracle-project/coracle/scheme/cel"
)

// TestCEL has both sides check, estimate, plan and run expressions. They are made up by type from
// all functions of the language. Most are right; their strings are right, odd or of another kind.
func TestCEL(t *testing.T) {
	g := &celGame{t: t, us: celOurs(t), them: celTheirs(t), rnd: random("cel")}
	for _, result := range slices.Sorted(maps.Keys(celForms)) {
		for _, form := range celForms[result] {
			if strings.Contains(form, "{") && !slices.Contains(celWords, result) {
				g.playForm(result, form)
			}
		}
	}
	for range times(1500) {
		w := &celWriter{rnd: g.rnd, loose: g.rnd.IntN(3) == 0}
		g.play(w.write(pickString(g.rnd, celResults), 1+g.rnd.IntN(4)))
	}
}

// celGame has both sides judge expressions.
type celGame struct {
	t      *testing.T
	us     *mine.Env
	them   *cel.Env
	rnd    *rand.Rand
	differ int
}

// playForm plays expressions of a form until one has a value. If types are not known, most have
// none.
func (g *celGame) playForm(result, form string) {
	for i := range 2000 {
		if _, ok := g.play((&celWriter{rnd: g.rnd}).fill(form, i%3)); ok && i > 1 {
			return
		}
	}
	if result != "dyn" {
		g.t.Errorf("%s for %s never came to a value", form, result)
	}
}

// play returns whether an expression has a value.
func (g *celGame) play(expression string) (string, bool) {
	vars, size := celVars(g.rnd), uint64(g.rnd.IntN(50))
	got, want := g.ours(expression, vars, size), g.theirs(expression, vars, size)
	if got != want {
		g.t.Errorf("%s\n   ours: %s\n theirs: %s\n   with: %v, sizes %d", expression, got, want, vars, size)
		if g.differ++; g.differ == 20 {
			g.t.FailNow()
		}
	}
	return want, strings.Contains(want, " value ")
}

// celForms are the ways to make a value of a type, with the types of their parts in braces. Forms
// without parts end the recursion.
var celForms = map[string][]string{
	"int": {"0", "1", "-1", "3", "9223372036854775807", "n", "{int} + {int}", "{int} * {int}", "{int} / {int}", "size({string})", "{strings}.size()",
		"{ints}.sum()", "{ints}.min()", "{ints}.max()", "{ints}.indexOf({int})", "{strings}.lastIndexOf({string})", "{string}.indexOf({string})",
		"{string}.lastIndexOf({string}, {int})", "{ip}.family()", "{cidr}.prefixLength()", "{quantity}.asInteger()", "sign({quantity})",
		"{quantity}.compareTo({quantity})", "{semver}.major()", "{semver}.minor()", "{semver}.patch()", "{semver}.compareTo({semver})",
		"{ints}[{int}]", "int({string})", "{optional}.orValue({int})", "{ints}.first().value()", "{timestamp}.getFullYear()", "int({double})",
		"{bool} ? {int} : {int}", "int({timestamp})", "{duration}.getSeconds()"},
	"double": {"1.5", "0.0", "-2e10", "{quantity}.asApproximateFloat()", "{doubles}.sum()", "{doubles}.max()", "double({int})", "double({string})"},
	"uint":   {"1u", "18446744073709551615u", "[{uint}, {uint}].sum()", "[{uint}, 2u].max()", "uint({int})"},
	"bool": {"true", "false", "{string} == {string}", "{string} != {string}", "{int} < {int}", "{int} < {double}", "{strings} == {strings}", "{url} == {url}",
		"{ip} == {ip}", "{cidr} == {cidr}", "{quantity} == {quantity}", "{quantity} != {quantity}", "{semver} == {semver}", "{format} == {format}",
		"isURL({string})", "isIP({string})", "isCIDR({string})", "ip.isCanonical({string})", "isQuantity({string})", "isSemver({string})",
		"isSemver({string}, {bool})", "{ip}.isUnspecified()", "{ip}.isLoopback()", "{ip}.isLinkLocalMulticast()", "{ip}.isLinkLocalUnicast()",
		"{ip}.isGlobalUnicast()", "{cidr}.containsIP({string})", "{cidr}.containsIP({ip})", "{cidr}.containsCIDR({cidr-text})",
		"{cidr}.containsCIDR({cidr})", "{quantity}.isInteger()", "{quantity}.isGreaterThan({quantity})", "{quantity}.isLessThan({quantity})",
		"{semver}.isGreaterThan({semver})", "{semver}.isLessThan({semver})", "{ints}.isSorted()", "{strings}.isSorted()", "{doubles}.isSorted()",
		"{string}.matches({pattern})", "{string}.startsWith({string})", "{string}.contains({string})", "{string} in {strings}", "{strings}.all(x, x == {string})",
		"{strings}.exists_one(x, x.contains({string}))", "{ints}.exists(x, x > {int})", "{ints}.all(i, v, i <= v)", "{map}.exists(k, v, k == v)",
		"sets.contains({ints}, {ints})", "sets.intersects({strings}, {strings})", "sets.equivalent({strings}, {strings})",
		"format.named({formatName}).hasValue()", "{format}.validate({string}).hasValue()", "{decision}.allowed()", "{decision}.errored()",
		"{bool} && {bool}", "{bool} || {bool}", "!{bool}", "{optional}.hasValue()", "has(m.a)", "has({map}.b)", "dyn({quantity}) == dyn({ip}) || true", "{bytes} == {bytes}",
		"{authorizer} == {authorizer} || true", "{check} == {check} || true", "{durations}.isSorted()", "{timestamp} < {timestamp}", "type({ip}) == type({cidr})",
		"{strings}.exists(x, int(x) > {int})", "{strings}.all(x, x.startsWith({string}) ? {bool} : size(x) in [{int}, 1, 2])",
		"{ints}.all(x, {strings}.exists(y, size(y) == x) || x / {int} > 1)", "{ints}.exists(x, [x, {int}].all(y, {ints}[y] < x))",
		"{strings}.exists(x, x.split({string}).all(y, has(m.a) && y < x))", "{ints}.exists_one(x, x in {ints} && {ints}[x] > 1 / x)",
		"{ints}.all(x, [d, d].exists(y, y.a == x || y[x] == {string}))", "{strings}.exists(x, {'b': x}.all(k, {map}[k] == x))",
		"{strings}.map(x, optional.of(int(x)).orValue({int})).exists(i, {ints}[i] > 0)",
		"[{quantity}].exists(q, q == {quantity})", "{quantity} in [{quantity}, {quantity}]", "{ip} in [{ip}]"},
	"string": {"s", "s", "''", "{odd}", "{odd}", "{odd}", "{string} + {string}", "{url}.getScheme()", "{url}.getHost()", "{url}.getHostname()", "{url}.getPort()",
		"{url}.getEscapedPath()", "{string}.find({pattern})", "{string}.lowerAscii()", "{string}.upperAscii()", "{string}.trim()",
		"{string}.substring({int})", "{string}.substring({int}, {int})", "{string}.replace({string}, {string})", "{string}.replace({string}, {string}, {int})",
		"{strings}.join()", "{strings}.join({string})", "{string}.charAt({int})", "string({ip})", "string({cidr})", "string({int})", "string({double})", "{strings}.min()",
		"{strings}.max()", "{strings}[{int}]", "{map}.a", "{map}[{string}]", "{decision}.reason()", "{decision}.error()", "strings.quote({string})",
		"'%s-%d'.format([{string}, {int}])", "'%s'.format([{strings}])", "'%.3f %x %s'.format([{double}, {string}, {duration}])",
		"{format}.validate({string}).orValue(['none'])[0]", "string({bytes})", "string({timestamp})", "string({duration})"},
	"bytes": {"b'ab'", "bytes({string})", "[{bytes}, b'x'].max()", "{bytes} + {bytes}"},
	"ints":  {"[1, 2, 3]", "li", "[{int}, {int}]", "{ints} + {ints}", "{strings}.map(x, size(x))", "lists.range(n)", "{ints}.sort()", "{ints}.reverse()", "{ints}.distinct()", "{ints}.slice({int}, {int})", "{ints}.filter(x, x > {int})", "[{ints}, {ints}].flatten()", "{strings}.transformList(i, v, i)"},
	"strings": {"l", "['a', 'b', 'b']", "[{string}, {string}]", "{string}.split({string})", "{string}.split({string}, {int})", "{string}.findAll({pattern})",
		"{string}.findAll({pattern}, {int})", "{strings} + {strings}", "{strings}.map(x, x + {string})", "{strings}.filter(x, x != {string})",
		"{format}.validate({string}).orValue([])", "{strings}.sort()", "{strings}.distinct()", "{strings}.sortBy(x, size(x))", "{map}.map(k, k)",
		"{map}.transformList(k, v, v)", "{query}['k']", "{strings}.reverse()"},
	"doubles":   {"[1.5, 0.5]", "[{double}, {double}]"},
	"durations": {"[{duration}, {duration}]"},
	"duration":  {"duration('1h')", "duration({string})", "{duration} + {duration}", "{durations}.sum()", "{durations}.max()", "{timestamp} - {timestamp}"},
	"timestamp": {"timestamp('2020-01-02T03:04:05Z')", "timestamp({string})", "{timestamp} + {duration}", "[{timestamp}].min()"},
	"map":       {"m", "{'a': 'x'}", "{{string}: {string}}", "{map}.transformMap(k, v, v + {string})", "{map}.transformMapEntry(k, v, {v: k})"},
	"query":     {"{url}.getQuery()"},
	"optional":  {"optional.of({int})", "optional.none()", "{ints}.first()", "{ints}.last()", "{ints}[?{int}]", "optional.ofNonZeroValue({int})", "{optional}.optMap(x, x + {int})", "{optional}.or({optional})"},
	"url":       {"url({url-text})", "url({url-text})", "url({string})"},
	"ip":        {"ip({ip-text})", "ip({ip-text})", "{cidr}.ip()", "ip({string})"},
	"cidr":      {"cidr({cidr-text})", "cidr({cidr-text})", "{cidr}.masked()", "cidr({string})"},
	"quantity": {"quantity({quantity-text})", "quantity({quantity-text})", "quantity({quantity-text})", "quantity({string})", "{quantity}.add({quantity})",
		"{quantity}.sub({quantity})", "{quantity}.add({int})", "{quantity}.sub({int})"},
	"semver": {"semver({semver-text})", "semver({semver-text})", "semver({semver-text}, {bool})", "semver({string}, true)"},
	"format": {"format.dns1123Label()", "format.dns1123Subdomain()", "format.dns1035Label()", "format.qualifiedName()", "format.dns1123LabelPrefix()",
		"format.dns1123SubdomainPrefix()", "format.dns1035LabelPrefix()", "format.labelValue()", "format.uri()", "format.uuid()", "format.byte()",
		"format.date()", "format.datetime()", "format.named({formatName}).value()"},
	"authorizer": {"authorizer", "authorizer.serviceAccount('default', {string})", "{authorizer}.serviceAccount({string}, 'a')"},
	"check": {"{authorizer}.group({string}).resource('pods')", "{authorizer}.group('').resource({string})", "{check}.namespace({string})", "{check}.name({string})",
		"{check}.subresource({string})", "{check}.labelSelector({string})", "{check}.fieldSelector('a={odd-word}')"},
	"decision": {"{check}.check({string})", "{authorizer}.path('/x').check({string})", "{authorizer}.path({string}).check('get')"},
	"dyn":      {"d", "dyn({int})", "dyn({string})", "d.a", "{dyn}.size()", "{dyn} + {dyn}", "{dyn}[{int}]", "dyn({ip}).family()", "dyn({url}).getHost()", "dyn({dyn}).isSorted()", "dyn({quantity}).add({dyn})", "string({dyn})", "ip({dyn})", "dyn({cidr}).containsIP({dyn})", "dyn({cidr}).containsCIDR({dyn})", "dyn({check}).namespace({dyn})", "{dyn}.find({dyn})", "dyn({format}).validate({dyn})", "dyn({semver}).isLessThan({dyn})", "url({dyn})", "{dyn}.indexOf({dyn})", "{dyn}.sum()", "string(dyn({url}))", "size(dyn({ip}))", "'%s'.format([{ip}])", "type({dyn})"},

	"pattern":       {"'a'", "'[a-z]+'", "'^.*$'", "'(a|b)*c?'", "'('", "''", "{string}"},
	"formatName":    {"'dns1123Label'", "'uri'", "'nothing'", "'labelValue'", "{string}"},
	"url-text":      {"'https://user:pass@example.com:80/path?query=val#fragment'", "'/a b'", "'https://[::1]:80/x?k=1&k=2'", "'../x'", "'https://a:b:c/'", "'mailto:a@b'", "''"},
	"ip-text":       {"'127.0.0.1'", "'::1'", "'10.1.2.3'", "'2001:DB8::ABCD'", "'fe80::1%eth0'", "'::ffff:1.2.3.4'", "'224.0.0.1'", "'01.2.3.4'", "'0.0.0.0'", "'ff02::1'", "'169.254.1.1'"},
	"cidr-text":     {"'10.0.0.0/8'", "'10.1.2.3/24'", "'::1/128'", "'2001:db8::/32'", "'0.0.0.0/0'", "'10.0.0.0/33'", "'::ffff:1.2.3.4/104'", "'x'"},
	"quantity-text": {"'1'", "'1.5Gi'", "'1000m'", "'2Gi'", "'12345678901Ki'", "'1.0'", "'123456789012345678901'", "'200k'", "'50M'", "'-3'", "'0'", "'100m'", "'200K'", "'12e6'", "'9999999999999999999999999999999999999Ei'", "'Mi'", "'1n'", "'1.5k'", "'1.25M'", "'0.5G'", "'1e3'", "'1.5E2'", "'15e-1'", "'0012E'", "'1E'", "'0.0'", "'0m'", "'123456789012345678k'", "'99999999Mi'", "'9999999Mi'", "'9Ei'", "'.5'", "'+5'"},
	"semver-text":   {"'1.2.3'", "'v1.2'", "'01.02.03'", "'1.0.0-alpha.1+b'", "'1.0.0-alpha.beta'", "'1'", "''", "'1.2.3-01'", "'99999999999999999999.0.0'", "'v1-x'"},
	"odd-word":      {"x", "", "=", ",b"},
	"odd":           celOdd,
}

// celOdd are strings of many kinds, right and wrong.
var celOdd = []string{"'a'", "'abc 123'", "'A_b.c/d-'", "'é😀'", "' '", "'-'", "'b'", "'10'", "'1.5'", "'1h30m'", "'aGVsbG8='", "'2021-01-01'", "'2021-01-01T00:00:00Z'",
	"'2021-01-01t00:00:00z'", "'123e4567-e89b-12d3-a456-426614174000'", "'example.com/name'", "'10.0.0.1'", "'10.0.0.0/16'", "'https://example.com/'", "'1.2.3'", "'3Mi'", "'%'", "'true'",
	"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"}

var celResults = []string{"bool", "bool", "bool", "bool", "string", "string", "int", "int", "ints", "strings", "dyn", "optional", "quantity", "double", "duration", "timestamp", "query"}

// celWords are names in braces that are no types: they stand for strings of a sort.
var celWords = []string{"pattern", "formatName", "odd"}

// A celWriter writes expressions.
type celWriter struct {
	rnd   *rand.Rand
	loose bool // types are wrong now and then
}

func pickString(rnd *rand.Rand, from []string) string { return from[rnd.IntN(len(from))] }

// write writes a value of a type.
func (w *celWriter) write(typ string, depth int) string {
	forms := celForms[typ]
	if w.loose && w.rnd.IntN(12) == 0 {
		forms = celForms[pickString(w.rnd, celResults)]
	}
	form := pickString(w.rnd, forms)
	for tries := 0; depth <= 0 && strings.Contains(form, "{") && tries < 5; tries++ {
		form = pickString(w.rnd, forms)
	}
	if depth < -6 {
		form = forms[0]
	}
	return w.fill(form, depth)
}

// fill writes the parts of a form.
func (w *celWriter) fill(form string, depth int) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(form, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		if celForms[name] == nil { // the brace of a map
			b.WriteString("{")
			form = rest
			continue
		}
		part := w.write(name, depth-1)
		if strings.ContainsAny(part, "+-*/<=!?&|") && name != "odd-word" {
			part = "(" + part + ")"
		}
		b.WriteString(part)
		form = after
	}
}

// celVars makes values of the variables.
func celVars(rnd *rand.Rand) map[string]any {
	text := func() string { return strings.Trim(pickString(rnd, celOdd), "'") }
	dyn := []any{int64(3), "10.0.0.1", []any{int64(1), "a"}, []string{"b", "a"}, map[string]any{"a": int64(1)}, 2.5, nil, true}
	return map[string]any{
		"s": text(), "n": int64(rnd.IntN(7) - 2), "l": []string{text(), text()}, "li": []int64{rnd.Int64N(5), rnd.Int64N(5), 2},
		"m": map[string]string{pickString(rnd, []string{"a", "b"}): text()}, "d": dyn[rnd.IntN(len(dyn))],
	}
}

var celVariables = []cel.EnvOption{
	cel.Variable("s", cel.StringType), cel.Variable("n", cel.IntType), cel.Variable("l", cel.ListType(cel.StringType)),
	cel.Variable("li", cel.ListType(cel.IntType)), cel.Variable("m", cel.MapType(cel.StringType, cel.StringType)), cel.Variable("d", cel.DynType),
}

func celOurs(t *testing.T) *mine.Env {
	t.Helper()
	env, err := mine.Base().Extend(append(slices.Clone(celVariables), cel.Variable("authorizer", mine.AuthorizerType))...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func celTheirs(t *testing.T) *cel.Env {
	t.Helper()
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        append(slices.Clone(celVariables), cel.Variable("authorizer", library.AuthorizerType)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return set.NewExpressionsEnv()
}

// celOutcome is what came of an expression, in words.
type celOutcome struct {
	b strings.Builder
}

func (o *celOutcome) add(format string, args ...any) string {
	fmt.Fprintf(&o.b, format, args...)
	return o.b.String()
}

func (g *celGame) ours(expression string, vars map[string]any, size uint64) string {
	var o celOutcome
	x, err := g.us.Check(expression)
	if err != nil {
		return o.add("%v", err)
	}
	cost, err := x.Cost(func(path []string) (uint64, bool) { return celSize(path, size) })
	o.add("%v, estimate %v %v,", x.Type(), cost, err)
	program, err := x.Program()
	if err != nil {
		return o.add("%v", err)
	}
	vars["authorizer"] = mine.AuthorizerValue(celMay{"user"})
	activation, err := cel.NewActivation(vars)
	if err != nil {
		return o.add("%v", err)
	}
	budget := mine.ObjectBudget
	value, err := program.Run(g.t.Context(), activation, &budget)
	if err != nil {
		return o.add(" cost %d, error %v", mine.ObjectBudget-budget, err)
	}
	return o.add(" cost %d, value %s", mine.ObjectBudget-budget, celText(value))
}

func (g *celGame) theirs(expression string, vars map[string]any, size uint64) string {
	var o celOutcome
	x, issues := g.them.Compile(expression)
	if issues != nil {
		return o.add("compilation failed: %s", issues)
	}
	estimator := &library.CostEstimator{SizeEstimator: celSizes(size)}
	cost, err := g.them.EstimateCost(x, estimator)
	o.add("%v, estimate %v %v,", x.OutputType(), cost, err)
	program, err := g.them.Program(x, cel.CostLimit(mine.CallLimit), cel.CostTracking(estimator), cel.InterruptCheckFrequency(100))
	if err != nil {
		return o.add("program instantiation failed: %v", err)
	}
	may := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		access := mine.Access{Verb: a.GetVerb(), Path: a.GetPath(), Group: a.GetAPIGroup(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
			Namespace: a.GetNamespace(), Name: a.GetName()}
		allowed, reason, err := celMay{a.GetUser().GetName()}.Authorize(access)
		if allowed {
			return authorizer.DecisionAllow, reason, err
		}
		return authorizer.DecisionNoOpinion, reason, err
	})
	vars["authorizer"] = library.NewAuthorizerVal(&user.DefaultInfo{Name: "user"}, may)
	value, details, err := program.ContextEval(g.t.Context(), vars)
	if err != nil {
		return o.add(" cost %d, error %v", *details.ActualCost(), err)
	}
	return o.add(" cost %d, value %s", *details.ActualCost(), celText(value))
}

// celSize knows no size for every second path.
func celSize(path []string, size uint64) (uint64, bool) {
	return size + uint64(len(path)), path[0] != "d" && (size%2 == 0 || len(path) > 1)
}

type celSizes uint64

func (s celSizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	most, known := celSize(node.Path(), uint64(s))
	if !known {
		return nil
	}
	return &checker.SizeEstimate{Max: most}
}

func (celSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// celMay decides at random what a user may do, and always alike for the same question.
type celMay struct{ who string }

func (m celMay) Authorize(a mine.Access) (bool, string, error) {
	a.FieldSelector, a.LabelSelector = "", ""
	h := fnv.New32a()
	fmt.Fprint(h, m.who, a)
	switch h.Sum32() % 3 {
	case 0:
		return false, "no", nil
	case 1:
		return false, "", errors.New("broken")
	}
	return true, fmt.Sprint("because ", a), nil
}

func (m celMay) ServiceAccount(namespace, name string) mine.Authorizer {
	return celMay{"system:serviceaccount:" + namespace + ":" + name}
}

// celText describes a value in words that are the same for both sides.
func celText(v celref.Val) string {
	switch v := v.(type) {
	case *types.Optional:
		if v.HasValue() {
			return "optional " + celText(v.GetValue())
		}
		return "none"
	case traits.Mapper:
		var all []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			all = append(all, celText(k)+": "+celText(v.Get(k)))
		}
		slices.Sort(all)
		return fmt.Sprint(all)
	case traits.Lister:
		var all []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			all = append(all, celText(it.Next()))
		}
		return fmt.Sprint(all)
	}
	if v.Type().TypeName() == "kubernetes.NamedFormat" { // a struct with a function
		return "a format"
	}
	if f, ok := v.Value().(float64); ok {
		return fmt.Sprintf("%.12g", f) // quantities as floats are approximations
	}
	return fmt.Sprintf("%v %v", v.Type().TypeName(), v.Value())
}
