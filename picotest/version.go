package picotest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// builds are the full texts of the versions that can be named by their first two numbers:
// for 25.6 and 26.2 those of the recorded clusters, else a release with a hash that is made up.
var builds = map[string]string{
	"25.2": "25.2.6-0-g5d0ac1b45",
	"25.5": "25.5.8-0-gb9fcb6c1e",
	"25.6": "25.6.0-a54cfb72b",
	"26.1": "26.1.6-0-gf2ce4c3a7",
	"26.2": "26.2.1-rc2-dcd72bc91",
}

// parseVersion reads "26.2" or a whole build text such as "26.1.3-0-gabc".
func parseVersion(text string) (engine.Version, error) {
	if text == "" {
		text = "26.2"
	}
	build, known := builds[text]
	if !known {
		build = text
	}
	numbers := strings.SplitN(build, ".", 3)
	if len(numbers) < 2 {
		return engine.Version{}, fmt.Errorf("picotest: version %q: want MAJOR.MINOR or a build such as 26.2.1-rc2-dcd72bc91", text)
	}
	v := engine.Version{Build: build}
	var err error
	if v.Major, err = strconv.Atoi(numbers[0]); err != nil {
		return engine.Version{}, fmt.Errorf("picotest: version %q: %w", text, err)
	}
	if v.Minor, err = strconv.Atoi(leadingDigits(numbers[1])); err != nil {
		return engine.Version{}, fmt.Errorf("picotest: version %q: %w", text, err)
	}
	if len(numbers) == 3 {
		v.Patch, _ = strconv.Atoi(leadingDigits(numbers[2]))
	}
	if !v.AtLeast(25, 2) {
		return engine.Version{}, fmt.Errorf("picotest: version %q: 25.2 is the oldest that is simulated", text)
	}
	return v, nil
}

func leadingDigits(s string) string {
	for i, r := range s {
		if r < '0' || r > '9' {
			return s[:i]
		}
	}
	return s
}

// The server's abilities by version, where the protocol layer has to know.

// knowsReadPreference: read_preference and the two smart-client parameters at startup came
// with 26.1; the 25.6 development build that was recorded had them already.
func knowsReadPreference(v engine.Version) bool { return v.AtLeast(25, 6) }

// knowsForward: the option forward came with 26.2.
func knowsForward(v engine.Version) bool { return v.AtLeast(26, 2) }

// runsLocally: since 26.1 a statement whose buckets all lie on the connected instance runs
// in its own process; before, it went through the cluster's transport even then.
func runsLocally(v engine.Version) bool { return v.AtLeast(26, 1) }

// knowsScram: scram-sha-256 came with 25.4.
func knowsScram(v engine.Version) bool { return v.AtLeast(25, 4) }
