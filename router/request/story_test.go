package request_test

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/coracle-project/coracle/router/request"
)

// TestStoryBounds: what a story has together is bounded, however many goroutines write to it, and
// what is left out is counted.
func TestStoryBounds(t *testing.T) {
	var s request.Story
	var writers sync.WaitGroup
	const each = 1000
	left := make([]int, 4)
	for i := range left {
		writers.Go(func() {
			for range each {
				try := s.Begin(request.Try{Object: make([]byte, 1000)})
				if try == nil {
					continue
				}
				if step := s.AddStep(try, request.Step{}); step != nil {
					step.Patch = make([]byte, min(1000, s.PatchRoom()))
					s.Took(step.Patch)
				}
				left[i] += try.Left
			}
		})
	}
	writers.Wait()
	tries, without := s.Tries()
	steps, bytes, missing := len(tries), 0, 0
	for _, try := range tries {
		steps += len(try.Steps)
		missing += try.Left
		bytes += len(try.Object)
		for _, step := range try.Steps {
			bytes += len(step.Patch)
		}
	}
	if steps != request.MaxStorySteps || len(tries)+without != len(left)*each {
		t.Errorf("got %d tries and steps, %d tries, %d left", steps, len(tries), without)
	}
	if want := left[0] + left[1] + left[2] + left[3]; missing != want {
		t.Errorf("got %d steps left, want %d", missing, want)
	}
	// Goroutines that ask for the last room at once may each get it.
	if most := request.MaxStoryBytes + len(left)*1000; bytes > most || bytes < request.MaxStoryBytes-2000 {
		t.Errorf("got %d bytes, want at most %d", bytes, most)
	}
}

// TestStoryObject: an object that is too long is left out, and its size stays.
func TestStoryObject(t *testing.T) {
	var s request.Story
	for size, want := range map[int]int{request.MaxStoryObject: request.MaxStoryObject, request.MaxStoryObject + 1: 0} {
		try := s.Begin(request.Try{Object: make([]byte, size), ObjectSize: size})
		if len(try.Object) != want || try.ObjectSize != size {
			t.Errorf("got %d and %d bytes, want %d of %d", len(try.Object), try.ObjectSize, want, size)
		}
	}
}

// TestStoryTexts: long texts are cut between characters, and so are long lists.
func TestStoryTexts(t *testing.T) {
	var s request.Story
	if got := s.Text("short"); got != "short" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{strings.Repeat("x", request.MaxStoryText+1), "x" + strings.Repeat("é", request.MaxStoryText)} {
		got := s.Text(text)
		if !strings.HasSuffix(got, "...") || !utf8.ValidString(got) || len(got) > request.MaxStoryText+3 || len(got) < request.MaxStoryText {
			t.Errorf("got %d bytes: %.20q", len(got), got)
		}
	}
	var list []string
	var annotations []request.StoryAnnotation
	for range 1000 {
		list = s.AddText(list, "text")
		annotations = s.AddAnnotation(annotations, "key", "text")
	}
	if len(list) != 100 || list[98] != "text" || list[99] != "..." || len(annotations) != 100 {
		t.Errorf("got %d texts and %d annotations, ending with %q", len(list), len(annotations), list[len(list)-1])
	}
}
