package protocol

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain turns the test binary into a badly behaved engine when it is started as "BINARY fake-engine BEHAVIOUR ...".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "fake-engine" {
		fakeEngine(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeCommand is the command line of a fake engine.
func fakeCommand(behaviour ...string) string {
	return fmt.Sprintf("%q fake-engine %s", os.Args[0], strings.Join(behaviour, " "))
}

func fakeEngine(behaviour string, args []string) {
	switch behaviour {
	case "sleeper":
		time.Sleep(time.Minute)
		return
	case "mute":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0) // reads all, says nothing
		return
	case "flood":
		for noise := strings.Repeat("x", 1<<16); ; {
			fmt.Print(noise)
		}
	case "noise":
		rng := rand.New(rand.NewPCG(1, 2))
		for range 1 << 20 {
			os.Stdout.Write([]byte{byte(rng.UintN(256))})
		}
		fmt.Println()
	}
	in := bufio.NewScanner(os.Stdin)
	if strings.HasPrefix(behaviour, "cecp") {
		fakeCECP(in, behaviour)
		return
	}
	if behaviour == "gnu" {
		fakeGNU(in)
		return
	}
	for in.Scan() {
		line := in.Text()
		switch word, _, _ := strings.Cut(line, " "); word {
		case "usi":
			fmt.Println("id name Fake")
			fmt.Println("option name USI_Variant type combo default minishogi var minishogi var shogi")
			fmt.Println("option name Level type spin default 1 min 1 max 5")
			fmt.Println("usiok")
			if behaviour == "deaf" {
				time.Sleep(time.Minute)
			}
		case "isready":
			fmt.Println("readyok")
		case "go":
			fakeGo(behaviour, args)
		case "stop":
			if behaviour == "slow" {
				fmt.Println("bestmove 3e3d")
			}
		case "quit":
			if behaviour != "stubborn" {
				return
			}
		}
	}
	if behaviour == "stubborn" {
		time.Sleep(time.Minute)
	}
}

// fakeCECP plays one move of minishogi and claims a draw before it, after it, or instead of it.
func fakeCECP(in *bufio.Scanner, behaviour string) {
	moves := []string{"c1c2", "b1b2"}
	for in.Scan() {
		word, rest, _ := strings.Cut(in.Text(), " ")
		switch word {
		case "protover":
			fmt.Println(`feature myname="Fake" ping=1 setboard=1 usermove=1 variants="minishogi" done=1`)
		case "ping":
			fmt.Println("pong " + rest)
		case "go":
			if behaviour != "cecp-claims-after" && behaviour != "cecp-refuses" {
				fmt.Println("1/2-1/2 {repetition}")
			}
			if behaviour == "cecp-claims-only" {
				continue
			}
			fmt.Println("move " + moves[0])
			moves = moves[1:]
			if behaviour == "cecp-claims-after" {
				fmt.Println("1/2-1/2 {repetition}")
			}
		case "usermove":
			if behaviour == "cecp-refuses" && rest == refused {
				fmt.Println("Illegal move: " + rest)
			}
		case "quit":
			return
		}
	}
}

// refused is what the fake engines refuse, in CECP.
const refused = "c5c4"

// fakeGNU echoes moves as GNU shogi does, but for the refused one.
func fakeGNU(in *bufio.Scanner) {
	fmt.Println("Fake GNU")
	for n := 2; in.Scan(); {
		switch line := in.Text(); line {
		case "new", "force", "depth":
		case "3a3b":
			fmt.Println("Illegal move (no matching move)" + line)
		case "go":
			fmt.Println("2. ... 3e3d 300000")
		case "quit":
			return
		default:
			if len(line) == 4 {
				fmt.Printf("%d. %s 300000\n", n, line)
				n++
			}
		}
	}
}

func fakeGo(behaviour string, args []string) {
	switch behaviour {
	case "hang":
		time.Sleep(time.Minute)
	case "slow": // waits for stop
	case "die":
		fmt.Fprintln(os.Stderr, "assertion failed")
		os.Exit(3)
	case "die-once":
		if _, err := os.Stat(args[0]); err != nil {
			_ = os.WriteFile(args[0], nil, 0o600)
			os.Exit(3)
		}
		fmt.Println("bestmove 3e3d")
	case "illegal":
		fmt.Println("bestmove 3e3a")
	case "none":
		fmt.Println("bestmove (none)")
	case "win":
		fmt.Println("bestmove win")
	case "nonsense":
		fmt.Println("bestmove")
	case "children":
		child := exec.Command(os.Args[0], "fake-engine", "sleeper")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		fmt.Printf("info depth 1 nodes %d score cp 0 pv 3e3d\n", child.Process.Pid)
		fmt.Println("bestmove 3e3d")
	default:
		fmt.Println("info depth 3 seldepth 4 score cp 25 nodes 100 time 3 pv 3e3d 3a3b")
		fmt.Println("info depth 4 multipv 2 score cp -99 nodes 140 pv 2e2d")
		fmt.Println("bestmove 3e3d ponder 3a3b")
	}
}
