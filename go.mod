module github.com/picodata/go-picodata

go 1.26
