package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kirin/dataset"
	"kirin/network/encode"
	"kirin/selfplay/fleet"
)

// freePort is a port of this machine whose successor is likely free too.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1)); err == nil {
			next.Close()
			return port
		}
	}
}

// process is kirin in a process of its own, perhaps on another "machine".
type process struct {
	*exec.Cmd
	errs *bytes.Buffer
	done chan error
}

func spawn(t *testing.T, namespace string, args ...string) *process {
	t.Helper()
	return spawnFrom(t, "", namespace, args...)
}

// spawnFrom starts another file than the test's own when binary names one.
func spawnFrom(t *testing.T, binary, namespace string, args ...string) *process {
	t.Helper()
	c, errs := program(t, args...)
	if binary != "" {
		c.Path = binary
	}
	if namespace != "" {
		c.Args = append([]string{"ip", "netns", "exec", namespace, c.Path}, c.Args[1:]...)
		path, err := exec.LookPath("ip")
		if err != nil {
			t.Fatal(err)
		}
		c.Path = path
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{c, errs, make(chan error, 1)}
	go func() { p.done <- c.Wait() }()
	t.Cleanup(func() { c.Process.Kill() })
	return p
}

func (p *process) kill() {
	p.Process.Kill()
	<-p.done
}

func (p *process) interrupt(t *testing.T) {
	t.Helper()
	p.Process.Signal(os.Interrupt)
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("%v: %v\n%s", p.Args, err, p.errs)
		}
	case <-time.After(time.Minute):
		p.kill()
		t.Errorf("%v does not end\n%s", p.Args, p.errs)
	}
}

// fleetStatus is what the trainer wrote last.
func fleetStatus(t *testing.T, dir string) *fleet.Status {
	t.Helper()
	s, err := fleet.ReadStatus(filepath.Join(dir, "fleet"))
	if errors.Is(err, fs.ErrNotExist) {
		return &fleet.Status{}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func waitUntil(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !f(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// indexOfRun lists the games of a run.
func indexOfRun(t *testing.T, dir string) []dataset.Entry {
	t.Helper()
	store, err := dataset.OpenStore(filepath.Join(dir, "games"), dataset.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.Index()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// uniqueGames counts the games of a run, and fails when one is there twice.
func uniqueGames(t *testing.T, dir string) int {
	t.Helper()
	seen := map[dataset.ID]bool{}
	for _, e := range indexOfRun(t, dir) {
		if seen[e.ID] {
			t.Errorf("game %v is stored twice", e.ID)
		}
		seen[e.ID] = true
	}
	return len(seen)
}

// twoHosts makes two hosts beside this one: namespaces joined by a bridge. Where
// that is not allowed there is this host alone and no network to cut, unless
// KIRIN_REQUIRE=all says that everything must be tested.
func twoHosts(t *testing.T) (address string, hosts [2]string, cut func(host int, up bool)) {
	t.Helper()
	ip := func(args string) error { return exec.Command("ip", strings.Fields(args)...).Run() }
	id := os.Getpid() % 10000
	bridge := fmt.Sprintf("kb%d", id)
	subnet := fmt.Sprintf("10.%d.%d", 64+id/256, id%256)
	if err := ip("link add " + bridge + " type bridge"); err != nil {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatalf("ip cannot make a network between namespaces, and KIRIN_REQUIRE=all asks for it: %v", err)
		}
		return "127.0.0.1", hosts, nil
	}
	t.Cleanup(func() { ip("link del " + bridge) })
	must := func(args string) {
		t.Helper()
		if err := ip(args); err != nil {
			t.Fatalf("ip %s: %v", args, err)
		}
	}
	must("addr add " + subnet + ".1/24 dev " + bridge)
	must("link set " + bridge + " up")
	for i := range hosts {
		hosts[i] = fmt.Sprintf("kn%d%c", id, 'a'+i)
		outer, inner := fmt.Sprintf("kv%d%c", id, 'a'+i), fmt.Sprintf("ki%d%c", id, 'a'+i)
		must("netns add " + hosts[i])
		t.Cleanup(func() { ip("netns del " + hosts[i]) })
		must("link add " + outer + " type veth peer name " + inner)
		must("link set " + inner + " netns " + hosts[i])
		must("link set " + outer + " master " + bridge + " up")
		must(fmt.Sprintf("-n %s addr add %s.%d/24 dev %s", hosts[i], subnet, i+2, inner))
		must("-n " + hosts[i] + " link set " + inner + " up")
		must("-n " + hosts[i] + " link set lo up")
	}
	return subnet + ".1", hosts, func(host int, up bool) {
		state := map[bool]string{true: "up", false: "down"}[up]
		must(fmt.Sprintf("link set kv%d%c %s", id, 'a'+host, state))
	}
}

func TestAFleetGoesOnAfterKillsAndACutNetwork(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	address, hosts, cut := twoHosts(t)
	port := freePort(t)
	url := fmt.Sprintf("nats://%s:%d", address, port)
	learn := tiny(run, "--listen", fmt.Sprintf("%s:%d", address, port), "--open", "--set", "data.seal_after=1s", "--set", "loop.samples_per_position=0.5")
	learn[0] = "learn"
	join := func(host int) *process {
		return spawn(t, hosts[host], "selfplay", "--join", url, "--name", fmt.Sprintf("w%d", host), "--dir", filepath.Join(dir, fmt.Sprintf("w%d", host)), "--workers", "1")
	}
	trainer := spawn(t, "", learn...)
	workers := [2]*process{join(0), join(1)}
	progress := func(what string) {
		t.Helper()
		before := fleetStatus(t, run).State
		waitUntil(t, what+": training goes on", func() bool {
			s := fleetStatus(t, run).State
			return s.Step > before.Step && s.Played > before.Played
		})
		waitUntil(t, what+": both workers are heard", func() bool {
			alive := 0
			for _, w := range fleetStatus(t, run).Workers {
				if time.Since(w.Seen) < 30*time.Second {
					alive++
				}
			}
			return alive == 2
		})
	}
	progress("at first")
	workers[0].kill()
	workers[0] = join(0)
	progress("a worker was killed")
	if cut != nil {
		cut(1, false)
		time.Sleep(4 * time.Second)
		cut(1, true)
		progress("a network was cut")
	}
	trainer.kill()
	learn = []string{"learn", "--dir", run, "--listen", fmt.Sprintf("%s:%d", address, port), "--open"}
	time.Sleep(time.Second)
	trainer = spawn(t, "", learn...)
	progress("the trainer was killed")
	for _, w := range workers {
		w.interrupt(t)
	}
	trainer.interrupt(t)
	if n := uniqueGames(t, run); n == 0 {
		t.Error("no games")
	}
	for i := range workers {
		if left, _ := os.ReadDir(filepath.Join(dir, fmt.Sprintf("w%d", i), "outbox")); len(left) > 0 {
			t.Errorf("worker %d has kept %v", i, left)
		}
	}
	if rep, err := checkRun(run, true); err != nil || len(rep.Faults) > 0 {
		t.Errorf("%v %q", err, rep.Faults)
	}
}

func TestInvitationsAreMadeListedAndRevoked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--games", "1", "--set", "loop.first_positions=1000000")...)
	out := filepath.Join(t.TempDir(), "desk.kirin")
	mustRun(t, "fleet", "invite", "--dir", dir, "--url", "nats://desk:5475", "--out", out, "desk")
	inv, err := fleet.ReadInvitation(out)
	if err != nil || inv.Name != "desk" || inv.URL != "nats://desk:5475" || inv.Web != "https://desk:5476" {
		t.Errorf("%+v, %v", inv, err)
	}
	if info, err := os.Stat(out); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the invitation can be read by others: %v %v", info.Mode(), err)
	}
	mustRun(t, "fleet", "revoke", "--dir", dir, "desk")
	var keys []fleet.Key
	if err := json.Unmarshal([]byte(mustRun(t, "fleet", "list", "--dir", dir, "--json")), &keys); err != nil || len(keys) != 1 || !keys[0].Revoked {
		t.Errorf("%+v, %v", keys, err)
	}
}

func TestAnInvitationThatCannotBeWrittenTakesNoName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	mustRun(t, tiny(dir, "--games", "1", "--set", "loop.first_positions=1000000")...)
	out := filepath.Join(t.TempDir(), "none", "x.kirin")
	args := []string{"fleet", "invite", "--dir", dir, "--url", "nats://desk:5475", "--out", out, "x"}
	if status, _, errs := kirin(t, args...); status != 1 || !strings.Contains(errs, "--out: open "+out) {
		t.Errorf("exit status %d\n%s", status, errs)
	}
	if err := os.Mkdir(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	mustRun(t, args...)
	if status, _, errs := kirin(t, "fleet", "invite", "--dir", dir, "--url", "nats://desk:5475", "--out", out+"2", "x"); status != 1 || !strings.Contains(errs, "x is invited already") {
		t.Errorf("again: exit status %d\n%s", status, errs)
	}
	if _, err := os.Stat(out + "2"); !os.IsNotExist(err) {
		t.Errorf("a file without an invitation stays behind: %v", err)
	}
}

func TestFleetArgumentsThatAreWrongGetOneSentence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	none, worker := filepath.Join(t.TempDir(), "none"), t.TempDir()
	mustRun(t, tiny(dir, "--games", "1", "--set", "loop.first_positions=1000000")...)
	for args, want := range map[string]string{
		"learn --http 127.0.0.1:0 --dir " + dir:                                                    "need --listen or --nats",
		"learn --listen 127.0.0.1:0 --nats nats://x:1 --dir " + dir:                                "either --listen",
		"learn --listen nowhere --dir " + dir:                                                      "HOST:PORT",
		"learn --listen 0.0.0.0:0 --dir " + dir:                                                    "would let in everyone",
		"learn --listen 127.0.0.1:0 --http 0.0.0.0:0 --dir " + dir:                                 "--http 0.0.0.0:0 would let in everyone",
		"learn --nats nats://127.0.0.1:1 --dir " + none:                                            "add --http",
		"learn --nats nats://127.0.0.1:1 --http nowhere --dir " + none:                             "--http: \"nowhere\" is not HOST:PORT",
		"train --listen 127.0.0.1:0 --http x:99999 --dir " + none:                                  "--http: \"x:99999\" is not HOST:PORT",
		"learn --listen 127.0.0.1:0 --advertise desk:80 --dir " + none:                             "--advertise: \"desk:80\" is not a URL",
		"learn --listen 127.0.0.1:0 --queue a.b --dir " + none:                                     "--queue",
		"selfplay --join nowhere":                                                                  "neither a URL",
		"selfplay --join nats://127.0.0.1:1 --name A_B":                                            "--name",
		"selfplay --join nats://127.0.0.1:1 --name a --for 1s --dir " + dir:                        "a folder of its own",
		"selfplay --join nats://127.0.0.1:1 --web nowhere --dir " + worker:                         "--web nowhere",
		"fleet revoke --dir " + dir + " nobody":                                                    "there is no key of nobody",
		"fleet invite --dir " + dir + " --url http://x x":                                          "nats://HOST:PORT",
		"fleet invite --dir " + dir + " --url nats://x:1 --out " + filepath.Join(none, "x") + " x": "--out: open ",
		"fleet invite --dir " + dir + " --url nats://x:1 --out " + dir + " x":                      "exists",
		"fleet status --dir " + dir:                                                                "has not been open to workers",
		"bench fleet --dir " + dir + " --workers 0":                                                "--workers",
	} {
		if status, _, errs := kirin(t, strings.Fields(args)...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("kirin %s: %q, want %q", args, errs, want)
		}
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("wrong arguments have made a run: %v", err)
	}
}

func TestTheEmbeddedQueueStartsFast(t *testing.T) {
	best := time.Hour
	for range 3 {
		start := time.Now()
		s, err := fleet.StartServer(fleet.ServerConfig{Address: "127.0.0.1:0", Dir: t.TempDir(), Names: fleet.Names{Queue: "kirin"}})
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if best > 100*time.Millisecond {
		t.Errorf("it takes %v", best)
	}
}

func TestAnHonestGameIsVerifiedAndAnAlteredOneIsNot(t *testing.T) {
	dir := trained(t)
	r, err := openRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		t.Fatal(err)
	}
	games, err := store.Newest(3)
	if err != nil || len(games) == 0 {
		t.Fatal(err)
	}
	p, err := r.latest()
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.readNet(p)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := encode.New(r.variant)
	if err != nil {
		t.Fatal(err)
	}
	if err := fits(w, r.variant, enc); err != nil {
		t.Fatal(err)
	}
	v := &verifier{run: r, enc: enc, codec: store.Codec()}
	for _, g := range games {
		found, err := v.verify(context.Background(), g)
		if err != nil || !found.Same && !found.Impossible {
			t.Errorf("%+v, %v", found, err)
		}
		if found.Impossible {
			continue
		}
		altered := *g
		altered.Plies = append([]dataset.Ply(nil), g.Plies...)
		altered.Plies[len(altered.Plies)/2].Visits++
		if found, err := v.verify(context.Background(), &altered); err != nil || found.Same || found.Impossible {
			t.Errorf("an altered game: %+v, %v", found, err)
		}
	}
}

func TestWorkersAreToldAnAddressThatOthersCanReach(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"127.0.0.1:5475", "", "127.0.0.1:5475"},
		{"desk.lan:5475", "", "desk.lan:5475"},
		{"0.0.0.0:5475", "", name + ":5475"},
		{"[::]:5475", "", name + ":5475"},
		{"0.0.0.0:5475", "http://desk.lan:80", "desk.lan:5475"},
	} {
		if got := (&hostFlags{advertise: c[1]}).reachable(c[0]); got != c[2] {
			t.Errorf("%s, --advertise %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
