package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// millis is a time in milliseconds as clients send it.
type millis int64

func (m millis) duration() time.Duration { return time.Duration(m) * time.Millisecond }

// set changes an option by its name, which is read without regard to case. No search may be running.
func (s *session) set(name, value string) error {
	spin := func(to *int, low, high int) error {
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < low || n > high {
			return fmt.Errorf("option %s: %q is not a number in %d..%d", name, value, low, high)
		}
		*to = n
		return nil
	}
	check := func(to *bool) error {
		switch strings.ToLower(value) {
		case "true", "1":
			*to = true
		case "false", "0":
			*to = false
		default:
			return fmt.Errorf("option %s: %q is not true or false", name, value)
		}
		return nil
	}
	switch strings.ToLower(name) {
	case "usi_variant", "uci_variant":
		if !slices.Contains(rules.Names(), value) {
			return fmt.Errorf("option %s: %q is not one of %s", name, value, strings.Join(rules.Names(), ", "))
		}
		return s.setVariant(value)
	case "rules":
		return s.setRules(value)
	case "net":
		if value == "<empty>" {
			value = ""
		}
		if value != s.netName {
			s.netName, s.thinker = value, nil
		}
		return nil
	case "usi_hash", "hash":
		return spin(&s.o.HashMB, minHashMB, maxHashMB)
	case "usi_ponder", "ponder":
		return check(&s.o.Ponder)
	case "threads":
		return spin(&s.o.Threads, 1, maxThreads)
	case "multipv":
		return spin(&s.o.MultiPV, 1, maxMultiPV)
	case "level":
		if _, err := protocol.ParseLevel(value); err != nil {
			return err
		}
		s.o.Level = value
		return nil
	case "moveoverhead":
		ms := 0
		if err := spin(&ms, 0, maxOverhead); err != nil {
			return err
		}
		s.o.MoveOverhead = millis(ms).duration()
		return nil
	case "resignbelow":
		return spin(&s.o.ResignBelow, 0, 49)
	case "openingtemperature":
		return spin(&s.o.OpeningTemperature, 0, maxOpening)
	case "matenodes":
		return spin(&s.o.MateNodes, 0, maxMate)
	case "leafmatenodes":
		return spin(&s.o.LeafMateNodes, 0, maxLeafMate)
	case "showwdl":
		return check(&s.o.ShowWDL)
	}
	return fmt.Errorf("option %q is unknown", name)
}
