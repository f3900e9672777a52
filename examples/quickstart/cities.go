package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

//go:embed data/cities.csv
var citiesCSV []byte

type city struct {
	id                  int64
	name, country       string
	latitude, longitude float64
	population          int64
	timezone            string
}

func readCities() ([]city, error) {
	records, err := csv.NewReader(bytes.NewReader(citiesCSV)).ReadAll()
	if err != nil {
		return nil, err
	}
	cities := make([]city, 0, len(records)-1)
	for i, r := range records[1:] {
		c := city{name: r[1], country: r[2], timezone: r[6]}
		var errs [4]error
		c.id, errs[0] = strconv.ParseInt(r[0], 10, 64)
		c.latitude, errs[1] = strconv.ParseFloat(r[3], 64)
		c.longitude, errs[2] = strconv.ParseFloat(r[4], 64)
		c.population, errs[3] = strconv.ParseInt(r[5], 10, 64)
		for _, err := range errs {
			if err != nil {
				return nil, fmt.Errorf("cities.csv, line %d: %w", i+2, err)
			}
		}
		cities = append(cities, c)
	}
	return cities, nil
}
