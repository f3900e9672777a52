package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// sampleResult is a run of 30 s with a stall, an error and faults, made up.
func sampleResult() *result {
	rec := newRecorder(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 300*time.Millisecond)
	nodes := []string{"i1@10.0.0.1:4327", "i2@10.0.0.2:4327", "<b>i3</b>@10.0.0.3:4327"}
	for i := range 9000 {
		at := rec.began.Add(time.Duration(i) * time.Second / 300)
		if s := at.Sub(rec.began); s > 10*time.Second && s < 12*time.Second {
			at = rec.began.Add(12 * time.Second)
		}
		took := time.Duration((1.2 + math.Sin(float64(i)/50)) * float64(time.Millisecond))
		if i%97 == 0 {
			took *= 9
		}
		var err error
		if i > 3600 && i < 3660 {
			err = errors.New("picodata: lost")
		}
		rec.done([]string{"read", "insert"}[i%2], nodes[i%3], at.Add(-took), at, err)
	}
	rec.event(rec.began.Add(10*time.Second), "node ejected: i1@10.0.0.1:4327: connection refused, for 1s")
	rec.event(rec.began.Add(12*time.Second), "replicaset has a leader: default_1, i1 → <i2>")
	rec.event(rec.began.Add(20*time.Second), "instance joined: i4")
	res := &result{DSN: "picodata://app:***@10.0.0.1/?a=1&b=2", Servers: "Picodata 26.2.1, 3 instances", Began: rec.began, Seconds: 30, Workers: 8, Rate: 300, Width: rec.width.Seconds(),
		Faults: rec.faults, Routing: map[string]uint64{"routed": 4500, "balance": 4500}, Retries: 3, Stalls: rec.stalls(30 * time.Second)}
	all := rec.all.hist.total
	res.Total = rec.all.figures("total", all, 30*time.Second)
	for _, k := range []string{"insert", "read"} {
		res.Kinds = append(res.Kinds, rec.kinds[k].figures(k, all, 30*time.Second))
	}
	for _, n := range nodes {
		res.Nodes = append(res.Nodes, rec.nodes[n].figures(n, all, 30*time.Second))
	}
	for _, f := range rec.failed {
		res.Errors = append(res.Errors, *f)
	}
	for i := range rec.cells {
		c := &rec.cells[i]
		res.Points = append(res.Points, point{At: float64(i) * res.Width, Count: c.hist.total, Errors: c.errors, P50: ms(c.hist.quantile(0.5)), P99: ms(c.hist.quantile(0.99)), Max: ms(c.hist.max), Nodes: c.nodes})
	}
	return res
}

// TestPage: one file that fetches nothing, with everything in it, whatever the names are.
func TestPage(t *testing.T) {
	page, err := sampleResult().page()
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	wants(t, text, "picodata://app:***@10.0.0.1/?a=1&amp;b=2", "Latency over time", "Share of each node over time", "300 statements a second asked for", "prefers-color-scheme: dark", "@media print",
		"node ejected: i1@10.0.0.1:4327", "default_1, i1 → &lt;i2&gt;", "&lt;b&gt;i3", "straight to the leader that owns the bucket", "after 10.0 s", `<td class="bad">other</td>`, "all statements: no successful answer for 2.0 s", `class="stall"`)
	for _, outside := range []string{`(?i)\b(src|href)\s*=`, `url\(`, `@import`, `https?://`, `<script`, `<link`, `<b>i3`, `NaN`, `Inf`, `ZgotmplZ`} {
		if m := regexp.MustCompile(outside).FindString(text); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
	charts := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1)
	if len(charts) != 3 {
		t.Fatalf("%d charts", len(charts))
	}
	for i, want := range []string{`class="p99"`, `class="err"`, `class="c2"`} {
		wants(t, charts[i], want, `class="fault"`, "<title>")
		d := xml.NewDecoder(strings.NewReader(charts[i]))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("chart %d: %v", i, err)
				break
			}
		}
		for _, m := range regexp.MustCompile(`(?:x|x1|cx)="([-0-9.]+)"`).FindAllStringSubmatch(charts[i], -1) {
			var x float64
			if _, err := fmt.Sscan(m[1], &x); err != nil || x < 0 || x > chartWidth {
				t.Errorf("chart %d leaves its picture: %s", i, m[0])
			}
		}
	}
}

// TestPageOfNothing: a run in which nothing happened has a page too.
func TestPageOfNothing(t *testing.T) {
	page, err := (&result{}).page()
	if err != nil || strings.Contains(string(page), "NaN") || strings.Contains(string(page), "Inf") {
		t.Errorf("%v\n%s", err, page)
	}
	wants(t, string(page), "None: no change of the topology")
}

// browser finds a Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium, chromium-browser, google-chrome or chrome in PATH: the report was not opened in a browser, neither in light nor in dark mode nor in print")
	return ""
}

// shoot opens a page in a headless browser.
func shoot(t *testing.T, browser, page string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--window-size=1100,2400", "--user-data-dir=" + t.TempDir(),
	}, append(args, "file://"+page)...)
	cmd := exec.CommandContext(ctx, browser, args...)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func pixels(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// has counts the pixels of a color.
func has(img image.Image, c color.RGBA) (n int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			if uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(bl>>8) == c.B {
				n++
			}
		}
	}
	return n
}

// TestPageInBrowser opens the report in light and in dark mode and prints it: grounds, lines, bars and flags have
// the colors of the mode.
func TestPageInBrowser(t *testing.T) {
	browser := browser(t)
	dir := t.TempDir()
	page, err := sampleResult().page()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []struct {
		name, flag   string
		ground       color.RGBA
		p50, bad, c1 color.RGBA
	}{
		{"light", "--blink-settings=preferredColorScheme=1", color.RGBA{0xff, 0xff, 0xff, 0}, color.RGBA{0x1f, 0x77, 0xd0, 0}, color.RGBA{0xd1, 0x24, 0x2f, 0}, color.RGBA{0x2e, 0x9e, 0x5b, 0}},
		{"dark", "--blink-settings=preferredColorScheme=0", color.RGBA{0x12, 0x16, 0x1c, 0}, color.RGBA{0x5a, 0xa9, 0xff, 0}, color.RGBA{0xff, 0x6b, 0x6b, 0}, color.RGBA{0x4c, 0xc3, 0x8a, 0}},
	} {
		if testing.Short() && mode.name == "light" {
			continue // a browser takes seconds to start; dark mode shows that the page is drawn
		}
		shot := filepath.Join(dir, mode.name+".png")
		shoot(t, browser, file, mode.flag, "--screenshot="+shot)
		img := pixels(t, shot)
		all := img.Bounds().Dx() * img.Bounds().Dy()
		if n := has(img, mode.ground); n < all/3 {
			t.Errorf("%s: %d of %d pixels are ground", mode.name, n, all)
		}
		for what, c := range map[string]color.RGBA{"the median's line": mode.p50, "faults": mode.bad, "the share of a node": mode.c1} {
			if n := has(img, c); n < 200 {
				t.Errorf("%s: %d pixels of %s", mode.name, n, what)
			}
		}
	}
	if testing.Short() {
		return
	}
	pdf := filepath.Join(dir, "report.pdf")
	shoot(t, browser, file, "--blink-settings=preferredColorScheme=0", "--no-pdf-header-footer", "--print-to-pdf="+pdf)
	text, err := os.ReadFile(pdf)
	if err != nil || !bytes.HasPrefix(text, []byte("%PDF")) || len(text) < 10_000 {
		t.Errorf("%v, %d bytes of PDF", err, len(text))
	}
	// What print looks like, on a screen: the printer's rules without their condition.
	printed := filepath.Join(dir, "print.html")
	if err := os.WriteFile(printed, bytes.Replace(page, []byte("@media print"), []byte("@media all"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	shot := filepath.Join(dir, "print.png")
	shoot(t, browser, printed, "--blink-settings=preferredColorScheme=0", "--screenshot="+shot)
	img := pixels(t, shot)
	if has(img, color.RGBA{0xff, 0xff, 0xff, 0}) < img.Bounds().Dx()*img.Bounds().Dy()/2 || has(img, color.RGBA{0x1f, 0x7a, 0x45, 0}) < 200 {
		t.Error("dark mode is printed dark, or without the bars' colors")
	}
	if keep := os.Getenv("PICO_SCREENSHOTS"); keep != "" {
		for _, name := range []string{"light.png", "dark.png", "print.png", "report.pdf", "report.html"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(keep, name), text, 0o600)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}
