package main

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// skewed is a copy of the test's own file in which the clock is wrong: the code
// of time.now, from which every time.Now comes, is replaced by code that adds
// an offset. The monotonic clock stays, as with a machine whose clock is wrong.
func skewed(t *testing.T, by time.Duration) (file string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	at, size := timeNow(t, self)
	code := []byte{
		0x48, 0x83, 0xec, 0x28, // sub rsp, 40
		0x31, 0xff, // xor edi, edi: the wall clock
		0x48, 0x8d, 0x74, 0x24, 0x10, // lea rsi, [rsp+16]
		0xb8, 0xe4, 0, 0, 0, 0x0f, 0x05, // mov eax, clock_gettime; syscall
		0xbf, 1, 0, 0, 0, // mov edi, 1: the monotonic clock
		0x48, 0x8d, 0x34, 0x24, // lea rsi, [rsp]
		0xb8, 0xe4, 0, 0, 0, 0x0f, 0x05, // mov eax, clock_gettime; syscall
		0x48, 0x8b, 0x44, 0x24, 0x10, // mov rax, [rsp+16]: seconds
		0x48, 0x05, // add rax, the offset
	}
	code = binary.LittleEndian.AppendUint32(code, uint32(int32(by/time.Second)))
	code = append(code,
		0x48, 0x8b, 0x5c, 0x24, 0x18, // mov rbx, [rsp+24]: nanoseconds
		0x48, 0x8b, 0x0c, 0x24, // mov rcx, [rsp]
		0x48, 0x69, 0xc9, 0x00, 0xca, 0x9a, 0x3b, // imul rcx, rcx, 1e9
		0x48, 0x03, 0x4c, 0x24, 0x08, // add rcx, [rsp+8]: the monotonic clock in nanoseconds
		0x48, 0x83, 0xc4, 0x28, // add rsp, 40
		0xc3, // ret
	)
	if len(code) > size {
		t.Fatalf("time.now has %d bytes only", size)
	}
	copy(image[at:], code)
	file = filepath.Join(t.TempDir(), "kirin")
	if err := os.WriteFile(file, image, 0o755); err != nil {
		t.Fatal(err)
	}
	c, errs := program(t, printTime)
	c.Path = file
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if got := time.Until(time.Unix(seconds, 0)); err != nil || math.Abs((got-by).Minutes()) > 5 {
		t.Fatalf("the clock is wrong by %v, want %v (%v)", got, by, err)
	}
	return file
}

// timeNow finds the code of time.now in a program's file.
func timeNow(t *testing.T, path string) (offset, size int) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, lines := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || lines == nil {
		t.Fatal("no .text or .gopclntab")
	}
	data, err := lines.Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		t.Fatal(err)
	}
	now := table.LookupFunc("time.now")
	if now == nil || now.Entry < text.Addr || now.End > text.Addr+text.Size {
		t.Fatalf("no time.now: %+v", now)
	}
	return int(now.Entry - text.Addr + text.Offset), int(now.End - now.Entry)
}

func TestClocksThatAreWrongByAnHourDoNotMatter(t *testing.T) {
	early, late := skewed(t, -time.Hour), skewed(t, time.Hour)
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	mustRun(t, tiny(run, "--games", "1", "--set", "data.seal_after=1s", "--set", "loop.samples_per_position=4")...)
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	names := []string{"right", "early", "late"}
	binaries := []string{"", early, late}
	var workers []*process
	for _, name := range names {
		mustRun(t, "fleet", "invite", "--dir", run, "--url", "nats://"+address, "--out", filepath.Join(dir, name+".kirin"), name)
	}
	trainer := spawn(t, "", "learn", "--dir", run, "--listen", address)
	for i, name := range names {
		workers = append(workers, spawnFrom(t, binaries[i], "", "selfplay", "--join", filepath.Join(dir, name+".kirin"), "--dir", filepath.Join(dir, name), "--workers", "1"))
	}
	progress := func(what string, wrong time.Duration) {
		t.Helper()
		before := fleetStatus(t, run).State
		waitUntil(t, what+": training goes on with games of all workers", func() bool {
			s := fleetStatus(t, run)
			mine := time.Until(s.Time) // the file is of this trainer
			if s.State.Step <= before.Step || math.Abs((mine-wrong).Minutes()) > 5 || len(s.Workers) < len(names) {
				return false
			}
			for _, w := range s.Workers {
				if w.Games == 0 {
					return false
				}
			}
			return true
		})
	}
	progress("wrong workers", 0)
	trainer.kill()
	trainer = spawnFrom(t, early, "", "learn", "--dir", run, "--listen", address)
	progress("a trainer that goes back an hour", -time.Hour)
	for _, w := range workers {
		w.interrupt(t)
	}
	trainer.interrupt(t)
	uniqueGames(t, run)
	for _, name := range names {
		if left, _ := os.ReadDir(filepath.Join(dir, name, "outbox")); len(left) > 0 {
			t.Errorf("worker %s has kept %v", name, left)
		}
	}
	if rep, err := checkRun(run, true); err != nil || len(rep.Faults) > 0 {
		t.Errorf("%v %q", err, rep.Faults)
	}
}
