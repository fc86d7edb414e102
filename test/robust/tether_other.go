//go:build !linux

package robust

import "os/exec"

// tether does nothing here, because only Linux can kill a program when this process ends.
func tether(*exec.Cmd) {}
