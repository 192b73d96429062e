//go:build unix

package protocol

import (
	"os/exec"
	"syscall"
)

// group is the process group that a program leads.
type group struct{}

func (group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (group) started(*exec.Cmd) {}

// kill ends every process of the group. An error means that none is left.
func (group) kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func (group) release() {}
