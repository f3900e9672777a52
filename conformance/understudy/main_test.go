package main

import (
	"strings"
	"testing"
)

func TestAnIncompleteEnvironmentIsRefused(t *testing.T) {
	full := map[string]string{
		"PICODATA_INSTANCE_NAME": "i2", "PICODATA_INSTANCE_DIR": "/tmp/i2", "PICODATA_PEER": "127.0.0.1:1", "PICODATA_IPROTO_LISTEN": "127.0.0.1:0",
		"PICODATA_PG_LISTEN": "127.0.0.1:2", "PICODATA_ADMIN_PASSWORD": "T0psecret",
	}
	for name := range full {
		err := stand(t.Context(), func(n string) string {
			if n == name {
				return ""
			}
			return full[n]
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
