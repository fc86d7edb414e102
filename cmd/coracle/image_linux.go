package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart gives back the parts of the program that have been read until now: most of them are
// needed at the start only, and would count as resident for as long as the process lives, with all
// that the kernel has mapped around them. What is needed again comes from the page cache. Where
// that cannot be done, memory is all that is lost.
func forgetStart() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			continue
		}
		if strings.HasSuffix(line, " "+program+"\n") && !strings.Contains(mode, "w") { // what was written is nowhere else
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
