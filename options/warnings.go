package options

import "fmt"

// Warnings lists what is allowed and yet probably not meant: one line each, without secrets, in a fixed
// order. The driver logs each once per connector.
func (c *Config) Warnings() []string {
	var w []string
	for _, s := range c.ServerOptions {
		switch {
		case serverSettings[s.Name].ok == nil:
			w = append(w, fmt.Sprintf("options: %q is not a setting that this driver knows; it is sent, and a server that doesn't know it either ignores it", shorten(s.Name)))
		case s.Name == settingQueryMetadata || s.Name == settingInvalidation:
			w = append(w, fmt.Sprintf("options: the driver decides about %s itself: routing and query_metadata_cache_size are the settings for it", s.Name))
		}
	}
	if c.InstanceRole == RoleReplica && c.ReadPreference == ReadPreferenceUnset {
		w = append(w, "instance_role=replica without read_preference: the server sends every read back to the leader; add read_preference=any or replica")
	}
	if c.InstanceRole != RoleAny && !c.Topology {
		w = append(w, fmt.Sprintf("instance_role=%s with topology=off: roles are read once at the start, and a change of leader goes unseen", c.InstanceRole))
	}
	if c.SSLRootCert != "" && (c.SSLMode == SSLPrefer || c.SSLMode == SSLAllow || c.SSLMode == SSLDisable) {
		w = append(w, fmt.Sprintf("sslrootcert has no effect with sslmode=%s, which verifies nothing; use verify-full, verify-ca or require", c.SSLMode))
	}
	if c.Mirror == "" && len(c.MirrorMap) == 0 && (c.MirrorMode != MirrorReads || c.MirrorCompare) {
		w = append(w, "mirror_mode and mirror_compare have no effect without mirror or mirror_map")
	}
	return w
}
