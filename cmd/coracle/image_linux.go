package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart lets the kernel drop the pages of the program file that have been read so far. Most
// of them hold code and data that only the start needs. They would count as resident memory until
// the process ends, together with the pages around them that the kernel has mapped in advance. A
// page that is needed again is mapped from the page cache. Errors are ignored: the pages then stay.
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
		// Pages that can be written may differ from the file, so dropping them would lose data.
		if strings.HasSuffix(line, " "+program+"\n") && !strings.Contains(mode, "w") {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
