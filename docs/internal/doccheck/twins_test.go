package doccheck

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	goComment  = regexp.MustCompile(`(?m)(^|[ \t])//.*$`)
	sqlComment = regexp.MustCompile(`(?m)(^|[ \t])(--|#) .*$`)
	chartWords = regexp.MustCompile(`"[^"]*"`)
	blanks     = regexp.MustCompile(`[ \t]+`)
)

// bare is a block without its comments and the words of its pictures, which are translated.
func bare(b block) string {
	text := b.text
	switch b.lang {
	case "mermaid":
		text = chartWords.ReplaceAllString(text, `""`)
	case "go":
		text = goComment.ReplaceAllString(text, "")
	default:
		text = sqlComment.ReplaceAllString(text, "")
	}
	return strings.TrimSpace(blanks.ReplaceAllString(text, " "))
}

// TestTwins: a Russian page has its English page's headings, code blocks and rows of tables.
func TestTwins(t *testing.T) {
	byName := map[string]*page{}
	for _, p := range pages(t) {
		byName[p.name] = p
	}
	twins := 0
	for name, ru := range byName {
		if path.Dir(name) != "docs/ru" {
			continue
		}
		en := byName["docs/"+path.Base(name)]
		if en == nil {
			t.Errorf("%s has no English page", name)
			continue
		}
		twins++
		if name == "docs/ru/README.md" {
			continue // the index has fewer pages to list
		}
		if len(ru.headings) != len(en.headings) {
			t.Errorf("%s has %d headings, %s has %d", name, len(ru.headings), en.name, len(en.headings))
		} else {
			for i := range ru.headings {
				if ru.headings[i].level != en.headings[i].level {
					t.Errorf("%s:%d: %q is a heading of level %d, in English %q of level %d", name, ru.headings[i].line, ru.headings[i].text, ru.headings[i].level, en.headings[i].text, en.headings[i].level)
				}
			}
		}
		if len(ru.rows) != len(en.rows) {
			t.Errorf("%s has %d rows in its tables, %s has %d", name, len(ru.rows), en.name, len(en.rows))
		}
		if len(ru.blocks) != len(en.blocks) {
			t.Errorf("%s has %d code blocks, %s has %d", name, len(ru.blocks), en.name, len(en.blocks))
			continue
		}
		for i := range ru.blocks {
			if ru.blocks[i].lang != en.blocks[i].lang || ru.blocks[i].lang != "text" && bare(ru.blocks[i]) != bare(en.blocks[i]) {
				t.Errorf("%s:%d: the code is another than in %s:%d", name, ru.blocks[i].line, en.name, en.blocks[i].line)
			}
		}
	}
	if twins < 3 {
		t.Errorf("only %d twins", twins)
	}
}
