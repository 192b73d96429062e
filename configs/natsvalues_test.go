package configs

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kirin/selfplay/fleet"

	"github.com/nats-io/nats-server/v2/server"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// natsValues are the values of the official NATS chart (nats/nats, versions
// 1.x) that kirin's file uses, under the chart's names. The chart has no schema
// and no module; it takes "merge" as part of the server's own configuration.
type natsValues struct {
	Config struct {
		Cluster struct {
			Enabled  bool `json:"enabled"`
			Replicas int  `json:"replicas"`
		} `json:"cluster"`
		JetStream struct {
			Enabled   bool `json:"enabled"`
			FileStore struct {
				PVC struct {
					Size resource.Quantity `json:"size"`
				} `json:"pvc"`
			} `json:"fileStore"`
			Merge map[string]any `json:"merge"`
		} `json:"jetstream"`
		Merge map[string]any `json:"merge"`
	} `json:"config"`
	PodTemplate struct {
		// By topology key, which the chart adds to the constraint with a selector.
		TopologySpreadConstraints map[string]corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	} `json:"podTemplate"`
}

// bare is how the chart marks what stands without quotes in the server's
// configuration, such as a size with its unit.
var bare = regexp.MustCompile(`"<< ([^"]*) >>"`)

// judgeNATS reads the values as the chart does and gives the NATS server what
// the chart makes of them.
func judgeNATS(text string) (*server.Options, []string) {
	var f faults
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, []string{err.Error()}
	}
	v := &natsValues{}
	strict, err := kjson.UnmarshalStrict(data, v)
	for _, e := range strict {
		f.add("%v", e)
	}
	if err != nil {
		f.add("%v", err)
		return nil, f.list
	}
	if c := v.Config.Cluster; !c.Enabled || c.Replicas < 3 || c.Replicas%2 == 0 {
		f.add("a cluster of %d servers: three copies need an odd number from 3 on", c.Replicas)
	}
	if v.Config.JetStream.FileStore.PVC.Size.Value() < 2*int64(fleet.DefaultOptions().MaxBytes) {
		f.add("pvc.size: %s is not twice what the queue may hold", &v.Config.JetStream.FileStore.PVC.Size)
	}
	for _, key := range slices.Sorted(maps.Keys(v.PodTemplate.TopologySpreadConstraints)) {
		c := v.PodTemplate.TopologySpreadConstraints[key]
		if c.TopologyKey != "" || c.MaxSkew < 1 || c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			f.add("topologySpreadConstraints: %s: %+v", key, c)
		}
	}
	conf := maps.Clone(v.Config.Merge)
	if conf == nil {
		conf = map[string]any{}
	}
	if v.Config.JetStream.Enabled {
		js := map[string]any{"store_dir": "/data", "max_memory_store": 0, "max_file_store": "<< 20G >>"}
		maps.Copy(js, v.Config.JetStream.Merge)
		conf["jetstream"] = js
	}
	b, err := json.Marshal(conf)
	if err != nil {
		f.add("%v", err)
		return nil, f.list
	}
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(b))
	o := &server.Options{}
	if err := o.ProcessConfigString(bare.ReplaceAllString(plain, "$1")); err != nil {
		f.add("the server refuses: %v", err)
	}
	return o, f.list
}

func TestTheNATSChartsValuesMakeAServerThatTakesGames(t *testing.T) {
	o, found := judgeNATS(kubernetesText(t, "nats-values.yaml"))
	for _, fault := range found {
		t.Error(fault)
	}
	if o == nil || o.MaxPayload != fleet.MaxRecord || !o.JetStream || o.SyncInterval.Seconds() != 1 {
		t.Errorf("max_payload, jetstream or sync_interval: %+v", o)
	}
}

func TestFaultsInTheNATSChartsValuesAreFound(t *testing.T) {
	text := kubernetesText(t, "nats-values.yaml")
	for _, c := range []struct{ old, new, want string }{
		{"jetstream:", "jetStream:", `unknown field "config.jetStream"`},
		{"fileStore:", "fileStorage:", `unknown field "config.jetstream.fileStorage"`},
		{"replicas: 3", "replicas: three", "cannot unmarshal string"},
		{"replicas: 3", "replicas: 2", "a cluster of 2"},
		{"size: 20Gi", "size: 20GiB", "quantities must match"},
		{"size: 20Gi", "size: 1Gi", "pvc.size"},
		{`"<< 4MB >>"`, "4MB", "the server refuses"},
		{"max_payload", "max_payloads", "max_payloads"},
		{"sync_interval: 1s", "sync_interval: soon", "the server refuses"},
		{"sync_interval", "sync_intervall", "sync_intervall"},
		{"maxSkew: 1", "maxSkew: 0", "topologySpreadConstraints"},
		{"DoNotSchedule", "Never", "topologySpreadConstraints"},
	} {
		if !strings.Contains(text, c.old) {
			t.Errorf("no %q in the file", c.old)
			continue
		}
		if _, found := judgeNATS(strings.Replace(text, c.old, c.new, 1)); !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("with %q: found %q, want %q", c.new, found, c.want)
		}
	}
}
