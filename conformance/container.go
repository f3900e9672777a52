package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
)

const (
	adminPassword = "T0psecret"
	// instances and replicationFactor are what every launcher makes: two replicasets of two instances.
	instances         = 4
	replicationFactor = 2
	// containerLife is when the engine's side ends a container by itself should the run die before it can.
	containerLife = 15 * time.Minute
	startTimeout  = 3 * time.Minute
)

// startImage starts a cluster of an image and waits until it is healthy.
func startImage(ctx context.Context, image string) (*Target, error) {
	pool, err := dockertest.NewPool("") // DOCKER_HOST, else the usual socket
	if err != nil {
		return nil, fmt.Errorf("no container engine: %w", err)
	}
	if err := pool.Client.PingWithContext(ctx); err != nil {
		return nil, fmt.Errorf("no container engine answers (DOCKER_HOST says which one is asked): %w", err)
	}
	launch, err := launcherFor(pool, image)
	if err != nil {
		return nil, err
	}
	f := &fleet{pool: pool, image: image}
	ports, err := freePorts(2 * instances)
	if err != nil {
		return nil, err
	}
	if err := launch(f, ports); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	var hosts []string
	for _, p := range ports[:instances] {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", p))
	}
	dsn := fmt.Sprintf("picodata://admin:%s@%s/?sslmode=disable", adminPassword, strings.Join(hosts, ","))
	if err := waitHealthy(ctx, dsn); err != nil {
		return nil, errors.Join(fmt.Errorf("image %s: %w\n%s", image, err, f.logs()), f.remove())
	}
	return &Target{Name: "container", DSN: dsn, AdminDSN: dsn, Close: f.remove}, nil
}

// launcher starts the containers; ports are consecutive free ones: the first half speaks pgproto, the second iproto.
type launcher func(f *fleet, ports []int) error

func launcherFor(pool *dockertest.Pool, image string) (launcher, error) {
	choice := os.Getenv("PICODATA_LAUNCHER")
	if choice == "" {
		choice = "instances"
		// An image that isn't here yet is pulled when its first container starts; it is no simulation then.
		if img, err := pool.Client.InspectImage(image); err == nil && img.Config != nil && img.Config.Labels["picodata.simulation"] == "cluster" {
			choice = "cluster"
		}
	}
	switch choice {
	case "cluster":
		return (*fleet).launchCluster, nil
	case "instances":
		return (*fleet).launchInstances, nil
	}
	return nil, fmt.Errorf("PICODATA_LAUNCHER=%s: want cluster or instances", choice)
}

// fleet is the containers of one target.
type fleet struct {
	pool    *dockertest.Pool
	image   string
	running []*dockertest.Resource
}

// launchCluster starts one container that is a whole cluster.
func (f *fleet) launchCluster(ports []int) error {
	return f.start("cluster", nil, "sim", "--port", fmt.Sprint(ports[0]),
		"--tier", fmt.Sprintf("default:%d:%d", instances/replicationFactor, replicationFactor), "--admin-password", adminPassword)
}

// launchInstances starts one container per instance, the first of them first: the others join it.
func (f *fleet) launchInstances(ports []int) error {
	peer := fmt.Sprintf("127.0.0.1:%d", ports[instances])
	for i := range instances {
		iproto, pg := fmt.Sprintf("127.0.0.1:%d", ports[instances+i]), fmt.Sprintf("127.0.0.1:%d", ports[i])
		name := fmt.Sprintf("i%d", i+1)
		err := f.start(name, []string{
			"PICODATA_INSTANCE_NAME=" + name,
			"PICODATA_INSTANCE_DIR=/tmp/" + name,
			"PICODATA_PEER=" + peer,
			"PICODATA_IPROTO_LISTEN=" + iproto,
			"PICODATA_IPROTO_ADVERTISE=" + iproto,
			"PICODATA_PG_LISTEN=" + pg,
			"PICODATA_PG_ADVERTISE=" + pg,
			"PICODATA_PG_SSL=false",
			fmt.Sprintf("PICODATA_INIT_REPLICATION_FACTOR=%d", replicationFactor),
			"PICODATA_ADMIN_PASSWORD=" + adminPassword,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// start runs a container of the image on the host's network, with the image's own entry point and, unless
// command is given, its own command.
func (f *fleet) start(name string, env []string, command ...string) error {
	repository, tag := splitImage(f.image)
	r, err := f.pool.RunWithOptions(&dockertest.RunOptions{
		Name:       fmt.Sprintf("conf-%d-%s", os.Getpid(), name),
		Repository: repository, Tag: tag, Env: env, Cmd: command,
		Labels: map[string]string{"picodata.conformance": fmt.Sprint(os.Getpid())},
	}, func(c *docker.HostConfig) {
		c.NetworkMode = "host"
		c.AutoRemove = false // its log is wanted if the start fails
	})
	if err != nil {
		return fmt.Errorf("container %s of %s: %w", name, f.image, err)
	}
	f.running = append(f.running, r)
	return r.Expire(uint(containerLife.Seconds()))
}

// remove ends and removes the containers.
func (f *fleet) remove() error {
	var errs []error
	for _, r := range f.running {
		errs = append(errs, f.pool.Purge(r))
	}
	f.running = nil
	return errors.Join(errs...)
}

// logs are the last lines of every container.
func (f *fleet) logs() string {
	var b strings.Builder
	for _, r := range f.running {
		fmt.Fprintf(&b, "--- %s\n", r.Container.Name)
		if err := f.pool.Client.Logs(docker.LogsOptions{
			Container: r.Container.ID, OutputStream: &b, ErrorStream: &b, Stdout: true, Stderr: true, Tail: "20",
		}); err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	return b.String()
}

// splitImage is NAME, TAG; a colon before a slash belongs to a registry's port.
func splitImage(image string) (repository, tag string) {
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i], image[i+1:]
	}
	return image, "latest"
}

// waitHealthy returns when all instances are Online, every replicaset has its leader, and the cluster runs a statement
// that needs all of them.
func waitHealthy(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	db, err := sql.Open("picodata", dsn+"&topology_update_interval=500ms")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := picodata.Unwrap(db)
	if err != nil {
		return err
	}
	for {
		if err = healthy(ctx, db, conn); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not healthy after %v: %w", startTimeout, err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func healthy(ctx context.Context, db *sql.DB, conn *picodata.Connector) error {
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	topology := conn.Topology()
	online, leaders := 0, 0
	for i := range topology.Instances {
		if in := &topology.Instances[i]; in.State == metadata.Online {
			online++
			if in.Role == metadata.RoleLeader {
				leaders++
			}
		}
	}
	if online < instances || leaders < instances/replicationFactor {
		return fmt.Errorf("%d instances Online, %d leaders", online, leaders)
	}
	// DDL waits for every instance, a count for every replicaset.
	for _, q := range []string{
		"CREATE TABLE IF NOT EXISTS conf_health (id INT PRIMARY KEY) DISTRIBUTED BY (id) OPTION (TIMEOUT = 10)",
		"SELECT count(*) FROM conf_health",
		"DROP TABLE conf_health OPTION (TIMEOUT = 10)",
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
