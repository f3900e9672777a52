package doccheck

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateLicences = flag.Bool("update", false, "write the table of docs/licences.md: go test ./docs/internal/doccheck -run Licences -update")

// linked are the packages whose dependencies end up in users' programs.
var linked = []struct{ name, pattern string }{
	{"driver", "."}, {"pico", "./cmd/pico"}, {"picotest", "./picotest"},
	{"picotel", "./contrib/picotel"}, {"picoprom", "./contrib/picoprom"},
	{"gormpico", "./contrib/gormpico"}, {"bunpico", "./contrib/bunpico"}, {"goosepico", "./contrib/goosepico"},
}

// TestLicences: docs/licences.md lists every module that is linked, with a licence that lets anybody do so, and the driver
// links lib/pq alone.
func TestLicences(t *testing.T) {
	by := map[string][]string{} // module: who links it
	licence := map[string]string{}
	for _, l := range linked {
		cmd := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}`, l.pattern)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=linux", "GOARCH=amd64") // the same list everywhere
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", l.pattern, err)
		}
		for line := range strings.Lines(string(out)) {
			module, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
			if !ok || slices.Contains(by[module], l.name) {
				continue
			}
			by[module] = append(by[module], l.name)
			if licence[module] == "" {
				licence[module] = licenceOf(t, module, dir)
			}
			if l.name == "driver" && module != "github.com/lib/pq" {
				t.Errorf("the driver links %s", module)
			}
		}
	}
	var table strings.Builder
	table.WriteString("| module | licence | linked by |\n| --- | --- | --- |\n")
	for _, module := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&table, "| [%s](https://pkg.go.dev/%s) | %s | %s |\n", module, module, licence[module], strings.Join(by[module], ", "))
	}
	name := filepath.Join(root, "docs", "licences.md")
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(have), "| module |")
	if at < 0 {
		t.Fatalf("%s has no table", name)
	}
	want := string(have[:at]) + table.String()
	if *updateLicences {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(have) != want {
		t.Errorf("docs/licences.md isn't what is linked; write it with: go test ./docs/internal/doccheck -run Licences -update")
	}
}

// licenceOf reads a module's licence, by words that only one of them has. Another one than these fails.
func licenceOf(t *testing.T, module, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		upper := strings.ToUpper(filepath.Base(f))
		if !strings.HasPrefix(upper, "LICENSE") && !strings.HasPrefix(upper, "LICENCE") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // a folder
		}
		text := strings.Join(strings.Fields(string(raw)), " ")
		name := ""
		switch {
		case strings.Contains(text, "GNU GENERAL PUBLIC") || strings.Contains(text, "GNU LESSER"):
			t.Errorf("%s: %s is a licence that a closed program can't take", module, filepath.Base(f))
		case strings.Contains(text, "Apache License Version 2.0"):
			name = "Apache-2.0"
		case strings.Contains(text, "Permission is hereby granted, free of charge"):
			name = "MIT"
		case strings.Contains(text, "Permission to use, copy, modify, and/or distribute"), strings.Contains(text, "Permission to use, copy, modify, and distribute this software"):
			name = "ISC"
		case strings.Contains(text, "Redistribution and use in source and binary forms") && (strings.Contains(text, "Neither the name") || strings.Contains(text, "may not be used to endorse")):
			name = "BSD-3-Clause"
		case strings.Contains(text, "Redistribution and use in source and binary forms"):
			name = "BSD-2-Clause"
		default:
			continue
		}
		if name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Errorf("%s: no licence that this test knows in %s", module, dir)
	}
	return strings.Join(found, ", ")
}
