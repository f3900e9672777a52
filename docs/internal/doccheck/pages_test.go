package doccheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// root is the repository's folder.
const root = "../../.."

// page is a document as GitHub would read it.
type page struct {
	name     string // relative to root
	headings []heading
	links    []link
	blocks   []block
	rows     []string // of tables: the first cell
}

type heading struct {
	level int
	text  string
	slug  string
	line  int
}

type link struct {
	to   string
	line int
}

// block is a fenced code block.
type block struct {
	lang string
	text string
	line int    // of its first line of code
	file string // the file that it is a copy of, if a comment <!-- file: … --> says so
}

// pages reads all documents.
func pages(t *testing.T) []*page {
	t.Helper()
	var all []*page
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") && name != ".github" || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all = append(all, read(filepath.ToSlash(rel), source))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d documents", len(all))
	}
	return all
}

// fileMark says that the code block that follows is a copy of a file, from the repository's folder.
var fileMark = regexp.MustCompile(`<!-- file: (\S+) -->`)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// read takes a document apart.
func read(name string, source []byte) *page {
	p := &page{name: name}
	slugs := map[string]int{}
	line := func(at int) int { return 1 + strings.Count(string(source[:at]), "\n") }
	last, file := 1, ""
	tree := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			last = line(n.Lines().At(0).Start)
		}
		switch n := n.(type) {
		case *ast.Heading:
			h := heading{level: n.Level, text: plain(n, source), line: last}
			h.slug = slug(h.text)
			if again := slugs[h.slug]; again > 0 {
				slugs[h.slug]++
				h.slug += "-" + string(rune('0'+again))
			} else {
				slugs[h.slug] = 1
			}
			p.headings = append(p.headings, h)
		case *ast.Link:
			p.links = append(p.links, link{string(n.Destination), last})
		case *ast.Image:
			p.links = append(p.links, link{string(n.Destination), last})
		case *ast.HTMLBlock:
			if m := fileMark.FindSubmatch(n.Lines().Value(source)); m != nil {
				file = string(m[1])
			}
		case *ast.FencedCodeBlock:
			var b strings.Builder
			for i := range n.Lines().Len() {
				s := n.Lines().At(i)
				b.Write(s.Value(source))
			}
			p.blocks = append(p.blocks, block{lang: string(n.Language(source)), text: b.String(), line: last, file: file})
			file = ""
		case *east.TableRow:
			p.rows = append(p.rows, plain(n.FirstChild(), source))
		}
		return ast.WalkContinue, nil
	})
	return p
}

// plain is the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Text:
				b.Write(n.Value(source))
			case *ast.String:
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// slug is the anchor that GitHub makes of a heading.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || isLetterOrDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
