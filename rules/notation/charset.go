package notation

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"
)

var utf8Mark = []byte("\ufeff")

// decode returns the text of a file in UTF-8, with or without byte order mark, or else in Shift-JIS.
func decode(data []byte) (string, error) {
	data = bytes.TrimPrefix(data, utf8Mark)
	if utf8.Valid(data) {
		return string(data), nil
	}
	out, err := japanese.ShiftJIS.NewDecoder().Bytes(data)
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return "", errors.New("the file is neither UTF-8 nor Shift-JIS text")
	}
	return string(out), nil
}

// substitutes are written for characters that Shift-JIS lacks.
var substitutes = strings.NewReplacer("鵰", "鷲")

// encodeShiftJIS returns text in Shift-JIS, with ? for what it lacks.
func encodeShiftJIS(text string) []byte {
	text = substitutes.Replace(text)
	enc := japanese.ShiftJIS.NewEncoder()
	out, err := enc.Bytes([]byte(text))
	if err == nil {
		return out
	}
	out = out[:0]
	for _, r := range text {
		enc.Reset()
		b, err := enc.Bytes([]byte(string(r)))
		if err != nil {
			b = []byte("?")
		}
		out = append(out, b...)
	}
	return out
}

// splitLines divides a text at \n, \r\n or \r.
func splitLines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
}

// oneLine replaces everything that would break a line, and trims the text.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s))
}

// commentLines divides a comment into lines that are safe to write.
func commentLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := splitLines(s)
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return lines
}
