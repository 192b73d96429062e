package configs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"
)

// object is what all Kubernetes objects here have.
type object struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Metadata   map[string]any `yaml:"metadata"`
	Spec       map[string]any `yaml:"spec"`
}

// objects reads all documents of a file.
func objects(t *testing.T, file string) []object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("kubernetes", file))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	var list []object
	for {
		var o object
		err := d.Decode(&o)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list = append(list, o)
	}
}

// at walks a path of keys.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func TestKubernetesObjectsFitEachOther(t *testing.T) {
	versions := map[string]string{
		"Service": "v1", "StatefulSet": "apps/v1", "Deployment": "apps/v1", "NetworkPolicy": "networking.k8s.io/v1",
		"PodDisruptionBudget": "policy/v1", "HorizontalPodAutoscaler": "autoscaling/v2",
	}
	pods := map[string]any{} // labels of the pods by name of their owner
	var all []object
	for _, file := range []string{"trainer.yaml", "workers.yaml"} {
		all = append(all, objects(t, file)...)
	}
	for _, o := range all {
		if versions[o.Kind] != o.APIVersion {
			t.Errorf("%s of %s", o.Kind, o.APIVersion)
		}
		if labels := at(o.Spec, "template", "metadata", "labels"); labels != nil {
			name := fmt.Sprint(o.Metadata["name"])
			pods[name] = labels
			if !reflect.DeepEqual(labels, at(o.Spec, "selector", "matchLabels")) {
				t.Errorf("%s %s selects other pods than it makes", o.Kind, name)
			}
		}
	}
	for _, o := range all {
		name := fmt.Sprint(o.Metadata["name"])
		var selects any
		switch o.Kind {
		case "Service":
			selects = o.Spec["selector"]
		case "PodDisruptionBudget":
			selects = at(o.Spec, "selector", "matchLabels")
		case "NetworkPolicy":
			selects = at(o.Spec, "podSelector", "matchLabels")
		case "HorizontalPodAutoscaler":
			if at(o.Spec, "scaleTargetRef", "name") != name {
				t.Errorf("the autoscaler %s scales %v", name, at(o.Spec, "scaleTargetRef", "name"))
			}
			continue
		default:
			continue
		}
		if !reflect.DeepEqual(selects, pods[name]) {
			t.Errorf("%s %s selects %v, the pods have %v", o.Kind, name, selects, pods[name])
		}
	}
	if len(pods) != 2 {
		t.Errorf("%d owners of pods, want trainer and workers", len(pods))
	}
	if list := objects(t, "trainer.yaml"); at(list[1].Spec, "replicas") != uint64(1) {
		t.Error("there must be one trainer")
	}
}
