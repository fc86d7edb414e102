package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

// play answers requests as a script says, in order. A line is "request: answer". A request is
// "list" with the continue token, or "watch" with the revision. "wait" at the end of an answer
// keeps it open until the client leaves.
func play(t *testing.T, script string) http.HandlerFunc {
	lines := strings.Split(strings.TrimSpace(script), "\n")
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		got := "list " + query.Get("continue")
		if query.Get("watch") != "" {
			got = "watch " + query.Get("resourceVersion")
			if query.Get("allowWatchBookmarks") == "" {
				t.Error("a watch without bookmarks")
			}
		}
		if query.Get("labelSelector") != "a=b" {
			t.Errorf("%s: the selector is %q", got, query.Get("labelSelector"))
		}
		if len(lines) == 0 {
			t.Errorf("%s: the script has come to its end", got)
			http.Error(w, "", 500)
			return
		}
		want, answer, _ := strings.Cut(strings.TrimSpace(lines[0]), ":")
		lines = lines[1:]
		if strings.TrimSpace(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		answer, wait := strings.CutSuffix(strings.TrimSpace(answer), "wait")
		if code := 0; !strings.HasPrefix(answer, "{") && answer != "" {
			fmt.Sscan(answer, &code)
			http.Error(w, "", code)
			return
		}
		answer = strings.ReplaceAll(answer, "}{", "}\n{") // one event per line
		if strings.HasSuffix(answer, "}") {
			answer += "\n"
		}
		io.WriteString(w, answer)
		if wait {
			<-r.Context().Done()
		}
	}
}

// list and the functions after it write the answers of a script. Objects are written as name and
// revision: "a@5".
func list(version, more string, objects ...string) string {
	var items []string
	for _, o := range objects {
		items = append(items, object(o))
	}
	return fmt.Sprintf(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, version, more, strings.Join(items, ","))
}

func object(o string) string {
	name, version, _ := strings.Cut(o, "@")
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":%q}}`, name, version)
}

func event(typ, o string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, typ, object(o)) }

const expired = `{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"too old"}}`

// told returns a change as text.
func told(ch follow.Change[*corev1.ConfigMap]) string {
	if ch.Gone {
		return "gone " + ch.Name.Name
	}
	return ch.Name.Name + "@" + ch.New.ResourceVersion
}

func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
	}{
		{"goes on", `list: ` + list("7", "", "a@3", "b@2") + `
			watch 7: ` + event("MODIFIED", "a@8") + event("DELETED", "b@9") + `
			watch 9: ` + event("BOOKMARK", "@12") + `
			watch 12: wait`,
			"0s a@3, 0s b@2, 0s a@8, 0s gone b"},
		{"pages", `list: ` + list("7", "next", "a@3") + `
			list next: ` + list("7", "", "b@2") + `
			watch 7: wait`,
			"0s a@3, 0s b@2"},
		{"not faster than once a second", `list: ` + list("7", "") + `
			watch 7:
			watch 7:
			watch 7: ` + event("ADDED", "a@8") + `wait`,
			"2s a@8"},
		{"lists again", `list: ` + list("7", "", "a@3", "b@2", "c@1") + `
			watch 7: ` + event("DELETED", "c@8") + expired + `
			list: ` + list("20", "", "b@2", "d@12") + `
			watch 20: wait`,
			"0s a@3, 0s b@2, 0s c@1, 0s gone c, 0s too old, 1s b@2, 1s d@12, 1s gone a"},
		{"is refused from the start", `list: 403
			list: 403
			list: ` + list("7", "") + `
			watch 7: 410
			list: ` + list("9", "", "a@8") + `
			watch 9: wait`,
			"0s 403, 1s 403, 3s 410, 7s a@8"},
		{"is cut", `list: ` + list("7", "") + `
			watch 7: ` + event("ADDED", "a@8") + `{"type":"MOD
			watch 8: ` + event("ADDED", "b@9") + `wait`,
			"0s a@8, 0s unexpected EOF, 1s b@9"},
		{"loses a page", `list: ` + list("7", "next", "a@3", "b@3") + `
			list next: 410
			list: ` + list("9", "", "b@8", "c@2") + `
			watch 9: wait`,
			"0s a@3, 0s b@3, 0s 410, 1s b@8, 1s c@2, 1s gone a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			codecs := codecs(t)
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, client.Config{Transport: client.HandlerTransport(play(t, tt.script)), Codecs: codecs})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var got []string
				begun := time.Now()
				opts := meta.ListOptions{LabelSelector: "a=b", Limit: 7, ResourceVersion: "1"} // only the selector is used
				tell := func(what string) { got = append(got, time.Since(begun).String()+" "+what) }
				failed := func(err error) {
					if meta.StatusOf(err).Reason == "" && meta.StatusOf(err).Code != 500 {
						tell(fmt.Sprint(meta.StatusOf(err).Code))
						return
					}
					text := err.Error()
					tell(text[strings.LastIndex(text, ":")+1:])
				}
				source := client.For[*corev1.ConfigMap](c, configMapResource).Source(opts)
				for b := range follow.Changes(ctx, source, follow.Options{Failed: failed}) {
					for _, ch := range b.Changes {
						tell(told(ch))
					}
				}
				if text := strings.ReplaceAll(strings.Join(got, ", "), "s  ", "s "); text != tt.want {
					t.Errorf("got %s, want %s", text, tt.want)
				}
			})
		})
	}
}

// TestFollowPauses counts the attempts in an hour in which every attempt fails.
func TestFollowPauses(t *testing.T) {
	codecs := codecs(t)
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c := newClient(t, client.Config{Codecs: codecs, Transport: client.HandlerTransport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			tries++
			http.Error(w, "", http.StatusServiceUnavailable)
		}))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range follow.Changes(ctx, client.For[*corev1.ConfigMap](c, configMapResource).Source(meta.ListOptions{}), follow.Options{}) {
		}
		if tries < 120 || tries > 130 {
			t.Errorf("got %d tries, want about two a minute", tries)
		}
	})
}

// TestFollowIsInStep: a follower is in step at the end of each list, and then after each event and
// bookmark, at its revision.
func TestFollowIsInStep(t *testing.T) {
	script := `list: ` + list("7", "next", "a@3") + `
		list next: ` + list("7", "", "b@2") + `
		watch 7: ` + event("BOOKMARK", "@8") + event("MODIFIED", "a@9") + expired + `
		list: ` + list("20", "next", "a@9") + `
		list next: 410
		list: ` + list("30", "", "a@9") + `
		watch 30: wait`
	const want = "a@3, b@2, in step 7, in step 8, a@9, in step 9, error, a@9, error, a@9, gone b, in step 30"
	codecs := codecs(t)
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, client.Config{Transport: client.HandlerTransport(play(t, script)), Codecs: codecs})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var got []string
		source := client.For[*corev1.ConfigMap](c, configMapResource).Source(meta.ListOptions{LabelSelector: "a=b"})
		for b := range follow.Changes(ctx, source, follow.Options{Failed: func(error) { got = append(got, "error") }}) {
			for _, ch := range b.Changes {
				got = append(got, told(ch))
			}
			if b.InStep {
				got = append(got, "in step "+b.ResourceVersion)
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	})
}

// TestFollowIsLeft: after the reader stops, at whatever change, no request is sent and no change is
// yielded.
func TestFollowIsLeft(t *testing.T) {
	script := `list: ` + list("7", "next", "a@3", "b@2") + `
		list next: ` + list("7", "", "c@1") + `
		watch 7: ` + event("MODIFIED", "a@8") + expired + `
		list: ` + list("9", "")
	for leave := 1; leave <= 4; leave++ {
		codecs := codecs(t)
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, client.Config{Transport: client.HandlerTransport(play(t, script)), Codecs: codecs})
			told := 0
			source := client.For[*corev1.ConfigMap](c, configMapResource).Source(meta.ListOptions{LabelSelector: "a=b"})
			for range follow.Changes(t.Context(), source, follow.Options{}) {
				if told++; told == leave {
					break
				}
			}
			if told != leave {
				t.Errorf("told %d times, want %d", told, leave)
			}
		})
	}
}

// TestFollowMissesNothing follows a real server that ends its watches again and again.
func TestFollowMissesNothing(t *testing.T) {
	s := servertest.Start(t, server.Config{
		Serving:     server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Limits:      server.LimitsConfig{MinWatch: 50 * time.Millisecond},
		Controllers: []string{},
	})
	maps := client.For[*corev1.ConfigMap](s.Server.Client(), configMapResource).In("default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const n = 30
	made := make(chan error, 1)
	go func() {
		for i := range n {
			if _, err := maps.Create(ctx, configMap(fmt.Sprintf("m%02d", i)), meta.CreateOptions{}); err != nil {
				made <- err
				return
			}
			time.Sleep(2 * time.Second / n) // some changes fall within a watch, some between two watches
		}
		made <- nil
	}()
	i := 0
	failed := func(err error) { t.Errorf("after change %d: %v", i, err) }
	for b := range follow.Changes(ctx, maps.Source(meta.ListOptions{}), follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if ch.Gone || ch.Unread != nil || ch.Name.Name != fmt.Sprintf("m%02d", i) {
				t.Fatalf("change %d: got %+v", i, ch)
			}
			i++
		}
		if i == n {
			break
		}
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
}
