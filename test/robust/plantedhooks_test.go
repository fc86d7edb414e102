package robust

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordedHooks is of a run that was right: KEEP=1 go test -run TestHooks
const recordedHooks = "testdata/hooks.json.gz"

// acting is a write that a hook acted on, or might have acted on, with what its server knew of the
// hook.
type acting struct {
	*HookWrite
	hook   string
	known  knowledge
	acted  bool
	mayEnd bool // somebody may have changed or deleted the hook before the write ended
}

// because says that the hook must act on a write, as its server knows it, and why.
func (a *acting) because(why string) bool {
	return a.acted && a.known.why == why && a.known.gen != gone && !a.mayEnd
}

// writes plants a fault into a write that fits.
func (rec *HookRecord) writes(at func() bool, fits func(a *acting) bool, plant func(a *acting)) {
	c := newHookChecker(rec)
	for _, w := range rec.Writes {
		for _, hook := range w.Hooks {
			a := &acting{HookWrite: w, hook: hook, known: c.known(w, hook), acted: w.By == hook || w.Stamps[hook] > 0}
			for _, op := range c.hook(hook).asked {
				a.mayEnd = a.mayEnd || op.Call <= w.Return && op.result() > a.known.gen
			}
			if (w.By == hook || w.Result == acked) && fits(a) && at() {
				plant(a)
				return
			}
		}
	}
}

// act has a generation of the hook act on the write, or none.
func (a *acting) act(gen int) {
	w, hook := a.HookWrite, a.hook
	switch {
	case kindOfHook(hook).stamps && gen > 0:
		w.Stamps[hook] = gen
	case kindOfHook(hook).stamps:
		delete(w.Stamps, hook)
	case gen > 0:
		w.Result, w.Code, w.By, w.Gen = refused, http.StatusForbidden, hook, gen
	default: // nobody knows how others would have acted
		w.Result, w.Code, w.By, w.Gen, w.Hooks = acked, http.StatusCreated, "", 0, []string{hook}
	}
}

// asked returns the first or the last generation of a hook that its owner asked for.
func (rec *HookRecord) asked(hook string, last bool) (gen int) {
	for _, op := range rec.Ops {
		if op.Hook == hook && op.happened() && op.Verb != remove && (last || gen == 0) {
			gen = op.Gen
		}
	}
	return gen
}

// miss has a hook not act on a write that it must act on.
func (rec *HookRecord) miss(at func() bool, why string) {
	rec.writes(at, func(a *acting) bool { return a.because(why) }, func(a *acting) { a.act(0) })
}

// plantedHooks are the faults of hooks.
var plantedHooks = []fault[*HookRecord]{
	{"late after the answer", "answered", func(rec *HookRecord, at func() bool) { rec.miss(at, "answered") }},
	{"late after it was seen", "seen", func(rec *HookRecord, at func() bool) { rec.miss(at, "seen") }},
	{"gap after a start", "started", func(rec *HookRecord, at func() bool) { rec.miss(at, "started") }},
	{"version that was replaced", "answered", func(rec *HookRecord, at func() bool) {
		rec.writes(at, func(a *acting) bool {
			return a.because("answered") && rec.asked(a.hook, false) < a.known.gen
		}, func(a *acting) { a.act(rec.asked(a.hook, false)) })
	}},
	{"after the deletion", "ended", func(rec *HookRecord, at func() bool) {
		ended := func(a *acting) bool { return a.known.gen == gone }
		rec.writes(at, ended, func(a *acting) { a.act(rec.asked(a.hook, true)) })
	}},
	{"generation of the future", "changes", func(rec *HookRecord, at func() bool) {
		rec.writes(at, func(a *acting) bool { return a.acted }, func(a *acting) { a.act(1_000_000) })
	}},
	{"another write", "changes", func(rec *HookRecord, at func() bool) {
		rec.writes(at, func(a *acting) bool { return a.acted }, func(a *acting) {
			a.Hooks = slices.DeleteFunc(a.Hooks, func(name string) bool { return name == a.hook })
		})
	}},
	{"stored without a store", "cut", func(rec *HookRecord, at func() bool) {
		for _, w := range rec.Writes {
			if w.Result == acked && !w.DryRun && at() {
				rec.Cuts = append(rec.Cuts, ServerTime{w.Server, w.Call - time.Millisecond, w.Return + time.Millisecond})
				return
			}
		}
	}},
	{"webhook that fails", "answers", func(rec *HookRecord, at func() bool) {
		for _, w := range rec.Writes {
			if w.Result == acked && at() {
				w.Result, w.Code, w.Reason = inDoubt, http.StatusInternalServerError, "InternalError"
				return
			}
		}
	}},
	{"configuration that is refused", "answers", func(rec *HookRecord, at func() bool) {
		for _, op := range rec.Ops {
			if op.Result == acked && op.Verb == update && at() {
				op.Result, op.Code = invalid, http.StatusUnprocessableEntity
				return
			}
		}
	}},
}

// TestPlantedHooks plants faults into what was seen of hooks.
func TestPlantedHooks(t *testing.T) {
	findPlanted(t, func(t *testing.T) *HookRecord {
		rec := &HookRecord{}
		if err := load(recordedHooks, rec); err != nil {
			t.Fatal(err)
		}
		return rec
	}, CheckHooks, plantedHooks)
}

// TestFaultySystems has something go wrong in a running system, and wants it found.
func TestFaultySystems(t *testing.T) {
	t.Parallel()
	build(t)
	for _, tt := range []struct {
		name, check string
		config      HookConfig
	}{
		{"a webhook forgets", "answered", HookConfig{Forgets: 3}},
		{"two servers pass for one", "answered", HookConfig{Front: func(cl *cluster) { pretend(t, cl) }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.config
			c.Owners, c.Writers, c.Time = 6, 2, 3*time.Second
			rec, err := RunHooks(c, programs, workDir(t, "hooksfound"), seed)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]int{}
			for _, v := range CheckHooks(rec) {
				kinds[v.Check]++
			}
			if kinds[tt.check] == 0 {
				t.Errorf("got %v, want %s; %s", kinds, tt.check, rec.summary())
			}
		})
	}
}

// pretend has clients take two servers for one: configurations of hooks go to the first server, and
// all else to the second, which learns of them late.
func pretend(t *testing.T, cl *cluster) {
	proxies := map[bool]*httputil.ReverseProxy{}
	for i, raw := range cl.urls {
		to, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		proxies[i == 0] = &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
			FlushInterval: -1,
		}
	}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxies[strings.HasPrefix(r.URL.Path, hookPath)].ServeHTTP(w, r)
	}))
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	cl.urls[0], cl.urls[1] = front.URL, front.URL
	cl.links[1].slow(30 * time.Millisecond)
}
