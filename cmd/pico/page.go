package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
)

// pageText is the report's template: styles and pictures are in it, nothing is fetched.
//
//go:embed page.html
var pageText string

// pageData is what the template shows.
type pageData struct {
	*result
	LatencyChart, RateChart, ShareChart template.HTML
	Reasons                             []reasonCount
}

type reasonCount struct {
	Reason, Meaning string
	Count           uint64
}

// page is the report as one HTML page.
func (res *result) page() ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"millis":  millis,
		"percent": func(v float64) string { return fmt.Sprintf("%.1f %%", v*100) },
		"whole":   func(v float64) string { return fmt.Sprintf("%.0f", v) },
		"seconds": func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"mark":    func(i int) int { return i + 1 },
		"color":   func(i int) string { return fmt.Sprintf("c%d", i%colors) },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	d := pageData{result: res, LatencyChart: res.latencyChart(), RateChart: res.rateChart(), ShareChart: res.shareChart()}
	for _, reason := range slices.Sorted(maps.Keys(res.Routing)) {
		d.Reasons = append(d.Reasons, reasonCount{reason, meanings[reason], res.Routing[reason]})
	}
	var b bytes.Buffer
	err = t.Execute(&b, d)
	return b.Bytes(), err
}
