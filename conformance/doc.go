// Package conformance holds the driver against a cluster and says what it found: one suite, three targets.
//
//	go test ./conformance                                     simulated clusters of several versions
//	PICODATA_DSN=picodata://user:pw@host:4327/ go test …       any cluster
//	PICODATA_IMAGE=registry/picodata:26.2.1 go test …          containers of an image, started and removed
//
// With PICODATA_ADMIN_DSN beside PICODATA_DSN also the tests run that need grants, users or a change of leader; the
// suite makes tables and users whose names begin with conf_ and drops them. It discovers what the server is and what the user may,
// and says at the end what it left out and why. No test relies on what only a simulation has unless
// it asks for one.
//
// Containers use the host's network and listen on loopback alone. An image whose label
// picodata.simulation is "cluster" holds a whole cluster (pico sim); of any other one container per instance is started,
// by the image's own command and the environment that Picodata documents. PICODATA_LAUNCHER=cluster or
// instances overrides the label.
package conformance
