package suite

import (
	"errors"
	"fmt"
	"strings"
)

// word is a word of a line: a text, or an operator.
type word struct {
	text     string
	plain    int  // number of bytes at the beginning of text that were written without quotes
	operator bool // text is < or =>
}

// Operators.
const (
	opInput  = "<"
	opExpect = "=>"
)

// Errors of words.
var (
	errQuote  = errors.New("a quote is not closed")
	errEscape = errors.New(`the line ends with \`)
)

// shellOnly are characters that have a meaning in a shell but not here. They are rejected
// unless quoted, so that no line means something else than in a shell.
const shellOnly = "$`|&;()>*?"

// splitWords splits a line into words as a shell does, at blanks outside quotes. Single
// quotes keep everything unchanged. In double quotes, \ escapes ", \, $ and `; outside
// quotes, it escapes any character. A # at the beginning of a word starts a comment.
func splitWords(line string) (words []word, err error) {
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		if op := operatorAt(line); op != "" {
			words = append(words, word{text: op, operator: true})
			line = line[len(op):]
			continue
		}
		w, rest, err := firstWord(line)
		if err != nil {
			return nil, err
		}
		words = append(words, w)
		line = rest
	}
}

// operatorAt returns the operator at the beginning of a line, or "". The arrow must be
// surrounded by blanks; < needs none after it.
func operatorAt(line string) string {
	if line[0] == '<' {
		return opInput
	}
	if rest, ok := strings.CutPrefix(line, opExpect); ok && (rest == "" || strings.ContainsRune(" \t", rune(rest[0]))) {
		return opExpect
	}
	return ""
}

// firstWord reads the word at the beginning of a line.
func firstWord(line string) (w word, rest string, err error) {
	var text strings.Builder
	plain, quoted := 0, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'':
			quoted = true
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return w, "", errQuote
			}
			text.WriteString(line[i+1 : i+1+end])
			i += 1 + end
		case c == '"':
			quoted = true
			n, err := doubleQuoted(&text, line[i+1:])
			if err != nil {
				return w, "", err
			}
			i += n
		case c == '\\':
			quoted = true
			if i++; i == len(line) {
				return w, "", errEscape
			}
			text.WriteByte(line[i])
		case strings.IndexByte(" \t<", c) >= 0:
			return word{text: text.String(), plain: plain}, line[i:], nil
		case strings.IndexByte(shellOnly, c) >= 0:
			return w, "", fmt.Errorf("%c means something to a shell, which does not run this list: quote it", c)
		default:
			text.WriteByte(c)
			if !quoted {
				plain++
			}
		}
	}
	return word{text: text.String(), plain: plain}, "", nil
}

// doubleQuoted reads up to the closing double quote. It returns the number of bytes read,
// including the quote.
func doubleQuoted(text *strings.Builder, line string) (n int, err error) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			return i + 1, nil
		case '\\':
			if i++; i == len(line) {
				return 0, errQuote
			}
			if strings.IndexByte("\"\\$`", line[i]) < 0 {
				text.WriteByte('\\')
			}
			text.WriteByte(line[i])
		case '$', '`':
			return 0, fmt.Errorf("%c means something to a shell, which does not run this list: use single quotes", c)
		default:
			text.WriteByte(c)
		}
	}
	return 0, errQuote
}
