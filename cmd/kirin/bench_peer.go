package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peerLimit ends a peer that stalls.
const peerLimit = 2 * time.Minute

// perftPeer finds Fairy-Stockfish for the games its package knows.
func perftPeer(game string) string {
	if game != "shogi" && game != "minishogi" {
		return ""
	}
	if path, err := exec.LookPath("fairy-stockfish"); err == nil {
		return path
	}
	const games = "/usr/games/fairy-stockfish" // Debian's folder, often not on the path
	if _, err := os.Stat(games); err == nil {
		return games
	}
	return ""
}

// peerPerft lets Fairy-Stockfish count, and gives its nodes per CPU-second, its
// start included.
func peerPerft(ctx context.Context, path, game string, depth int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	c := exec.CommandContext(ctx, path)
	c.Stdin = strings.NewReader(fmt.Sprintf("usi\nsetoption name UCI_Variant value %s\nposition startpos\ngo perft %d\nquit\n", game, depth))
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "Nodes searched: "); ok {
			nodes, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %q is not a count", path, text)
			}
			cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			return nodes / max(cpu.Seconds(), 1e-9), nil
		}
	}
	return 0, fmt.Errorf("%s answers no count to go perft %d", path, depth)
}
