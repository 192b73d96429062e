package notation

import (
	"errors"
	"fmt"
	"strings"

	"kirin/rules"
)

// Formats of files with games.
const (
	FormatKIF  = "kif"
	FormatCSA  = "csa"
	FormatUSI  = "usi"
	FormatList = "list" // moves in Western notation
)

// Detect returns the format of a file, "" if it is none.
func Detect(data []byte) string {
	text, err := decode(data)
	if err != nil {
		return ""
	}
	for _, line := range splitLines(text) {
		line = strings.Trim(line, " \t　")
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "position "), strings.HasPrefix(line, "sfen "), strings.HasPrefix(line, "startpos"):
			return FormatUSI
		case strings.HasPrefix(line, "'"), strings.HasPrefix(line, "V") && digit(rune(line[len(line)-1])) >= 0,
			strings.HasPrefix(line, "N+"), strings.HasPrefix(line, "N-"), strings.HasPrefix(line, "$"),
			len(line) > 1 && line[0] == 'P' && strings.ContainsAny(line[1:2], "I123456789+-"), isCSAMove(line):
			return FormatCSA
		case strings.HasPrefix(line, "1.") && !strings.ContainsAny(line, "▲△☗☖一二三四五六七八九"):
			return FormatList
		case line[0] == '#', line[0] == '*', line[0] == '&', line[0] == '|', startsMove(line), strings.ContainsAny(line, "：:＋"),
			strings.HasPrefix(line, "手数"), strings.HasPrefix(line, "まで"), strings.HasPrefix(line, "+-"):
			return FormatKIF
		}
		return ""
	}
	return ""
}

func isCSAMove(line string) bool {
	return len(line) >= 7 && (line[0] == '+' || line[0] == '-') && csaLetters[line[5:7]] != "" && csaSquare(line[3:5]) >= 0
}

// Read reads a game in any of the formats. v is the game with its rules, or nil to take both from the file; a list of moves in
// Western notation does not say its game. Of several USI lines the first counts.
func Read(data []byte, v *rules.Variant) (*Game, error) {
	switch Detect(data) {
	case FormatKIF:
		return ReadKIF(data, v)
	case FormatCSA:
		return ReadCSA(data, v)
	case FormatUSI:
		text, _ := decode(data)
		for i, line := range splitLines(text) {
			if line = strings.TrimSpace(line); line != "" {
				return readUSI(line, v, i+1)
			}
		}
	case FormatList:
		if v == nil {
			return nil, errors.New("a list of moves does not say which game it is; name the game")
		}
		text, _ := decode(data)
		return ReadMoveList(v, "", text)
	}
	return nil, fmt.Errorf("this is neither KIF nor CSA nor a USI game line nor a list of moves")
}
