//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestForgetStart checks that pages of the program's file leave memory after forgetStart.
func TestForgetStart(t *testing.T) {
	before := resident(t)
	forgetStart()
	if after := resident(t); after > before/2 {
		t.Errorf("%d KiB of the program are resident, before %d", after, before)
	}
}

// resident returns how much memory of mapped files is resident, in KiB.
func resident(t *testing.T) (kib int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "\nRssFile:")
	if _, err := fmt.Sscan(line, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}
