package notation

import (
	"strings"
	"unicode/utf8"

	"kirin/rules"
)

// cursor reads a text from left to right.
type cursor struct{ rest string }

func (c *cursor) peek() rune {
	r, _ := utf8.DecodeRuneInString(c.rest)
	return r
}

// space skips blanks, the full-width one included.
func (c *cursor) space() { c.rest = strings.TrimLeft(c.rest, " \t　") }

// eat skips the first of the given texts that stands next, and returns it.
func (c *cursor) eat(texts ...string) string {
	for _, t := range texts {
		if strings.HasPrefix(c.rest, t) {
			c.rest = c.rest[len(t):]
			return t
		}
	}
	return ""
}

// digits reads a run of at most n decimal digits, full-width or not; -1 if there is none.
func (c *cursor) digits(n int) (value, count int) {
	for count < n {
		r, size := utf8.DecodeRuneInString(c.rest)
		d := digit(r)
		if d < 0 {
			break
		}
		value = 10*value + d
		count++
		c.rest = c.rest[size:]
	}
	if count == 0 {
		return -1, 0
	}
	return value, count
}

func digit(r rune) int {
	switch {
	case r >= '0' && r <= '9':
		return int(r - '0')
	case r >= '０' && r <= '９':
		return int(r - '０')
	}
	return -1
}

var kanjiDigits = []rune("〇一二三四五六七八九")

// kanjiNumber reads a number from 1 to 99 in kanji; 0 if there is none.
func (c *cursor) kanjiNumber() int {
	n, seen := 0, false
	tens := false
	for {
		r, size := utf8.DecodeRuneInString(c.rest)
		d := 0
		for i, k := range kanjiDigits {
			if k == r && i > 0 {
				d = i
			}
		}
		switch {
		case r == '十' && !tens:
			n = max(n, 1) * 10
			tens, seen = true, false
		case d > 0 && !seen:
			n += d
			seen = true
		default:
			return n
		}
		c.rest = c.rest[size:]
	}
}

// kanjiNumeral writes a number from 1 to 99 in kanji.
func kanjiNumeral(n int) string {
	s := ""
	if n >= 20 {
		s = string(kanjiDigits[n/10])
	}
	if n >= 10 {
		s += "十"
	}
	if n%10 > 0 {
		s += string(kanjiDigits[n%10])
	}
	return s
}

// square reads a square: the file in digits, the rank as kanji, letter, or on boards of at most 9 files and ranks a digit.
func (c *cursor) square(v *rules.Variant) (rules.Square, bool) {
	start := c.rest
	file, count := c.digits(2)
	rank := 0
	if count > 0 {
		rank = c.kanjiNumber()
		if r := c.peek(); rank == 0 && r >= 'a' && int(r-'a') < v.Height() {
			rank = int(r-'a') + 1
			c.rest = c.rest[1:]
		}
		if rank == 0 && count == 2 {
			file, rank = file/10, file%10
		}
	}
	if file < 1 || file > v.Width() || rank < 1 || rank > v.Height() {
		c.rest = start
		return rules.NoSquare, false
	}
	return rules.Square((rank-1)*v.Width() + v.Width() - file), true
}

// word reads the longest of the words that stands next.
func (c *cursor) word(words []word) *word {
	for i := range words {
		if strings.HasPrefix(c.rest, words[i].text) {
			c.rest = c.rest[len(words[i].text):]
			return &words[i]
		}
	}
	return nil
}

// fileRank returns the numbers of a square's file and rank, both from 1.
func fileRank(v *rules.Variant, sq rules.Square) (file, rank int) {
	w := v.Width()
	return w - int(sq)%w, int(sq)/w + 1
}

// fullWidth writes a number in full-width digits.
func fullWidth(n int) string {
	s := ""
	if n >= 10 {
		s = fullWidth(n / 10)
	}
	return s + string(rune('０'+n%10))
}
