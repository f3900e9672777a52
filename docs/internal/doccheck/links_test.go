package doccheck

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// TestLinks: what a document links to inside the repository is there, the heading too.
func TestLinks(t *testing.T) {
	all := pages(t)
	byName := map[string]*page{}
	for _, p := range all {
		byName[p.name] = p
	}
	checked := 0
	for _, p := range all {
		for _, l := range p.links {
			u, err := url.Parse(l.to)
			if err != nil {
				t.Errorf("%s:%d: %s: %v", p.name, l.line, l.to, err)
				continue
			}
			if u.Scheme != "" {
				if u.Scheme != "https" && u.Scheme != "mailto" || u.Scheme == "https" && u.Host == "" {
					t.Errorf("%s:%d: %s: want https", p.name, l.line, l.to)
				}
				continue
			}
			checked++
			target := p.name
			if u.Path != "" {
				target = path.Join(path.Dir(p.name), u.Path)
			}
			if strings.HasPrefix(target, "..") || strings.HasPrefix(u.Path, "/") {
				t.Errorf("%s:%d: %s leads out of the repository", p.name, l.line, l.to)
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s:%d: %s: no such file", p.name, l.line, l.to)
				continue
			}
			if u.Fragment != "" && !hasHeading(byName[target], u.Fragment) {
				t.Errorf("%s:%d: %s: %s has no such heading", p.name, l.line, l.to, target)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links: the test doesn't see them", checked)
	}
}

func hasHeading(p *page, anchor string) bool {
	if p == nil {
		return false
	}
	for _, h := range p.headings {
		if h.slug == anchor {
			return true
		}
	}
	return false
}

// TestIndexes: docs/README.md links to every English page, docs/ru/README.md to every Russian one.
func TestIndexes(t *testing.T) {
	all := pages(t)
	for _, p := range all {
		dir := path.Dir(p.name)
		if dir != "docs" && dir != "docs/ru" && dir != "docs/libraries" || p.name == "docs/README.md" || p.name == "docs/ru/README.md" {
			continue
		}
		index := "docs/README.md"
		if dir == "docs/ru" {
			index = "docs/ru/README.md"
		}
		found := false
		for _, i := range all {
			for _, l := range i.links {
				found = found || i.name == index && path.Join(path.Dir(index), l.to) == p.name
			}
		}
		if !found {
			t.Errorf("%s isn't in %s", p.name, index)
		}
	}
}

func TestSlugs(t *testing.T) {
	p := read("x.md", []byte("# A `b_c` (d), e!\n\n## Что повторяется\n\n## Что повторяется\n\n[l](#a)\n"))
	for i, want := range []string{"a-b_c-d-e", "что-повторяется", "что-повторяется-1"} {
		if got := p.headings[i].slug; got != want {
			t.Errorf("%q is %q, want %q", p.headings[i].text, got, want)
		}
	}
	if hasHeading(p, "b") || !hasHeading(p, "a-b_c-d-e") || len(p.links) != 1 {
		t.Error("headings or links aren't found")
	}
}
