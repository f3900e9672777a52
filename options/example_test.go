package options_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/picodata/go-picodata/options"
)

func ExampleParseDSN() {
	cfg, err := options.ParseDSN("picodata://app:secret@i1:4327,i2,[::1]:4329/?read_preference=leader&acquire_timeout=2s")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Hosts, cfg.User, cfg.AcquireTimeout)
	fmt.Println(cfg.InstanceRole, "follows from", cfg.ReadPreference)
	fmt.Println(cfg) // never shows the password
	// Output:
	// [i1:4327 i2:4327 [::1]:4329] app 2s
	// leader follows from leader
	// picodata://app:***@i1:4327,i2:4327,[::1]:4329/?read_preference=leader&acquire_timeout=2s
}

func ExampleParseDSN_mistake() {
	_, err := options.ParseDSN("picodata://app:secret@i1/?max_con=50")
	fmt.Println(err)
	_, err = options.ParseDSN("picodata://app:secret@i1/?read_preference=replica&instance_role=leader")
	var wrong *options.ConfigError
	fmt.Println(errors.As(err, &wrong), wrong.Key)
	fmt.Println(err)
	// Output:
	// picodata: config: max_con: unknown key; did you mean max_conns? (DSN, byte 27)
	// true read_preference
	// picodata: config: read_preference: read_preference=replica (DSN, byte 27) contradicts instance_role=leader (DSN, byte 51): every read would be passed on from a leader to a replica; use read_preference=leader or any, or instance_role=replica or any
}

func ExampleConfig_Apply() {
	cfg := options.New()
	err := cfg.Apply(
		options.WithHosts(options.Host{Name: "i1", Port: options.DefaultPort}),
		options.WithUser("app"),
		options.WithPassword("secret"),
		options.WithNodeWeights(options.NodeRule{Selector: "tier:cold", Value: 0}),
		options.WithAcquireTimeout(2*time.Second),
	)
	if err == nil {
		err = cfg.Validate()
	}
	fmt.Println(cfg, err)
	// Output:
	// picodata://app:***@i1:4327/?node_weights=tier:cold=0&acquire_timeout=2s <nil>
}

func ExampleMatch() {
	rules := []options.NodeRule{{Selector: "tier:cold", Value: 0}, {Selector: "i5", Value: 20}}
	fmt.Println(options.Match(rules, "i4", []string{"10.0.0.4:4327"}, "cold"))
	fmt.Println(options.Match(rules, "i5", []string{"10.0.0.5:4327"}, "cold"))
	fmt.Println(options.Match(rules, "i1", []string{"10.0.0.1:4327"}, "default"))
	// Output:
	// 0 true
	// 20 true
	// 0 false
}

func ExampleRedactDSN() {
	fmt.Println(options.RedactDSN("host=i1 user=app password='it\\'s secret' max_conns=5"))
	fmt.Println(options.RedactDSN("picodata://app:what?a@secret@i1/"))
	// Output:
	// picodata://app:***@i1:4327/?max_conns=5
	// picodata://***
}
