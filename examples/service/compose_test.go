package main

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"gopkg.in/yaml.v3"
)

// compose.yaml is what its comments say: four instances that each advertise the name that leads to them, all of one
// cluster, and a service whose DSN names them. No image is at hand where tests run, so this is what can be checked.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image       string
			Environment map[string]string
			DependsOn   []string `yaml:"depends_on"`
			Ports       []string
			Build       struct{ Context, Dockerfile string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	service := file.Services["service"]
	delete(file.Services, "service")
	if len(file.Services) != 4 {
		t.Errorf("%d instances", len(file.Services))
	}
	for name, s := range file.Services {
		e := s.Environment
		if !strings.HasPrefix(s.Image, "${PICODATA_IMAGE:?") || e["PICODATA_INSTANCE_NAME"] != name || e["PICODATA_PEER"] != "i1:3301" || e["PICODATA_INIT_REPLICATION_FACTOR"] != "2" {
			t.Errorf("%s: %s, %v", name, s.Image, e)
		}
		for listen, advertise := range map[string]string{"PICODATA_IPROTO_LISTEN": "PICODATA_IPROTO_ADVERTISE", "PICODATA_PG_LISTEN": "PICODATA_PG_ADVERTISE"} {
			_, port, err := net.SplitHostPort(e[listen])
			if err != nil || e[advertise] != net.JoinHostPort(name, port) {
				t.Errorf("%s listens at %s and advertises %s: %v", name, e[listen], e[advertise], err)
			}
		}
	}
	cfg, err := picodata.ParseDSN(service.Environment["PICODATA_DSN"])
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, h := range cfg.Hosts {
		host, port, _ := net.SplitHostPort(h.Address())
		hosts = append(hosts, host)
		if _, ok := file.Services[host]; !ok || port != "4327" {
			t.Errorf("the DSN names %s", h.Address())
		}
	}
	if slices.Sort(hosts); len(hosts) != 4 || service.Environment["PGPASSWORD"] != "${PICODATA_ADMIN_PASSWORD}" || !slices.Equal(service.Ports, []string{"8080:8080"}) {
		t.Errorf("%v, %+v", hosts, service)
	}
	if _, err := os.Stat(service.Build.Context + "/" + service.Build.Dockerfile); err != nil {
		t.Error(err)
	}
}
